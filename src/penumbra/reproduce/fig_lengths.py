"""The figure of game lengths: how long the games are that each headset learns from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penumbra.core import GameRecord
from penumbra.games.accounts import seats
from penumbra.reproduce.games import games, looking
from penumbra.reproduce.plots import OURS, new_figure
from penumbra.reproduce.request import Cost, ReproductionError, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.runs import plans_for
from penumbra.training.data import learns_from, top_players
from penumbra.training.recipe import Plan

NAME, TITLE = "fig-lengths", "Game lengths by headset"
GAMES = {"tiny": 60, "smoke": 40_000, "small": 40_000, "paper": 100_000}
GAMES_A_SECOND = 20_000.0
SHORTEST, LONGEST = "Attacker", "StockyInference"  # on average, in the paper


def cost(request: Request) -> Cost:
    count = request.games or request.of(GAMES)
    return looking(request, count, count / GAMES_A_SECOND)


def run(request: Request) -> Result:
    found = games(request, request.games or request.of(GAMES))
    lengths = lengths_by_headset(found.records)
    if len(lengths) <= 2:
        raise ReproductionError(f"{found.origin}: no player among them has a headset")
    rows: list[list[Cell]] = []
    for name, values in lengths.items():
        low, middle, high = (float(x) for x in np.percentile(values, (25, 50, 75)))
        rows.append([name, len(values), round(float(values.mean()), 1), low, middle, high, int(values.max())])
    rows.sort(key=lambda row: float(row[2] or 0))
    order = [str(row[0]) for row in rows]
    figure, (ax,) = new_figure(TITLE, 11, 5.5)
    ax.violinplot([lengths[name] for name in order], showmedians=True, widths=0.9)
    for body in ax.collections:
        body.set_color(OURS)
    ax.set_xticks(range(1, len(order) + 1), order, rotation=30, ha="right")
    ax.set_ylabel("turns of both players together")
    players = [name for name in order if name not in ("All", "Top")]
    claims = [
        Claim("the player with the shortest games on average", SHORTEST, players[0], players[0] == SHORTEST),
        Claim("the player with the longest games on average", LONGEST, players[-1], players[-1] == LONGEST),
    ]
    notes = [
        f"Ours: {found.origin}. Lengths are turns of both players together.",
        "The paper's distributions are not given as numbers; its players are others, and its random player counts too.",
    ]
    grid = Grid(["headset", "games", "mean", "25 %", "median", "75 %", "longest"], rows)
    return Result(NAME, TITLE, grid, figure, notes, claims)


def lengths_by_headset(records: Sequence[GameRecord]) -> dict[str, NDArray[np.int64]]:
    """The turns of each game that a headset learns from."""
    top = top_players(records)
    turns = np.array([len(record.senses) for record in records])
    white, black = np.array([seats(record) for record in records]).T

    def of(plan: Plan) -> NDArray[np.int64]:
        taken: NDArray[np.int64] = turns[learns_from(plan, white, top) | learns_from(plan, black, top)]
        return taken

    return {name: of(plan) for name, plan in plans_for(records, most=1).items()}
