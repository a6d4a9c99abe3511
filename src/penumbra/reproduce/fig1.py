"""Figure 1: the more states a player must hold possible, the less it wins.

Games between players who do not move at random are replayed, both players' sets tracked to a million states. Each step
of each player counts once, in the bucket of its set's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from penumbra.arena.score import wilson
from penumbra.core import GameRecord
from penumbra.games.accounts import seats
from penumbra.reproduce import published
from penumbra.reproduce.games import Games, games, looking, players_of, recognised
from penumbra.reproduce.orders import rank_correlation, verdict
from penumbra.reproduce.passes import Sums, go_through
from penumbra.reproduce.plots import OURS, new_figure
from penumbra.reproduce.request import Cost, ReproductionError, Request, tracking_memory
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.training.examples import ExampleSettings, make_examples

NAME, TITLE = "fig1", "Figure 1: win rate by the number of possible states"
BUCKETS = 21  # the inclusive upper bounds are 1, 2, 4 .. 2^20


@dataclass(frozen=True)
class Sizes:
    games: int
    cap: int
    games_a_second: float  # on one core


SCALES = {
    "tiny": Sizes(20, 500, 50.0),
    "smoke": Sizes(200, 20_000, 2.5),
    "small": Sizes(300, 1_000_000, 0.25),
    "paper": Sizes(98_000, 1_000_000, 0.25),
}


def cost(request: Request) -> Cost:
    sizes = request.of(SCALES)
    count = request.games or sizes.games
    seconds = count / sizes.games_a_second / request.workers
    return looking(request, count, seconds, memory=tracking_memory(sizes.cap))


def run(request: Request) -> Result:
    sizes = request.of(SCALES)
    found = games(request, request.games or sizes.games)
    records = without_random(found)
    path = request.out / "passes" / f"{NAME}.jsonl"
    sums = go_through(path, records, f"cap {sizes.cap}", lambda chunk: look(chunk, sizes.cap), request.say)
    steps = np.sum([chunk["steps"] for chunk in sums], axis=0)
    points = np.sum([chunk["points"] for chunk in sums], axis=0)
    most = median(size for chunk in sums for size in chunk["most"])
    rows: list[list[Cell]] = []
    for bucket in np.flatnonzero(steps):
        low, high = wilson(float(points[bucket]), int(steps[bucket]))
        share = points[bucket] / steps[bucket]
        rows.append([2 ** int(bucket), int(steps[bucket]), *(round(100 * float(x), 1) for x in (share, low, high))])
    figure, (ax,) = new_figure(TITLE)
    labels = [f"{row[0]:,}" for row in rows]
    shares = [float(row[2] or 0) for row in rows]
    ax.bar(labels, shares, color=OURS)
    ax.set_xlabel("possible states, inclusive upper bound")
    ax.set_ylabel("win %")
    ax.tick_params(axis="x", rotation=60)
    notes = [
        f"Ours: {len(records):,} of {found.origin}, none of a random player; tracked to {sizes.cap:,} states.",
        "A drawn game counts half. Intervals take steps for independent, which those of one game are not.",
        f"The paper has {published.fact('fig1 games'):,.0f} public games of other players; its figure's bars are not "
        "given as numbers. The median says as much of the players as of the game.",
    ]
    falling = rank_correlation(list(range(len(shares))), shares)
    claims = [
        Claim(
            "the win rate tends to fall as the number of states grows",
            "falls",
            f"rank correlation {falling:.2f}",
            verdict(falling, len(shares), positive=False),
        ),
        Claim(
            "median of the largest number of states in a game",
            f"{published.fact('fig1 median maximum'):,.0f}",
            f"{most:,.0f}" + (", where tracking stops" if most >= sizes.cap else ""),
            None,
            of="the paper's own games: it depends on who plays",
        ),
    ]
    grid = Grid(["states, at most", "steps", "win %", "95 % from", "to"], rows)
    return Result(NAME, TITLE, grid, figure, notes, claims)


def without_random(found: Games) -> list[GameRecord]:
    """The games in which nobody moves at random."""
    random = recognised(players_of(found.records), ["Random"]).get("Random", ())
    kept = [record for record in found.records if not set(seats(record)) & set(random)]
    if not kept:
        raise ReproductionError(f"{found.origin}: a random player is in all of them")
    return kept


def look(records: Sequence[GameRecord], cap: int) -> Sums:
    """Steps and points by bucket, and the largest set of each game."""
    examples = make_examples(records, ExampleSettings(ell=1, cap=cap, settle=False))
    which = buckets(examples.set_sizes)
    points = (1 + examples.outcomes) / 2
    most = np.ones(len(records), np.int64)
    np.maximum.at(most, examples.games, examples.set_sizes)
    return {
        "steps": np.bincount(which, minlength=BUCKETS).tolist(),
        "points": np.bincount(which, points, minlength=BUCKETS).tolist(),
        "most": most.tolist(),
    }


def buckets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """1 is in bucket 0, 2 in 1, 3 and 4 in 2, 5 to 8 in 3."""
    exponents: NDArray[np.int64] = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    return np.minimum(exponents, BUCKETS - 1)
