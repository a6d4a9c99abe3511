"""Evaluators of phantom tic-tac-toe: one that knows nothing, one that knows a little, one that knows its opponent.

They read the synopsis alone: four planes of nine cells, see `domain.synopsis`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from examples.phantom_tic_tac_toe.domain import CELLS, LINES, Side, cells
from penumbra.dsmcp.domain import Evaluator, Features, Floats, Legal

Policy = Callable[[Side], Floats]  # of a player's own information: probabilities of the nine cells

MEMBERS = np.array([[line >> cell & 1 for cell in range(CELLS)] for line in LINES], np.float32)  # [8, 9]
POWERS = 1 << np.arange(CELLS)


class UniformEvaluator:
    """Every cell is as good as any other, and nobody is ahead."""

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        sizes = np.diff(legal.offsets)
        return np.repeat(1 / sizes, sizes).astype(np.float32), np.zeros(len(features), np.float32)


class LineEvaluator:
    """The centre before the corners before the edges, and whoever has more in lines that may still be won is ahead."""

    WEIGHTS = np.array([2, 1, 2, 1, 4, 1, 2, 1, 2], np.float32)

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        weights = self.WEIGHTS[legal.actions]
        total = np.add.reduceat(weights, legal.offsets[:-1])
        priors = (weights / np.repeat(total, np.diff(legal.offsets))).astype(np.float32)
        return priors, self.value(features)

    def value(self, features: Features) -> Floats:
        planes = features.reshape(-1, 4, CELLS)
        own, theirs = planes[:, 0], planes[:, 2]
        ours = ((own @ MEMBERS.T) ** 2 * np.prod(1 - theirs[:, None] * MEMBERS, axis=2)).sum(axis=1)
        others = ((theirs @ MEMBERS.T) ** 2 * np.prod(1 - own[:, None] * MEMBERS, axis=2)).sum(axis=1)
        return np.asarray(np.tanh((ours - others + 1) / 8), np.float32)


class KnownOpponent:
    """Another evaluator's values and its policy for us, but the opponent's true policy for the opponent."""

    def __init__(self, evaluator: Evaluator, policy: Policy) -> None:
        self.evaluator = evaluator
        self.policy = policy

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        priors, values = self.evaluator.evaluate(features, legal, opponent)
        if opponent:
            rows = [self.policy(side)[legal.actions[low:high]] for side, low, high in self.rows(features, legal)]
            priors = np.concatenate(rows).astype(np.float32)
        return priors, values

    @staticmethod
    def rows(features: Features, legal: Legal) -> list[tuple[Side, int, int]]:
        masks = (features.reshape(-1, 4, CELLS)[:, :2] @ POWERS).astype(np.int64).tolist()
        offsets = legal.offsets.tolist()
        return [(Side(*masks[row]), offsets[row], offsets[row + 1]) for row in range(len(masks))]


def evaluator_policy(evaluator: Evaluator) -> Policy:
    """The bare policy of an evaluator whose priors depend on the own side alone."""

    @cache
    def policy(side: Side) -> Floats:
        actions = cells(~side.tried & (1 << CELLS) - 1)
        features = np.zeros((1, 4, CELLS), np.float32)
        features[0, 0, list(cells(side.marks))] = 1
        features[0, 1, list(cells(side.learnt))] = 1
        legal = Legal(np.array(actions, np.int32), np.array([0, len(actions)], np.int64))
        priors, _ = evaluator.evaluate(features.reshape(1, -1), legal, opponent=False)
        probabilities = np.zeros(CELLS, np.float32)
        probabilities[list(actions)] = priors
        return probabilities

    return policy
