"""What a headset predicted, counted game by game, so that intervals can be bootstrapped by game.

The examples of one game are alike: they share their players and their result. An interval that took them for
independent would be several times too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from penumbra.network.model import Network, network_input
from penumbra.training.data import Batch, Table
from penumbra.training.evaluation import BINS, calibration_bins
from penumbra.training.loss import legal_logits

MEASURES = (
    "top1",
    "top5",
    "winner",
    "value_error",  # the mean squared error of the value
    "policy_loss",  # - ln of the probability of what was chosen
    "value_loss",  # - ln of the probability of the result, (1 ± value) / 2
)
LEAST_CHANCE = 1e-4  # of a result, however sure the value is
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


NOTHING = Share(np.nan, np.nan, np.nan)


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
    policy = legal_logits(logits, batch.legal)
    hits = policy.topk(5, dim=1).indices == batch.target[:, None]
    decided = batch.outcome != 0
    always = torch.ones_like(decided)
    winner = (value.sign() == batch.outcome.sign()) & decided
    error = (value - batch.outcome).square() * decided
    policy_loss = F.cross_entropy(policy, batch.target, reduction="none")
    value_loss = -((1 + value * batch.outcome) / 2).clamp(min=LEAST_CHANCE).log() * decided
    measures = torch.stack([hits[:, 0], hits.any(dim=1), winner, error, policy_loss, value_loss], dim=1)
    counted = torch.stack([always, always, decided, decided, always, decided], dim=1)
    return torch.stack([measures.double(), counted.double()])


def shares(counts: GameCounts, games: NDArray[np.bool_]) -> dict[str, Share]:
    """Each measure over some of the games, with the interval of drawing as many games again and again."""
    chosen = games & (counts.of[:, 0] > 0)
    sums, of = counts.sums[chosen], counts.of[chosen]
    n = len(sums)
    if not n:
        return dict.fromkeys(MEASURES, NOTHING)
    times = _resampled(n)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _intervals(sums.sum(axis=0) / of.sum(axis=0), (times @ sums) / (times @ of))


def differences(one: GameCounts, other: GameCounts) -> dict[str, Share]:
    """How much each measure of one is above that of the other on the same examples, with the interval by game."""
    chosen = (one.of[:, 0] > 0) & (other.of[:, 0] > 0)
    n = int(chosen.sum())
    if not n:
        return dict.fromkeys(MEASURES, NOTHING)
    times = np.vstack([np.ones(n, np.int64), _resampled(n)])  # first, the games as they are
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [(times @ counts.sums[chosen]) / (times @ counts.of[chosen]) for counts in (one, other)]
    difference = means[0] - means[1]
    return _intervals(difference[0], difference[1:])


def _resampled(n: int) -> NDArray[np.int64]:
    """int64[RESAMPLES, n]: how often each of n games is in each drawing of as many."""
    return np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES)


def _intervals(whole: Floats, drawn: Floats) -> dict[str, Share]:
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
