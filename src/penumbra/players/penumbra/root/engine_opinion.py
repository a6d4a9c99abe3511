"""Engine opinion: where few states are possible, the native engine's scores of every move over them.

Where a few states are possible the game is nearly chess, and the network, which sees AND and OR of the states, knows
too little of it. The engine searches each of these states whole, as if both players saw everything; the win probability
of a move is the mean over the states, weighed by how many particles of the belief stand in each. Where more states are
possible than `states`, so many particles say in which to ask, or nobody is asked (`sampled`). The prior is multiplied
by e^(weight · win probability / states^fall): one step of mirror descent from the network's policy, and the longer the
more the game is chess.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import numpy.typing as npt

from penumbra import core
from penumbra.core import KING_TAKEN, MOVE, Infostates, StateSet
from penumbra.dsmcp.domain import Floats, Ints, Rows
from penumbra.dsmcp.root_policy import AtRoot, RootPolicy
from penumbra.players.penumbra.root_settings import RootSettings
from penumbra.rbc.domain import Situation

MARGIN = 150  # hundredths of a pawn: how much worse a move is that is worse by so much does not matter
PAWNS = 3.0  # ahead, at which a win is half as far from certain as where nobody is
KING_LATER = 20.0  # pawns that a king is worth which can be taken later: the opponent may see it coming
DEPTH = 8  # plies at most
UNTIMED_NODES = 50_000  # of the engine for a decision, where there is no clock: a few hundredths of a second
LEAST_NODES = 1_000  # for one state
NODES_A_SECOND = 1_000_000.0  # of the engine on one core, until measured
SLOW = 1.5  # times as long as planned, after which less is asked for
PARTICLES = 512  # that states are weighed by


class EngineOpinion(RootPolicy[Situation, Infostates]):
    """Multiplies the prior of each move by e^(weight / states^fall · its win probability), where few are possible."""

    def __init__(self, settings: RootSettings) -> None:
        self.weight, self.fall = settings.engine_weight, settings.engine_fall
        self.states, self.sampled = settings.engine_states, settings.engine_sampled
        self.share = settings.engine_share
        self.nodes_a_second = NODES_A_SECOND

    def prior(self, at: AtRoot[Situation, Infostates]) -> Floats:
        x, particles = at.x, at.particles
        many = len(x.states) > self.states
        if x.kind != MOVE or not self.states or (many and not (self.sampled and particles is not None)):
            return at.pi
        states, weights = drawn(x, particles, self.states, at.rng) if many else (x.states, state_weights(x, particles))
        wins = win_probabilities(self.scores(states, at.actions, at.seconds)).T @ weights
        weight = self.weight / len(states) ** self.fall
        return np.asarray(at.pi * np.exp(weight * (wins - wins.max())), np.float32)

    def scores(self, states: StateSet, actions: Ints, seconds: float | None) -> npt.NDArray[np.int32]:
        """int32[states, A]: hundredths of a pawn, as deep as the time allows."""
        nodes = UNTIMED_NODES if seconds is None else self.share * seconds * self.nodes_a_second
        each = int(nodes / len(states))
        began = time.monotonic()
        scores = core.engine_scores(states, actions, DEPTH, max(LEAST_NODES, each), MARGIN)
        took = time.monotonic() - began
        if seconds is not None and each > LEAST_NODES and took > SLOW * self.share * seconds:
            self.nodes_a_second *= self.share * seconds / took  # the machine is slower than thought, or busy
        return scores


def win_probabilities(scores: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """float64[states, A]: from hundredths of a pawn; a king taken at once is a game won.

    Of p pawns ahead ½ (1 + p / (PAWNS + |p|)), which tells won positions apart, and lost ones: a logistic function does
    not, and moves that give a rook away there are as good as any.
    """
    pawns = np.clip(scores / 100, -KING_LATER, KING_LATER)
    return np.where(scores >= KING_TAKEN, 1.0, (1 + pawns / (PAWNS + np.abs(pawns))) / 2)


def state_weights(x: Situation, particles: Infostates | None) -> npt.NDArray[np.float64]:
    """float64[states], of sum 1: the share of the particles that stand in each state, one of all spread over them."""
    weights = np.ones(len(x.states))
    if particles is not None and len(particles):
        rows = np.linspace(0, len(particles) - 1, min(len(particles), PARTICLES)).astype(np.int64)
        found = Counter(fens_of(x, particles, rows))
        weights = np.array([found[fen] for fen in x.states.fens()]) + 1 / len(x.states)
    return np.asarray(weights / weights.sum())


def drawn(
    x: Situation, particles: Infostates | None, n: int, rng: np.random.Generator
) -> tuple[StateSet, npt.NDArray[np.float64]]:
    """The states in which n particles stand, and the share of these particles in each."""
    assert particles is not None
    found = Counter(fens_of(x, particles, rng.integers(len(particles), size=n)))
    states = StateSet.from_fens(list(found), x.states.owner)
    return states, np.array([found[fen] for fen in states.fens()]) / n


def fens_of(x: Situation, particles: Infostates, rows: Rows) -> list[str]:
    """The states in which these particles stand."""
    truths = Infostates.draw(x.states, len(rows), x.kind, 1, x.context, 0, False, particles.take(rows))
    return [truths.fens(row)[0] for row in range(len(rows))]
