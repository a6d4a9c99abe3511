"""How good a network's predictions are: the paper's Table 1, its three cross tables, and the calibration of the value.

A cross table has a row for each headset and a column for each headset's validation data. Its diagonal is Table 1: a
headset that learned to mimic a player should predict that player best.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from penumbra.network.model import Network, unpack
from penumbra.training.data import Batch, Table
from penumbra.training.loss import legal_logits
from penumbra.whole_files import replacing_text

MEASURES = ("top1", "top5", "winner")  # the chosen action is the likeliest, among the five likeliest; who wins
BINS = 10  # of the value, from -1 to 1


@dataclass(frozen=True)
class Evaluation:
    """Shares between 0 and 1; NaN where there is nothing to judge."""

    headsets: tuple[str, ...]
    data: tuple[str, ...]
    examples: NDArray[np.int64]  # [data]
    cross: dict[str, NDArray[np.float64]]  # by measure: [headsets, data]
    calibration: NDArray[np.float64]  # [BINS, 3]: rows, mean value, mean outcome; of `All`, decided games

    def own(self, measure: str) -> dict[str, float]:
        """Each headset on its own data: the diagonal."""
        table = self.cross[measure]
        return {
            name: float(table[i, self.data.index(name)]) for i, name in enumerate(self.headsets) if name in self.data
        }

    def best_of_columns(self, measure: str) -> dict[str, str]:
        """The headset that is best on each headset's data."""
        table = np.nan_to_num(self.cross[measure], nan=-1)
        return {name: self.headsets[int(table[:, j].argmax())] for j, name in enumerate(self.data)}

    def save(self, folder: Path) -> None:
        """One CSV file for each table."""
        folder.mkdir(parents=True, exist_ok=True)
        own = {measure: self.own(measure) for measure in MEASURES}
        rows = [
            [name, int(self.examples[j]), *(f"{own[measure].get(name, float('nan')):.4f}" for measure in MEASURES)]
            for j, name in enumerate(self.data)
        ]
        _write(folder / "headsets.csv", ["headset", "examples", *MEASURES], rows)
        for measure in MEASURES:
            table = [
                [name, *(f"{value:.4f}" for value in self.cross[measure][i])] for i, name in enumerate(self.headsets)
            ]
            _write(folder / f"cross_{measure}.csv", ["headset", *self.data], table)
        bins = [[int(n), f"{value:.4f}", f"{outcome:.4f}"] for n, value, outcome in self.calibration]
        _write(folder / "calibration.csv", ["examples", "mean value", "mean outcome"], bins)


def _write(path: Path, heading: list[str], rows: Sequence[Sequence[object]]) -> None:
    with replacing_text(path, newline="") as file:
        writer = csv.writer(file)
        writer.writerow(heading)
        writer.writerows(rows)


@torch.no_grad()
def evaluate(network: Network, table: Table, most: int = 100_000, size: int = 2048, half: bool = False) -> Evaluation:
    """All headsets on the data of each, at most so many examples of it."""
    training = network.training
    network.eval()
    headsets = network.architecture.headsets
    data = tuple(name for name in table.plans if table.counts[name])
    cross = {measure: np.full((len(headsets), len(data)), np.nan) for measure in MEASURES}
    bins = np.zeros((BINS, 3))
    examples = np.zeros(len(data), np.int64)
    for j, name in enumerate(data):
        sums = {measure: np.zeros((len(headsets), 2)) for measure in MEASURES}
        for batch in table.in_order(name, size):
            with torch.autocast(table.device.type, torch.bfloat16, enabled=half):
                x = network.tower(unpack(batch.planes, torch.float32).contiguous(memory_format=torch.channels_last))
                answers = [network.headset(headset).predict(x) for headset in headsets]
            for i, (logits, value) in enumerate(answers):
                for measure, counted in accuracies(logits, value, batch).items():
                    sums[measure][i] += counted
                if name == "All" and headsets[i] == "All":
                    bins += calibration_bins(value, batch)
            examples[j] += len(batch.target)
            if examples[j] >= most:
                break
        for measure in MEASURES:
            hits, of = sums[measure].T
            cross[measure][:, j] = np.divide(hits, of, out=np.full(len(hits), np.nan), where=of > 0)
    network.train(training)
    bins[:, 1:] /= np.maximum(bins[:, :1], 1)
    return Evaluation(headsets, data, examples, cross, bins)


def accuracies(logits: Tensor, value: Tensor, batch: Batch) -> dict[str, tuple[float, int]]:
    """Each measure as (hits, of how many); drawn games have no winner."""
    order = legal_logits(logits, batch.legal).topk(5, dim=1).indices
    hits = order == batch.target[:, None]
    decided = batch.outcome != 0
    right = (value.sign() == batch.outcome.sign()) & decided
    n = len(batch.target)
    return {
        "top1": (float(hits[:, 0].sum()), n),
        "top5": (float(hits.any(dim=1).sum()), n),
        "winner": (float(right.sum()), int(decided.sum())),
    }


def calibration_bins(values: Tensor, batch: Batch) -> NDArray[np.float64]:
    """float64[BINS, 3]: decided examples, their values and their outcomes, summed by bins of the value."""
    decided = (batch.outcome != 0).cpu().numpy()
    value = values.float().cpu().numpy()[decided]
    outcome = batch.outcome.cpu().numpy()[decided]
    which = np.clip(((value + 1) / 2 * BINS).astype(int), 0, BINS - 1)
    return np.stack(
        [np.bincount(which, weights, minlength=BINS) for weights in (np.ones_like(value), value, outcome)], axis=1
    )
