"""Danger: moves that leave the king to be taken weigh less, and the reckless are not considered.

The *danger* of a move is the share of the states held possible (of 512 drawn from them, where there are more) in which
the opponent could take our king right after it, less the share in which the move takes theirs. The search alone does
not see it well: the network is told the planes of a synopsis, not the states, a few dozen playouts do not find every
such state, and in those that do the opponent must also be expected to know.
"""

from __future__ import annotations

import numpy as np

from penumbra import core
from penumbra.core import MOVE, Infostates
from penumbra.dsmcp.domain import Floats, Ints
from penumbra.dsmcp.root_policy import AtRoot, RootPolicy
from penumbra.rbc.domain import Situation

STATES = 512  # of a set, drawn to see where our king would stand in danger


def danger_of(x: Situation, actions: Ints, seed: int) -> Floats:
    """float32[A]: the danger of each move."""
    some = x.states if len(x.states) <= STATES else x.states.sample(STATES, seed)
    return core.danger(some, actions)


class Danger(RootPolicy[Situation, Infostates]):
    """Scales the prior by (1 - danger)^prudence and drops moves riskier than the safest by more than `reckless`."""

    def __init__(self, prudence: float, reckless: float) -> None:
        self.prudence = prudence
        self.reckless = reckless

    def prior(self, at: AtRoot[Situation, Infostates]) -> Floats:
        if at.x.kind != MOVE:
            return at.pi
        danger = danger_of(at.x, at.actions, int(at.rng.integers(1 << 63)))
        sane = danger <= danger.min() + self.reckless
        weights = (1 - danger[sane]) ** self.prudence
        out = np.zeros_like(at.pi)
        out[sane] = at.pi[sane] * (weights if weights.any() else 1)
        return out if out.any() else np.where(sane, np.float32(1), np.float32(0))
