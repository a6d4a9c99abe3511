"""The loss of one headset: policy, value, soon won and lost, and true piece counts, each with its weight."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from penumbra.network.model import Heads
from penumbra.training.data import Batch
from penumbra.training.recipe import LossWeights, Softmax


def legal_logits(policy: Tensor, legal: Tensor) -> Tensor:
    """[B, MOST_LEGAL] logits along the legal actions, -inf past the end."""
    logits = policy.gather(1, legal.clamp(min=0)).float()
    return logits.masked_fill(legal < 0, -torch.inf)


def log_policy(policy: Tensor, legal: Tensor, softmax: Softmax) -> Tensor:
    """[B, MOST_LEGAL] ln π along the legal actions, of a distribution over these or over all; -inf past the end."""
    if softmax == "legal":
        return F.log_softmax(legal_logits(policy, legal), dim=1)
    return legal_logits(F.log_softmax(policy.float(), dim=1), legal)


def losses(heads: Heads, batch: Batch, softmax: Softmax = "legal") -> dict[str, Tensor]:
    """The loss of each head that is there; a drawn game counts as 0 in the value."""
    parts = {
        "policy": policy_loss(heads.policy, batch, softmax),
        "value": F.mse_loss(heads.value.float(), batch.outcome),
    }
    if heads.soon_win is not None and heads.soon_lose is not None and heads.pieces is not None:
        soon = torch.stack([heads.soon_win, heads.soon_lose], dim=1).float()
        parts["soon"] = F.binary_cross_entropy_with_logits(soon, batch.soon)
        parts["pieces"] = F.cross_entropy(heads.pieces.float().flatten(0, 1), batch.pieces.flatten().clamp(max=17))
    return parts


def policy_loss(policy: Tensor, batch: Batch, softmax: Softmax = "legal") -> Tensor:
    """Towards what was chosen or, where steps were searched, towards the visits."""
    logs = log_policy(policy, batch.legal, softmax)
    if batch.shares is None:
        return F.nll_loss(logs, batch.target)
    return -(batch.shares * logs.masked_fill(batch.legal < 0, 0)).sum(dim=1).mean()


def total(parts: dict[str, Tensor], weights: LossWeights) -> Tensor:
    weighted: Tensor = sum(getattr(weights, name) * part for name, part in parts.items())
    return weighted
