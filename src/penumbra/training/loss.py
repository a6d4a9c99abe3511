"""The loss of one headset: policy, value, soon won and lost, and true piece counts, each with its weight."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from penumbra.network.model import Heads
from penumbra.training.data import Batch


@dataclass(frozen=True)
class Weights:
    policy: float = 1.0
    value: float = 1.0
    soon: float = 0.2
    pieces: float = 0.1


def legal_logits(heads: Heads, batch: Batch) -> Tensor:
    """[B, MOST_LEGAL] logits along the legal actions, -inf past the end."""
    logits = heads.policy.gather(1, batch.legal.clamp(min=0)).float()
    return logits.masked_fill(batch.legal < 0, -torch.inf)


def losses(heads: Heads, batch: Batch) -> dict[str, Tensor]:
    """The loss of each head; a drawn game counts as 0 in the value."""
    soon = torch.stack([heads.soon_win, heads.soon_lose], dim=1).float()
    return {
        "policy": F.cross_entropy(legal_logits(heads, batch), batch.target),
        "value": F.mse_loss(heads.value.float(), batch.outcome),
        "soon": F.binary_cross_entropy_with_logits(soon, batch.soon),
        "pieces": F.cross_entropy(heads.pieces.float().flatten(0, 1), batch.pieces.flatten().clamp(max=17)),
    }


def total(parts: dict[str, Tensor], weights: Weights) -> Tensor:
    return (
        weights.policy * parts["policy"]
        + weights.value * parts["value"]
        + weights.soon * parts["soon"]
        + weights.pieces * parts["pieces"]
    )


@torch.no_grad()
def accuracies(heads: Heads, batch: Batch) -> dict[str, tuple[float, int]]:
    """Top-1, top-5 and winner accuracy as (hits, of how many); drawn games have no winner."""
    order = legal_logits(heads, batch).topk(5, dim=1).indices
    hits = order == batch.target[:, None]
    decided = batch.outcome != 0
    right = (heads.value.sign() == batch.outcome.sign()) & decided
    n = len(batch.target)
    return {
        "top1": (float(hits[:, 0].sum()), n),
        "top5": (float(hits.any(dim=1).sum()), n),
        "winner": (float(right.sum()), int(decided.sum())),
    }
