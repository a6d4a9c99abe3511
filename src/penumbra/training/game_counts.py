"""What a headset predicted, counted game by game, so that intervals can be bootstrapped by game.

The examples of one game are alike: they share their players and their result. An interval that took them for
independent would be several times too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from penumbra.network.model import Network, network_input
from penumbra.training.data import Batch, Table
from penumbra.training.evaluation import BINS, calibration_bins
from penumbra.training.loss import legal_logits

MEASURES = ("top1", "top5", "winner", "value_error")  # the last one is the value's mean squared error
RESAMPLES = 1_000
ROWS_AT_ONCE = 2_048
Floats = NDArray[np.float64]


@dataclass
class GameCounts:
    """Sums over the examples of each game, and how many there were; a drawn game has no winner."""

    sums: Floats  # float64[games, MEASURES]
    of: Floats  # float64[games, MEASURES]
    bins: Floats  # float64[BINS, 3] as `calibration_bins` has them

    @classmethod
    def nothing(cls, games: int) -> GameCounts:
        shape = (games, len(MEASURES))
        return cls(np.zeros(shape), np.zeros(shape), np.zeros((BINS, 3)))

    def add(self, other: GameCounts) -> None:
        self.sums += other.sums
        self.of += other.of
        self.bins += other.bins

    def calibration(self) -> Floats:
        """float64[BINS, 3]: examples, mean value, mean outcome; of decided games."""
        return np.column_stack([self.bins[:, :1], self.bins[:, 1:] / np.maximum(self.bins[:, :1], 1)])


@dataclass(frozen=True)
class Share:
    """A share of the examples, or a mean over them, with its 95 % interval; NaN where there are none."""

    value: float
    low: float
    high: float


@torch.no_grad()
def count(network: Network, headset: str, table: Table, rows: Tensor, games: int) -> GameCounts:
    """Predicts rows of the first `games` records of a table; the network is in evaluation mode afterwards."""
    network.eval()
    found = GameCounts.nothing(games)
    sums = torch.zeros(2, games, len(MEASURES), dtype=torch.float64, device=table.device)
    for part in rows.split(ROWS_AT_ONCE):
        batch = table.take(part.long())
        logits, value = network.headset(headset).predict(network.tower(network_input(batch.planes)))
        sums.index_add_(1, table.columns["game"][part.long()].long(), _measured(logits, value.float(), batch))
        found.bins += calibration_bins(value, batch)
    found.sums, found.of = sums.cpu().numpy()
    return found


def _measured(logits: Tensor, value: Tensor, batch: Batch) -> Tensor:
    """float64[2, B, MEASURES]: each measure of each example, and whether it counts."""
    hits = legal_logits(logits, batch.legal).topk(5, dim=1).indices == batch.target[:, None]
    decided = batch.outcome != 0
    always = torch.ones_like(decided)
    winner = (value.sign() == batch.outcome.sign()) & decided
    error = (value - batch.outcome).square() * decided
    measures = torch.stack([hits[:, 0], hits.any(dim=1), winner, error], dim=1)
    return torch.stack([measures.double(), torch.stack([always, always, decided, decided], dim=1).double()])


def shares(counts: GameCounts, games: NDArray[np.bool_]) -> dict[str, Share]:
    """Each measure over some of the games, with the interval of drawing as many games again and again."""
    chosen = games & (counts.of[:, 0] > 0)
    sums, of = counts.sums[chosen], counts.of[chosen]
    n = len(sums)
    if not n:
        return {measure: Share(np.nan, np.nan, np.nan) for measure in MEASURES}
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES)  # int[RESAMPLES, games]
    with np.errstate(invalid="ignore", divide="ignore"):
        whole, drawn = sums.sum(axis=0) / of.sum(axis=0), (times @ sums) / (times @ of)
    found = {}
    for i, measure in enumerate(MEASURES):
        values = drawn[np.isfinite(drawn[:, i]), i]
        low, high = np.percentile(values, [2.5, 97.5]) if len(values) else (np.nan, np.nan)
        found[measure] = Share(float(whole[i]), float(low), float(high))
    return found


def all_together(counts: Sequence[GameCounts]) -> GameCounts:
    """The counts of several networks, each of which judged games of its own."""
    whole = GameCounts.nothing(len(counts[0].sums))
    for one in counts:
        whole.add(one)
    return whole
