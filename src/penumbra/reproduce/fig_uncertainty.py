"""The uncertainty figure: players with more possible states win less, and the network's value knows it.

For each number of states given to σ, from 1 to ℓ, the mean share of points and the mean value of `All`, both as win
rates, over synopses of games for training and of games for validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from penumbra.core import GameRecord
from penumbra.network import weights as files
from penumbra.network.model import Network, from_weights, unpack
from penumbra.network.weights import WeightsError
from penumbra.reproduce.accuracy import one_network
from penumbra.reproduce.games import games, looking
from penumbra.reproduce.orders import correlation, rank_correlation, verdict
from penumbra.reproduce.passes import Sums, go_through
from penumbra.reproduce.plots import OURS, PAPERS, new_figure
from penumbra.reproduce.request import Cost, Request, tracking_memory
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.telling import OTHER_WAY, points_for_correlation, rounded
from penumbra.training.examples import ExampleSettings, make_examples, split

NAME, TITLE = "fig-uncertainty", "Win rate and network value by the number of states given to σ"
ELL = 128
WIDTH = 8  # numbers of states that the figure and the claims take together
BATCH = 1024
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    games: int
    cap: int
    share: int  # one row in so many is given to the network
    games_a_second: dict[str, float]


SCALES = {
    "tiny": Sizes(30, 200, 8, {"cpu": 20.0, "cuda": 20.0}),
    "smoke": Sizes(1_000, 1_000, 10, {"cpu": 20.0, "cuda": 50.0}),
    "small": Sizes(6_000, 5_000, 1, {"cpu": 0.7, "cuda": 150.0}),
    "paper": Sizes(85_600, 5_000, 1, {"cpu": 0.7, "cuda": 150.0}),
}


def cost(request: Request) -> Cost:
    sizes = request.of(SCALES)
    count = request.games or sizes.games
    return looking(request, count, count / sizes.games_a_second[request.device], memory=tracking_memory(sizes.cap))


def run(request: Request) -> Result:
    sizes = request.of(SCALES)
    path = one_network(request)
    network = valuing(path, request.device)
    found = games(request, request.games or sizes.games)
    settings = f"{path.name} {path.stat().st_size} cap {sizes.cap} one in {sizes.share}"
    totals = {}
    for kind, records in zip(("train", "validation"), split(found.records), strict=True):
        sums = go_through(
            request.out / "passes" / f"{NAME}.jsonl",
            records,
            settings,
            lambda chunk: look(chunk, network, sizes, request.device),
            request.say,
        )
        totals[kind] = {name: np.sum([chunk[name] for chunk in sums], axis=0) for name in ("rows", "points", "values")}
    rows = [row for kind, total in totals.items() for row in _rows(kind, total)]
    figure, axes = new_figure(TITLE, 12, 5, 2)
    claims: list[Claim] = []
    for ax, (kind, total) in zip(axes, totals.items(), strict=True):
        at, won, value = binned(total)
        ax.plot(at, 100 * won, color=PAPERS, label="games won", marker="o")
        ax.plot(at, 100 * value, color=OURS, label="network value", marker="o")
        ax.set(xlabel=f"states given to σ ({kind})", ylabel="win %")
        ax.legend()
        claims += _claims(kind, at, won, value)
    notes = [
        f"Ours: {path.name} on {found.origin}; one step in {sizes.share}, sets tracked to {sizes.cap:,}, "
        f"at most ℓ = {ELL} of them given to σ. A value v counts as a win rate of (1 + v) / 2, a drawn game as a half.",
        f"The figure and the claims take {WIDTH} numbers of states together. The paper's curves are not given as "
        "numbers.",
    ]
    grid = Grid(["games", "states", "steps", "won %", "network %"], rows)
    shown = Grid(grid.heading, [row for row in rows if row[1] in (1, 2, 4, 8, 16, 32, 64, 127, 128)])
    return Result(NAME, TITLE, grid, figure, notes, claims, [shown])


def valuing(path: Any, device: str) -> Network:
    """The network of a file; WeightsError if it has no `All`, whose value is ν."""
    given = files.load(path)
    if "All" not in given.architecture.headsets:
        raise WeightsError(f"{path}: there is no headset 'All'; there are {', '.join(given.architecture.headsets)}")
    network: Network = from_weights(given).to(device)
    return network


def look(records: Sequence[GameRecord], network: Network, sizes: Sizes, device: str) -> Sums:
    """Rows, points and values as win rates, by the number of states, 0 to ℓ."""
    synopsis = network.architecture.synopsis
    examples = make_examples(records, ExampleSettings(ell=ELL, cap=sizes.cap, settle=False, synopsis=synopsis))
    examples = examples.take(np.arange(0, len(examples), sizes.share))
    values = []
    with torch.no_grad():
        for first in range(0, len(examples), BATCH):
            planes = torch.from_numpy(examples.synopses[first : first + BATCH].view(np.int64)).to(device)
            x = network.tower(unpack(planes, torch.float32).contiguous(memory_format=torch.channels_last))
            values.append(torch.tanh(network.headset("All").value(x)).cpu().numpy())
    states = np.minimum(examples.set_sizes, ELL)
    columns = {
        "rows": np.ones(len(examples)),
        "points": (1 + examples.outcomes) / 2,
        "values": (1 + np.concatenate(values)) / 2,
    }
    return {name: np.bincount(states, column, minlength=ELL + 1).tolist() for name, column in columns.items()}


def binned(total: dict[str, Any]) -> tuple[Floats, Floats, Floats]:
    """(middle, win rate, value as a win rate) of groups of WIDTH numbers of states that have any rows."""
    sums = {name: column[1:].reshape(-1, WIDTH).sum(axis=1) for name, column in total.items()}
    there = np.flatnonzero(sums["rows"])
    rows = sums["rows"][there]
    middle = np.asarray(there * WIDTH + (WIDTH + 1) / 2, np.float64)
    return middle, sums["points"][there] / rows, sums["values"][there] / rows


def _rows(kind: str, total: dict[str, Any]) -> list[list[Cell]]:
    return [
        [
            kind,
            int(states),
            int(total["rows"][states]),
            round(100 * float(total["points"][states] / total["rows"][states]), 1),
            round(100 * float(total["values"][states] / total["rows"][states]), 1),
        ]
        for states in np.flatnonzero(total["rows"])
    ]


def _claims(kind: str, at: Floats, won: Floats, value: Floats) -> list[Claim]:
    claims = []
    for what, column in (("win rate", won), ("network value", value)):
        falling = rank_correlation(at, column)
        holds = verdict(falling, len(at), positive=False)
        text = f"the {what} tends to fall with the number of states ({kind})"
        claims.append(Claim(text, "falls", f"rank correlation {falling:.2f}", holds, *_needs(-falling, len(at))))
    alike = correlation(won, value)
    holds = verdict(alike, len(at), positive=True)
    text, said = f"the value follows the win rate ({kind})", f"correlation {alike:.2f}"
    return [*claims, Claim(text, "follows", said, holds, *_needs(alike, len(at)))]


def _needs(found: float, groups: int) -> tuple[int | None, str]:
    """How many times the games, where groups may be as many times finer."""
    needed = points_for_correlation(found)
    if found <= 0 or needed is None:
        return None, OTHER_WAY
    return rounded(needed / groups), "times the games, in as many times finer groups"
