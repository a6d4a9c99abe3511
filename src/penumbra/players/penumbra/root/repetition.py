"""Repetition: where neither player gets on, the same situation is not answered the same way for ever.

Moves asked for more than `PATIENCE` times since the last capture are scored down at the final choice, but only beside
moves that are worth about as much: a good move must not give way to one that loses. To wait is often best, so this
begins late. After `WAITING` moves without a capture every repetition counts, and in the prior too, or the search would
look at nothing but other ways of waiting.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from penumbra.core import MOVE, Infostates
from penumbra.dsmcp.domain import Floats, Ints
from penumbra.dsmcp.root_policy import AtRoot, Root, RootPolicy, Scores
from penumbra.rbc.domain import Situation

PATIENCE = 4  # times that a move may be asked for before it is scored down
WAITING = 25  # moves without a capture; from then on there is no patience
LEAST = 1e-6  # what a move keeps of its weight however often it was repeated
WORTH = 0.1  # win probability that may be given up to avoid a repetition


class Repetition(RootPolicy[Situation, Infostates]):
    """Counts the moves asked for and scores repeated ones down by `decay` for each time."""

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.asked: Counter[int] = Counter()  # moves since the last capture

    def moved(self, action: int, captured: bool) -> None:
        """We asked for this move; `captured`: something was taken."""
        if captured:
            self.asked.clear()
        else:
            self.asked[action] += 1

    @property
    def has_waited(self) -> bool:
        return self.asked.total() >= WAITING

    def weights(self, actions: Ints) -> Floats:
        """float32[A], from 0 to 1: what each move keeps of its weight."""
        patience = 0 if self.has_waited else PATIENCE
        times = np.array([max(self.asked[action] - patience, 0) for action in actions.tolist()])
        return np.asarray(np.maximum(self.decay**times, LEAST), np.float32)

    def prior(self, at: AtRoot[Situation, Infostates]) -> Floats:
        return at.pi * self.weights(at.actions) if at.x.kind == MOVE and self.has_waited else at.pi

    def score(self, root: Root, n: Scores, q: Scores, scores: Scores) -> Scores:
        weights = self.weights(root.actions)
        if (weights == 1).all():
            return scores
        mean = q / np.maximum(n, 1e-9)
        worth = mean >= mean[np.where(n > 0, scores, -np.inf).argmax()] - WORTH
        return np.where(worth, scores * weights, 0)
