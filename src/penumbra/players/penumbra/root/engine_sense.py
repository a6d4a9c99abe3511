"""Engine sense: senses are worth what the move that follows gains by them.

A few states are drawn from the belief and the native engine scores every move in each of them. A sense parts them into
groups that look alike; in each group the best move can be chosen. The sense's worth is the win probability of these
choices, and its prior is multiplied by e^(weight · worth). Programs that sensed so were the best of the competitions;
to sense for the fewest states is not the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penumbra import core
from penumbra.core import MOVE, SENSE, Infostates, StateSet
from penumbra.dsmcp.domain import Floats
from penumbra.dsmcp.root_policy import AtRoot, RootPolicy
from penumbra.players.penumbra.root.engine_opinion import MARGIN, NODES_A_SECOND, drawn, win_probabilities
from penumbra.rbc.domain import Situation
from penumbra.rbc.sense_partitions import INNER_SQUARES, sense_groups

STATES = 32  # drawn from the belief
DEPTH = 2  # plies
STATE_NODES = 100_000  # of the engine for one state at most
SHARE = 0.1  # of a step's time


class EngineSense(RootPolicy[Situation, Infostates]):
    """Multiplies the prior of each sense by e^(weight · what the next move is worth after it)."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def prior(self, at: AtRoot[Situation, Infostates]) -> Floats:
        if at.x.kind != SENSE or at.particles is None or not len(at.particles):
            return at.pi
        states, weights = drawn(at.x, at.particles, STATES, at.rng)
        most = STATE_NODES if at.seconds is None else SHARE * at.seconds * NODES_A_SECOND / len(states)
        worth = worths(states, weights, max(1, min(STATE_NODES, int(most))))
        edge = min(worth.values())  # a sense at the edge of the board shows less than some other
        gains = np.array([worth.get(action, edge) for action in at.actions.tolist()])
        return np.asarray(at.pi * np.exp(self.weight * (gains - gains.max())), np.float32)


def worths(states: StateSet, weights: npt.NDArray[np.float64], nodes: int = STATE_NODES) -> dict[int, float]:
    """Of each inner sense, the win probability of the best move in each group that it tells apart."""
    moves, _ = Infostates.draw(states, 1, MOVE, 1).legal()
    wins = win_probabilities(core.engine_scores(states, moves, DEPTH, nodes, MARGIN)) * weights[:, None]  # [S, A]
    out = {}
    for square, groups in zip(INNER_SQUARES, sense_groups(states), strict=True):
        members = groups == np.arange(groups.max() + 1)[:, None]  # bool[G, S]
        out[square] = float((members @ wins).max(axis=1).sum())
    return out
