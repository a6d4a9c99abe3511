"""Deep synoptic Monte Carlo planning, for any two-player game of imperfect information.

One file for each algorithm of the paper, in its letters. Nothing here knows chess: a game comes in as a `Domain`, its
knowledge as an `Evaluator`.
"""

from penumbra.dsmcp.agent import Agent, Decision
from penumbra.dsmcp.domain import Domain, Evaluator, Infostates
from penumbra.dsmcp.settings import PRESETS, Settings

__all__ = ["PRESETS", "Agent", "Decision", "Domain", "Evaluator", "Infostates", "Settings"]
