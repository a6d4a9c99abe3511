"""Strength by nodes: one player at several numbers of nodes a step, against the same opponents.

    PYTHONPATH=src python -m studies.nodes NODES.toml --nodes 0 100 400 --out nodes.jsonl --workers 2 --minutes 30
    PYTHONPATH=src python -m studies.nodes NODES.toml --report nodes.jsonl --picture nodes.png

The file is that of `studies.series` with one [[arm]] and at least one [[opponent]]. At 0 nodes the network's policy
plays alone, without what the player adds at the root; name its headset by `policy` in the arm. The report rates
everybody by all games together, and gives Elo above 0 nodes with 95 % intervals.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penumbra.arena.score import wilson
from penumbra.commands.errors import hear_interrupts
from penumbra.configs.reader import read as read_table
from penumbra.configs.reader import read_toml, within
from penumbra.games.ratings import Ratings, rate
from penumbra.reproduce.plots import OURS, new_figure
from studies.factorial import merged
from studies.series import Series, Side, playing_options, read, run

ALONE = {"preset": "network", "ponder": False}


def arms(base: Side, nodes: Sequence[int]) -> tuple[Side, ...]:
    """The base with each number of nodes."""
    changes = {n: {"nodes": n} if n else ALONE for n in nodes}
    return tuple(
        Side(str(n), base.kind, base.path, base.python, merged(base.settings, change)) for n, change in changes.items()
    )


def ratings(games: list[dict[str, Any]]) -> Ratings:
    """Of all arms and opponents; the arm without nodes has 0."""
    winners = {0.0: False, 0.5: None, 1.0: True}
    results = []
    for game in games:
        won = winners[game["result"]]
        if game["game"] % 2 == 0:
            results.append((game["a"], game["b"], won, 1))
        else:
            results.append((game["b"], game["a"], None if won is None else not won, 1))
    return rate(results, anchor="0", anchor_elo=0.0)


def report(games: list[dict[str, Any]], picture: Path | None) -> None:
    if "0" not in {game["a"] for game in games}:
        raise SystemExit("there are no games of the arm without nodes, 0, with which the others are compared")
    rated = ratings(games)
    nodes = sorted({int(game["a"]) for game in games})
    for n in nodes:
        played = [game for game in games if game["a"] == str(n)]
        points, rating = sum(game["result"] for game in played), rated.of(str(n))
        low, high = wilson(points, len(played))
        against = ", ".join(
            f"{b} {sum(g['result'] for g in played if g['b'] == b):.1f} of {sum(g['b'] == b for g in played)}"
            for b in sorted({game["b"] for game in played})
        )
        print(
            f"{n:6} nodes {points:6.1f} of {len(played):4} {points / len(played):6.1%} ({low:.0%} to {high:.0%})"
            f" {rating.elo:+5.0f} ± {rating.margin:.0f} Elo; {against}"
        )
    if picture is not None:
        draw(rated, nodes, picture)


def draw(rated: Ratings, nodes: Sequence[int], picture: Path) -> None:
    """Elo over the logarithm of nodes; 0 stands at its left end."""
    games = min(rated.of(str(n)).games for n in nodes)
    figure, (ax,) = new_figure("Strength by nodes a step", width=8.0, height=4.5)
    at = [str(n) for n in nodes]
    found = [rated.of(name) for name in at]
    ax.errorbar(
        at, [r.elo for r in found], yerr=[r.margin for r in found], fmt="o-", color=OURS, markersize=5, capsize=3
    )
    ax.set_xticks(range(len(at)), ["network alone" if n == 0 else f"{n:,}" for n in nodes])
    ax.set_ylabel("Elo above the network alone, 95 % intervals")
    ax.set_xlabel(f"nodes a step; at least {games} games a point")
    figure.savefig(picture, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path, metavar="FILE", help="the file with the player and its opponents")
    parser.add_argument("--nodes", type=int, nargs="+", default=[0, 100, 400, 1600, 6400, 25_000])
    playing_options(parser)
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="report on these outputs, play nothing")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="with --report, also as a picture")
    options = parser.parse_args()
    hear_interrupts()
    if options.report:
        report(read(*options.report), options.picture)
        return
    table = read_toml(options.plan)
    with within(options.plan):
        series = read_table(Series, table)
    if len(series.arm) != 1 or not series.opponent or min(options.nodes) < 0:
        raise SystemExit("one [[arm]], at least one [[opponent]] and no number of nodes below 0 are wanted")
    played = arms(series.arm[0], sorted(set(options.nodes)))
    run(
        Series(played, series.opponent, series.seconds, series.increment, series.games, series.opening_plies),
        options.out,
        options,
    )


if __name__ == "__main__":
    main()
