"""`penumbra rate`: how strong the players of archives are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.errors import Problems
from penumbra.commands.options import Anchor, AsJson, examples

if TYPE_CHECKING:
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
    from penumbra.games.archive import results_of
    from penumbra.games.ratings import parse_anchor
    from penumbra.games.ratings import rate as fit

    name, fixed = parse_anchor(anchor, elo)
    problems = Problems()
    results = results_of(archives, problems)
    show_ratings(fit(results, prior=prior, anchor=name, anchor_elo=fixed), as_json)
    problems.conclude()


def show_ratings(ratings: Ratings, as_json: bool) -> None:
    """A table, the best first; `better` is how likely one is better than the next, `*` marks whom `Top` stands for."""
    import json
    from dataclasses import asdict

    if as_json:
        print(json.dumps(asdict(ratings), indent=1))
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
