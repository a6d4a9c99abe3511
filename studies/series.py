"""Series of games between arms and opponents at a clock or a number of nodes, with what happened inside each decision.

    PYTHONPATH=src python -m studies.series SERIES.toml --out series.jsonl --workers 16 --minutes 9
    PYTHONPATH=src python -m studies.series --report series.jsonl ...

A series is a TOML file:

    seconds = 60              # each player's clock; 0 for none
    increment = 0.5
    opening_plies = 4         # each game begins with so many moves at random, each two games with the same
    [[arm]]                   # as many as you like; each plays every opponent, colours alternating
    name = "penumbra"
    kind = "penumbra"
    settings = { recognize_as = "none" }
    [[opponent]]              # left out, arms play each other
    name = "StrangeFish"
    kind = "strange-fish"
    [[opponent]]
    name = "f639592"
    kind = "penumbra"
    python = "old.sh"         # another Python, in which that kind is made: an earlier release
    [[opponent]]
    name = "StockyInference"
    path = "stocky_inference.py"  # a reconchess player, in a process of its own

Games go round: every pairing gets its next game before any gets two more, until the time is up; each finished game is
one line of the output with its record (`GameRecord.from_bytes`, in base64), and a series goes on where it was stopped.
Every worker has one thread, one game at a time and, where there are enough, a core of its own, so workers should be as
many as there are free cores. With `--report` the scores, the reasons of the ends, and the health of beliefs are shown,
and of how many different games: programs that always play alike repeat themselves, and a repeated game tells nothing.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import logging
import math
import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penumbra.arena.game_loop import Clock
from penumbra.arena.game_loop import play as play_game
from penumbra.arena.opening import with_opening
from penumbra.arena.pool import Pool
from penumbra.arena.score import wilson
from penumbra.commands.errors import hear_interrupts
from penumbra.configs.reader import Count, Name, Natural, NotNegative, read_toml, within
from penumbra.configs.reader import read as read_table
from penumbra.core import set_threads
from penumbra.interop.isolated_player import IsolatedPlayer, find_python
from penumbra.players import registry
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.player import Player


class SeriesWorker:
    """Plays one game at a time, with one thread."""

    def __init__(self) -> None:
        os.environ["PENUMBRA_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
        logging.disable(logging.WARNING)
        set_threads(1)

    def do(self, job: dict[str, Any]) -> dict[str, Any]:
        return play(job)

    def close(self) -> None:
        """Nothing is kept open."""


@dataclass(frozen=True)
class Side:
    """The keys of an [[arm]] or an [[opponent]]: it has a kind or a path."""

    name: Name
    kind: str = ""
    path: str = ""
    python: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """The keys of the file."""

    arm: tuple[Side, ...]
    opponent: tuple[Side, ...] = ()
    seconds: NotNegative = 0.0
    increment: NotNegative = 0.0
    games: Count = 1_000_000
    opening_plies: Natural = 0


def play(job: dict[str, Any]) -> dict[str, Any]:
    """One game; A has White in even games."""
    players = [make(side, job["seed"] + i) for i, side in enumerate(job["sides"])]
    white, black = players if job["game"] % 2 == 0 else players[::-1]
    clock = Clock(job["seconds"] or None, job["increment"])
    try:
        outcome = play_game(*with_opening(white, black, job["opening_plies"], job["opening"]), clock)
    finally:
        for player in players:
            player.close()
    a_is_white = job["game"] % 2 == 0
    result = 0.5 if outcome.winner is None else float(outcome.winner == a_is_white)
    if not a_is_white:
        outcome_used, least = outcome.used[::-1], outcome.least_left[::-1]
    else:
        outcome_used, least = outcome.used, outcome.least_left
    return {
        "a": job["sides"][0].name,
        "b": job["sides"][1].name,
        "game": job["game"],
        "result": result,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "plies": len(outcome.record.moves),
        "record": base64.b64encode(outcome.record.to_bytes()).decode(),
        "used": [round(s, 2) for s in outcome_used],
        "least": [round(s, 2) if math.isfinite(s) else None for s in least],
        "faults": [list(player.faults) for player in players],
        "models": [model_of(player) for player in players],
        "decisions": [decisions(player) if isinstance(player, PenumbraPlayer) else [] for player in players],
    }


def make(side: Side, seed: int) -> Player:
    """A built-in player, or one in a process of its own."""
    if not side.python and not side.path:
        return registry.make_with_settings(side.kind, seed, side.settings)
    python = find_python(side.python) if side.python else None
    player = IsolatedPlayer(side.path or side.kind, python=python, settings=side.settings)
    player.seed(seed)
    return player


def decisions(player: PenumbraPlayer) -> list[list[Any]]:
    """Of each search: turn, sense or move, states, particles, ancestors, singletons, rejections, belief seconds,
    seconds, nodes, value, whether π̄'s favourite was chosen."""
    rows = []
    for d, turn in zip(player.decisions, player.turns, strict=True):
        h = d.belief
        if d.reason != "search" or h is None:
            rows.append([turn, d.reason, d.states, round(d.seconds, 3)])
            continue
        favourite = bool(d.action == d.actions[d.policy.argmax()])
        kind = "move" if int(d.actions.max()) >= 64 else "sense"
        rows.append(
            [
                *(turn, kind, d.states, h.particles, h.ancestors, h.singletons, round(h.rejections, 2)),
                *(round(h.seconds, 3), round(d.seconds, 3), d.nodes, round(d.value, 3), favourite),
            ]
        )
    return rows


def model_of(player: Player) -> dict[str, float] | None:
    """What a Penumbra took its opponent for at the end, where it was to find out."""
    model = player.model if isinstance(player, PenumbraPlayer) else None
    return None if model is None else model.shares()


def jobs(series: Series, done: Counter[tuple[str, str]], seed: int) -> Iterator[dict[str, Any]]:
    alone = itertools.combinations(series.arm, 2)
    pairs = list(itertools.product(series.arm, series.opponent) if series.opponent else alone)
    for game in range(series.games):
        for a, b in pairs:
            if game < done[a.name, b.name]:
                continue
            yield {
                "sides": [a, b],
                "game": game,
                "seed": seed + 1000 * game,
                "seconds": series.seconds,
                "increment": series.increment,
                "opening_plies": series.opening_plies,
                "opening": seed + game // 2,
            }


def run(series: Series, out: Path, options: argparse.Namespace) -> None:
    """Plays until the time is up, after the games that `out` holds."""
    done: Counter[tuple[str, str]] = Counter()
    if out.exists():
        done.update((g["a"], g["b"]) for g in read(out))
    pool: Pool[dict[str, Any], dict[str, Any]] = Pool(SeriesWorker, options.workers, pin=True)
    last = time.monotonic() + 60 * (options.minutes if options.begin is None else options.begin)
    waiting = itertools.takewhile(lambda _: time.monotonic() < last, jobs(series, done, options.seed))
    finished, stopped = 0, ""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 60 * options.minutes)  # games that are not finished then are stopped
    try:
        with out.open("a", encoding="utf-8") as file:
            for _, result, trouble in pool.run(waiting):
                if result is None:
                    raise RuntimeError(trouble)
                file.write(json.dumps(result) + "\n")
                file.flush()
                finished += 1
    except KeyboardInterrupt:
        stopped = ", the rest stopped"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        pool.close()
    print(f"{finished} games finished{stopped}", flush=True)


def read(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]


def line(name: str, games: list[dict[str, Any]]) -> str:
    points, n = sum(g["result"] for g in games), len(games)
    low, high = wilson(points, n)
    p = min(max(points / n, 0.5 / n), 1 - 0.5 / n)
    elo = -400 * math.log10(1 / p - 1)
    different = len({(g.get("record", g["game"]), g["game"] % 2) for g in games})
    again = f", {different} different games" if different < n else ""
    return f"{name:48} {points:6.1f} of {n:4} {points / n:6.1%} ({low:.0%} to {high:.0%}) {elo:+5.0f} Elo{again}"


def report(games: list[dict[str, Any]]) -> None:
    import numpy as np

    pairs, arms = defaultdict(list), defaultdict(list)
    for game in games:
        pairs[game["a"], game["b"]].append(game)
        arms[game["a"]].append(game)
    for (a, b), played in sorted(pairs.items()):
        print(line(f"{a} - {b}", played))
    print()
    for a, played in sorted(arms.items()):
        print(line(a, played))
        print("   ends:", dict(Counter(f"{g['reason']}{'+' if g['result'] == 1 else '-'}" for g in played)))
    sides: defaultdict[str, list[list[Any]]] = defaultdict(list)
    for game in games:
        for side in (0, 1):
            sides[game["ab"[side]]] += [d for d in game["decisions"][side] if len(d) > 4]
    for name, rows in sorted(sides.items()):
        if not rows:
            continue
        particles, seconds = np.array([d[3] for d in rows]), np.array([d[8] for d in rows])
        print(
            f"{name}: {len(rows)} searches; particles median {np.median(particles):.0f}, under 256 in "
            f"{(particles < 256).mean():.1%}; ancestors {np.median([d[4] for d in rows]):.0f}; singletons "
            f"{sum(d[5] for d in rows) / particles.sum():.1%}; rejections {np.median([d[6] for d in rows]):.1f}; "
            f"belief {sum(d[7] for d in rows) / seconds.sum():.0%} of {np.median(seconds):.2f} s; nodes "
            f"{np.median([d[9] for d in rows]):.0f}; favourite chosen in {np.mean([d[11] for d in rows]):.0%}, "
            f"of moves {np.mean([d[11] for d in rows if d[1] == 'move']):.0%}"
        )
    left = defaultdict(list)
    for game in games:
        for side in (0, 1):
            if game["least"][side] is not None:
                left[game["ab"[side]]].append(game["least"][side])
    for name, least in sorted(left.items()):
        print(f"{name}: least on the clock {min(least):.2f} s, median {np.median(least):.1f} s")


def playing_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("series.jsonl"), help="a line for each finished game")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=5.0, help="then unfinished games are stopped")
    parser.add_argument("--begin", type=float, help="begin no game after so many minutes, so that none is stopped")
    parser.add_argument("--seed", type=int, default=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="*", type=Path, help="the series, or with --report its outputs")
    playing_options(parser)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    hear_interrupts()
    if options.report:
        report(read(*options.series))
        return
    table = read_toml(options.series[0])
    with within(options.series[0]):
        series = read_table(Series, table)
    run(series, options.out, options)


if __name__ == "__main__":
    main()
