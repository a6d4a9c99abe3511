"""The loss of one headset: policy, value, soon won and lost, true piece counts, and the engine's chance to win.

The value learns the result of the game, softened and mixed with what the native engine says of the player's states, as
`LossWeights` has it. The target is, on the value's scale of -1 to 1, with r the result and e the engine's opinion,

    (1 - λ) (1 - s) r + λ e        λ: `mixing`, growing with the steps left in the game; s: `softening`
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from penumbra.network.model import Heads
from penumbra.training.data import Batch
from penumbra.training.recipe import LossWeights, Softmax

RESULTS_ALONE = LossWeights()


def legal_logits(policy: Tensor, legal: Tensor) -> Tensor:
    """[B, MOST_LEGAL] logits along the legal actions, -inf past the end."""
    logits = policy.gather(1, legal.clamp(min=0)).float()
    return logits.masked_fill(legal < 0, -torch.inf)


def log_policy(policy: Tensor, legal: Tensor, softmax: Softmax) -> Tensor:
    """[B, MOST_LEGAL] ln π along the legal actions, of a distribution over these or over all; -inf past the end."""
    if softmax == "legal":
        return F.log_softmax(legal_logits(policy, legal), dim=1)
    return legal_logits(F.log_softmax(policy.float(), dim=1), legal)


def losses(heads: Heads, batch: Batch, weights: LossWeights = RESULTS_ALONE) -> dict[str, Tensor]:
    """The loss of each head that is there; a drawn game counts as 0 in the value."""
    parts = {
        "policy": policy_loss(heads.policy, batch, weights.softmax),
        "value": F.mse_loss(heads.value.float(), value_target(batch, weights)),
    }
    if heads.engine is not None and batch.engine is not None:
        parts["engine"] = F.mse_loss(heads.engine.float(), engine_value(batch, weights))
    if heads.soon_win is not None and heads.soon_lose is not None and heads.pieces is not None:
        soon = torch.stack([heads.soon_win, heads.soon_lose], dim=1).float()
        parts["soon"] = F.binary_cross_entropy_with_logits(soon, batch.soon)
        parts["pieces"] = F.cross_entropy(heads.pieces.float().flatten(0, 1), batch.pieces.flatten().clamp(max=17))
    return parts


def value_target(batch: Batch, weights: LossWeights) -> Tensor:
    """float32[B]: what the value learns."""
    results = (1 - weights.softening) * batch.outcome
    if not weights.mixing:
        return results
    share: Tensor | float = weights.mixing
    if weights.mixing_half:  # nothing at the last step
        share = weights.mixing * (1 - torch.exp2((1 - batch.left) / weights.mixing_half))
    return (1 - share) * results + share * engine_value(batch, weights)


def engine_value(batch: Batch, weights: LossWeights) -> Tensor:
    """float32[B]: the engine's opinion, from -1 to 1."""
    assert batch.engine is not None, "the recipe was checked"
    return 2 * batch.engine[:, ("set", "truth").index(weights.engine_of)] - 1


def policy_loss(policy: Tensor, batch: Batch, softmax: Softmax = "legal") -> Tensor:
    """Towards what was chosen or, where steps were searched, towards the visits."""
    logs = log_policy(policy, batch.legal, softmax)
    if batch.shares is None:
        return F.nll_loss(logs, batch.target)
    return -(batch.shares * logs.masked_fill(batch.legal < 0, 0)).sum(dim=1).mean()


def total(parts: dict[str, Tensor], weights: LossWeights) -> Tensor:
    weighted: Tensor = sum(getattr(weights, name) * part for name, part in parts.items())
    return weighted
