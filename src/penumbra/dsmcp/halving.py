"""Sequential halving at the root (`root_search = "halving"`): the likeliest actions, each tried in the same worlds.

The paper's bandit spreads playouts by π̄ and by what earlier ones have found, each from a world of its own. With a few
dozen playouts an action's mean is mostly luck in the worlds it was tried in. Here the `CANDIDATES` likeliest actions
all play from the same samples of the belief, so that their means differ by what they do rather than by where they were
tried; after each of log2(CANDIDATES) equal parts of the budget the worse half is dropped.

Actions are ranked by ln π̄ + η Q/N, one step of mirror descent from π̄ (`choice = "mirror"`), with η scaled by
N / (N + `DOUBT`): values of few visits move little.
"""

from __future__ import annotations

import math

import numpy as np

from penumbra.core import NodeTable
from penumbra.dsmcp.domain import Ints, Rows
from penumbra.dsmcp.root_policy import Root, Scores

CANDIDATES = 8
DOUBT = 100.0  # evaluations after which a value counts half


def ranks(pi: Scores, n: Scores, q: Scores, eta: float) -> Scores:
    """By which actions are kept and chosen; -∞ without visits."""
    mean = q / np.maximum(n, 1e-9)
    logits = np.log(np.maximum(pi, 1e-12)) + eta * n / (n + DOUBT) * (mean - 0.5)
    return np.where(n > 0, logits, -np.inf)


class Halving:
    """Which root actions are tried, and in which worlds."""

    def __init__(self, root: Root, eta: float) -> None:
        self.root = root
        self.eta = eta
        self.alive: Rows = np.argsort(-root.pi, kind="stable")[:CANDIDATES]
        self.rounds = max(1, math.ceil(math.log2(len(self.alive))))
        self.first = len(self.alive)

    def schedule(self, b: int) -> tuple[Ints, Rows]:
        """About b playouts: the action of each, and the number of its world; every action in every world."""
        worlds = max(1, b // len(self.alive))
        actions = np.tile(self.root.actions[self.alive], worlds)
        return actions.astype(np.int32), np.repeat(np.arange(worlds), len(self.alive))

    def drop(self, table: NodeTable, spent: float) -> None:
        """Drops the worse half after each equal part of the budget, of which a share is spent."""
        keep = max(1, -(-self.first // 2 ** min(int(spent * self.rounds), self.rounds)))
        if keep < len(self.alive):
            statistics = table.statistics(self.root.key, self.root.actions[self.alive])
            scores = ranks(self.root.pi[self.alive].astype(np.float64), statistics[:, 0], statistics[:, 1], self.eta)
            self.alive = self.alive[np.argsort(-scores, kind="stable")[: max(2, keep)]]
