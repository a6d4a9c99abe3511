"""The hook through which a player adds judgement of its own at the root of a search.

The paper has none: `RootPolicy` itself changes nothing. A player that knows more about its game than the algorithm does
(which moves leave the king to be taken, what was tried in vain) overrides one of the two methods; nothing else in
`penumbra.dsmcp` knows about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np
import numpy.typing as npt

from penumbra.dsmcp.domain import Floats, Ints, L, X

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Root:
    """The root of one decision: its fresh key, its actions, π̄ over them, and the average of ν."""

    key: int
    actions: Ints  # [A]
    pi: Floats  # [A], of sum 1
    value: float  # from -1 to 1


@dataclass(frozen=True)
class AtRoot(Generic[X, L]):
    """What is known before a search."""

    x: X
    particles: L | None  # the belief, where there is one
    actions: Ints  # [A]
    pi: Floats  # [A], π̄
    seconds: float | None  # left of the step's time; None: as many as it takes
    rng: np.random.Generator


class RootPolicy(Generic[X, L]):
    """Changes nothing."""

    def prior(self, at: AtRoot[X, L]) -> Floats:
        """π̄ as the search shall use it; it need not sum to one. An action of prior 0 is not considered."""
        return at.pi

    def score(self, root: Root, n: Scores, q: Scores, scores: Scores) -> Scores:
        """The scores by which the final choice is made, of actions with n visits and total values q."""
        return scores
