"""Which planes a network looks at: per-batch and per-bit saliency (section 6 of the paper).

For a headset and a random batch of test examples, let g be the gradient, with respect to the bits x of each example's
synopsis, of one of two things:

    loss    that example's loss, all heads with their weights
    action  ln π(a), a the action that was chosen in that example

Then for each plane

    PBS     per-batch saliency: the mean of |g| over the batch and the 64 squares
    PbS v   per-bit saliency: the mean of |g| over those bits of the batch that have the value v

and PbS, of no value in particular, is the mean over bits of either, so that within one batch it is PBS. Both are
averaged over the batches drawn through training; a batch counts for PbS v by its bits of value v, and not at all if it
has none. A share s counts as s of a bit that is set and 1 - s of one that is not. Normalisation is in evaluation mode,
so that an example's gradient is its own.

The paper does not say of which number of the policy the gradient is taken; ln π(a) is our reading. Its Table of planes
agrees with the rest: PbS there lies between PbS 0 and PbS 1, in the middle where half of a plane's bits are set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from penumbra.network.model import Network, network_input
from penumbra.rbc.synopsis import LAYOUTS
from penumbra.training.data import Batch, Table
from penumbra.training.loss import log_policy, losses, total
from penumbra.training.recipe import LossWeights
from penumbra.training.trainer import Trainer
from penumbra.whole_files import append_lines

FILE = "saliency.jsonl"  # beside the log of a training run
BATCH = 256
KINDS = ("loss", "action")
SIZES = {len(layout.planes) for layout in LAYOUTS.values()}  # planes of the sorts of synopses
Floats = NDArray[np.float64]


class SaliencyError(ValueError):
    """A log of saliency that cannot be used, and why."""


@dataclass(frozen=True)
class Saliency:
    """What one or several batches say of each plane; `pbs[kind]` and the others by `KINDS`."""

    ones: Floats  # [planes] the share of bits that are set
    pbs: Mapping[str, Floats]  # [planes]
    per_bit: Mapping[str, Floats]  # [2, planes] PbS 0 and PbS 1; NaN where no bit has that value

    def pbs_of_bits(self, kind: str) -> Floats:
        """PbS over the bits of either value."""
        shares = np.stack([1 - self.ones, self.ones])  # [2, planes]
        mean: Floats = np.where(shares > 0, shares * self.per_bit[kind], 0.0).sum(axis=0)
        return mean


def measure(network: Network, headset: str, batch: Batch, weights: LossWeights) -> Saliency:
    """The saliency of one batch."""
    training = network.training
    network.eval()
    planes = network_input(batch.planes).requires_grad_()
    heads = network(planes, headset)
    loss = len(batch.target) * total(losses(heads, batch, weights), weights)  # the sum of the examples' own
    chosen = log_policy(heads.policy, batch.legal, weights.softmax).gather(1, batch.target[:, None])
    (by_loss,) = torch.autograd.grad(loss, planes, retain_graph=True)
    (by_action,) = torch.autograd.grad(chosen.sum(), planes)
    network.train(training)
    return average_bits(planes.detach(), {"loss": by_loss, "action": by_action})


def average_bits(planes: Tensor, gradients: Mapping[str, Tensor]) -> Saliency:
    """All tensors are [B, planes, 8, 8]."""
    sizes = {kind: gradient.abs() for kind, gradient in gradients.items()}
    every = planes.shape[0] * 64
    counts = torch.stack([(1 - planes).sum(dim=(0, 2, 3)), planes.sum(dim=(0, 2, 3))])  # [2, planes]
    per_bit = {}
    for kind, size in sizes.items():
        sums = torch.stack([(size * (1 - planes)).sum(dim=(0, 2, 3)), (size * planes).sum(dim=(0, 2, 3))])
        per_bit[kind] = _floats(sums / counts)  # 0 / 0 is NaN
    return Saliency(
        _floats(counts[1] / every), {kind: _floats(size.mean(dim=(0, 2, 3))) for kind, size in sizes.items()}, per_bit
    )


def average(batches: list[Saliency]) -> Saliency:
    """Over batches of one size."""
    ones = np.stack([batch.ones for batch in batches])  # [batches, planes]
    shares = np.stack([1 - ones, ones], axis=1)  # [batches, 2, planes]
    per_bit = {}
    for kind in KINDS:
        values = np.stack([batch.per_bit[kind] for batch in batches])
        sums = np.where(shares > 0, values * shares, 0.0).sum(axis=0)
        weights = shares.sum(axis=0)
        per_bit[kind] = np.divide(sums, weights, out=np.full_like(sums, np.nan), where=weights > 0)
    pbs = {kind: np.stack([batch.pbs[kind] for batch in batches]).mean(axis=0) for kind in KINDS}
    return Saliency(ones.mean(axis=0), pbs, per_bit)


class SaliencyLog:
    """Measures a network in training every so many steps: a line of JSON for each headset, on its own test examples.

    It is called after each logged step; nothing about the training changes by it. A run that goes on from a checkpoint
    goes on with the file.
    """

    def __init__(self, path: Path, table: Table, every: int, batch: int = BATCH) -> None:
        if every < 1:
            raise ValueError(f"saliency cannot be measured every {every} steps")
        self.path = path
        self.table = table
        self.every = every
        self.batch = batch
        self._due = 0  # the next step at which to measure
        if path.exists():
            self._due = self._after(max(step for steps in read(path).values() for step in steps))

    def _after(self, step: int) -> int:
        return (step // self.every + 1) * self.every

    def __call__(self, trainer: Trainer) -> None:
        if trainer.step < self._due:
            return
        self._due = self._after(trainer.step)
        draws = torch.Generator(self.table.device).manual_seed(trainer.step)
        rows = []
        for headset in trainer.network.architecture.headsets:
            if self.table.counts.get(headset):
                batch = self.table.draw(headset, self.batch, draws)
                found = measure(trainer.network, headset, batch, trainer.recipe.loss)
                rows.append(_to_row(trainer.step, headset, found))
        append_lines(self.path, "".join(json.dumps(row) + "\n" for row in rows))


def _to_row(step: int, headset: str, found: Saliency) -> dict[str, Any]:
    row: dict[str, Any] = {"step": step, "headset": headset, "ones": _rounded(found.ones)}
    for kind in KINDS:
        row[f"{kind} PBS"] = _rounded(found.pbs[kind])
        for value in (0, 1):
            row[f"{kind} PbS {value}"] = _rounded(found.per_bit[kind][value])
    return row


def read(path: Path) -> dict[str, dict[int, Saliency]]:
    """By headset and step, the steps in order."""
    found: dict[str, dict[int, Saliency]] = {}
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise SaliencyError(f"{path}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            found.setdefault(row["headset"], {})[row["step"]] = _from_row(row)
        except (ValueError, KeyError, TypeError):
            raise SaliencyError(f"{path}: line {number} is not one of a log of saliency") from None
    if not found:
        raise SaliencyError(f"{path}: nothing was measured yet")
    return {headset: dict(sorted(steps.items())) for headset, steps in found.items()}


def _from_row(row: Mapping[str, Any]) -> Saliency:
    def column(name: str) -> Floats:
        values = np.array(row[name], dtype=np.float64)  # null becomes NaN
        if len(values) not in SIZES:
            raise ValueError
        return values

    return Saliency(
        column("ones"),
        {kind: column(f"{kind} PBS") for kind in KINDS},
        {kind: np.stack([column(f"{kind} PbS {value}") for value in (0, 1)]) for kind in KINDS},
    )


def _floats(tensor: Tensor) -> Floats:
    floats: Floats = tensor.double().cpu().numpy()
    return floats


def _rounded(values: Floats) -> list[float | None]:
    """Seven digits; None for NaN, which JSON does not know."""
    return [None if np.isnan(value) else float(f"{value:.7g}") for value in values]
