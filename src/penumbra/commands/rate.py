"""`penumbra rate`: how strong the players of archives are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.errors import Problems
from penumbra.commands.options import Anchor, AsJson, examples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penumbra.games.ratings import Ratings

EXAMPLES = examples("penumbra rate tournament.db", "penumbra rate games.db more.db --anchor Trout=1000")


def rate(
    archives: Annotated[
        list[Path], typer.Argument(help="Archives of games; a game that is in several of them counts once.")
    ],
    anchor: Anchor = None,
    elo: Annotated[
        float, typer.Option(help="The rating of the average player, or of an anchor that is given without a number.")
    ] = 1500.0,
    prior: Annotated[
        float, typer.Option(min=0.01, help="Give each player so many virtual games, half of them won.")
    ] = 2.0,
    as_json: AsJson = False,
) -> None:
    """Rate the players of archives: Elo with 95 % intervals, and how likely each is better than the next.

    A star marks the players of the top third, whom the headset `Top` learns from. Damaged games are named and not
    counted.
    """
    from penumbra.arena.game_loop import FAULTS
    from penumbra.games.archive import losses_of, results_of
    from penumbra.games.ratings import parse_anchor
    from penumbra.games.ratings import rate as fit

    name, fixed = parse_anchor(anchor, elo)
    problems = Problems()
    ratings = fit(results_of(archives, problems), prior=prior, anchor=name, anchor_elo=fixed)
    show_ratings(ratings, losses_of(archives, FAULTS), as_json)
    problems.conclude()


def show_ratings(ratings: Ratings, faults: Mapping[tuple[str, str], int], as_json: bool) -> None:
    """A table, the best first; `better` is how likely one is better than the next, `*` marks whom `Top` stands for.

    Losses by `faults`, counted by player and fault, are told apart: they say nothing about how well somebody plays.
    """
    import json
    from dataclasses import asdict

    if as_json:
        told = asdict(ratings)
        for player in told["players"]:
            player["faults"] = {fault: n for (name, fault), n in faults.items() if name == player["name"]}
        print(json.dumps(told, indent=1))
        return
    width = max(len("player"), *(len(rating.name) for rating in ratings.players))
    print(
        f"{'':>4} {'player':<{width}}  {'Elo':>6} {'95 %':>6} {'games':>8} {'score':>7} {'draws':>7} {'better':>7}  Top"
    )
    for rank, rating in enumerate(ratings.players, 1):
        last = rank == len(ratings.players)
        better = "" if last else f"{100 * ratings.superiority[rank - 1][rank]:.1f} %"
        draws = f"{100 * rating.draws / rating.games:.1f} %"
        print(
            f"{rank:>4} {rating.name:<{width}}  {rating.elo:>6.0f} {f'±{rating.margin:.0f}':>6} {rating.games:>8,} "
            f"{f'{100 * rating.share:.1f} %':>7} {draws:>7} {better:>7}  {'*' if rating.top else ''}".rstrip()
        )
    print(
        f"White's first move is worth {ratings.advantage:+.0f} ±{ratings.advantage_margin:.0f}; {ratings.games:,} games"
    )
    for line in fault_lines(ratings, faults):
        print(line)


def fault_lines(ratings: Ratings, faults: Mapping[tuple[str, str], int]) -> list[str]:
    """What each player lost by its own fault, one line each, in the order of the table."""
    lines = []
    for rating in ratings.players:
        counts = {fault: n for (name, fault), n in faults.items() if name == rating.name}
        if counts:
            kinds = ", ".join(f"{fault} {n}" for fault, n in counts.items())
            lost = f"{rating.name} lost {sum(counts.values()):,} of {rating.games:,} games by its own fault"
            lines.append(f"{lost} ({kinds}); they are rated as losses")
    return lines
