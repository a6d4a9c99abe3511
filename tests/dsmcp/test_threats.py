"""A threat to the king is met if the belief holds it likely, and taken for what it is worth if not."""

from __future__ import annotations

import numpy as np
import pytest

from penumbra.core import Infostates
from penumbra.dsmcp import Agent, Settings
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.players.penumbra.recording import belief_marginals
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import parse_action
from penumbra.rbc.observations import OpponentMoved, Sensed

# White's knight, which both players know of, goes to f6, where it attacks the king. Squares are each player's own.
FEN = "rnbqkbnr/ppp1pppp/3p4/8/4N3/8/PPPPPPPP/R1BQKBNR w KQkq - 1 3"
ATTACK = parse_action("e4f6")
F6 = 45 ^ 56  # in Black's view
ANSWERS = {parse_action(word) for word in ("e2f3", "g2f3", "g1f3")}  # the knight is taken; the king has no safe square
KNIGHT = 1
SETTINGS = Settings(b=32, n_particles=512, c=4.0, weigh_ended=True, belief_bandit="policy", seed=0)


class Expecting(HeuristicEvaluator):
    """The opponent is thought to be so many times as likely to attack as the heuristic has it."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        priors, values = super().evaluate(features, legal, opponent)
        if opponent:
            priors = priors * np.where(legal.actions == ATTACK, np.float32(self.factor), np.float32(1))
            priors /= np.repeat(np.add.reduceat(priors, legal.offsets[:-1]), np.diff(legal.offsets))
        return priors, values


def attacked(factor: float, seed: int) -> tuple[Agent[rbc.Situation, Infostates], float]:
    """Black before its move, having sensed nothing, and how likely it holds the attack."""
    x, particles = rbc.start(False, FEN)
    agent = Agent(rbc.ReconBlindChess(), Expecting(factor), SETTINGS.replace(seed=seed), x, particles)
    agent.observe(rbc.opponent_sensed(agent.x))
    agent.observe(rbc.observed(agent.x, OpponentMoved(None)))
    agent.observe(rbc.observed(agent.x, Sensed(None, ())), 0)
    agent.belief.refill(SETTINGS.n_particles, float("inf"))
    return agent, float(belief_marginals(agent.x, agent.belief.current.particles)[F6, KNIGHT])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("factor", "least", "most"), [(20.0, 0.3, 0.5), (200.0, 0.8, 0.95)])
def test_an_attack_that_is_expected_is_met(factor: float, least: float, most: float, seed: int) -> None:
    agent, likelihood = attacked(factor, seed)
    assert least < likelihood < most
    assert agent.choose(nodes=4000).action in ANSWERS


def test_an_attack_that_nobody_expects_is_one_state_among_many() -> None:
    """The same position with the heuristic's own opponent: what is lost against such attacks is lost there."""
    agent, likelihood = attacked(1.0, 0)
    assert likelihood < 2 / agent.domain.size(agent.x)
    assert likelihood > 0
