"""The engine as the built-in opponents ask it, and what they make of its scores."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from penumbra import core
from penumbra.core import KING_TAKEN, MOVE, Infostates, StateSet

if TYPE_CHECKING:
    from penumbra.players.opponents.settings import EngineSettings

Actions = NDArray[np.int32]
Scores = NDArray[np.float64]

# What ends of games are worth in an average over states, in hundredths of a pawn. A king that can be taken now is a won
# game in that state; one that can be taken later depends on an opponent who does not see it.
KING_NOW = 6000.0
KING_LATER = 1500.0
KING_LOST = -3000.0
FAR = KING_TAKEN - 1000  # no position is worth as much


# Modules that stand above the players and are looked for only when an engine is named.
OTHER_ENGINES = {"stockfish": "penumbra.interop.stockfish"}


class Engine(Protocol):
    """Whatever can score moves and states whole; the native search, or a program behind `interop`."""

    def scores(self, states: StateSet, actions: Actions) -> NDArray[np.int32]:
        """int32[states, actions]: hundredths of a pawn for the set's owner; KING_TAKEN for a king taken at once."""

    def values(self, states: StateSet) -> NDArray[np.int32]:
        """int32[states]: hundredths of a pawn for the player to move."""


class NativeEngine:
    """The core's small search."""

    def __init__(self, depth: int, nodes: int) -> None:
        self.depth = depth
        self.nodes = nodes

    def scores(self, states: StateSet, actions: Actions) -> NDArray[np.int32]:
        return core.engine_scores(states, actions, self.depth, self.nodes)

    def values(self, states: StateSet) -> NDArray[np.int32]:
        return core.engine_values(states, self.depth, self.nodes)


def make_engine(settings: EngineSettings, deeper: int = 0, more: int = 1) -> Engine:
    """The engine that the settings name, `deeper` plies and with `more` times the nodes than they say."""
    if settings.engine == "native":
        return NativeEngine(settings.depth + deeper, settings.nodes * more)
    made: Engine = import_module(OTHER_ENGINES[settings.engine]).make_engine(settings, more)
    return made


def tamed(scores: NDArray[np.int32]) -> Scores:
    """Scores that can be averaged: ends of games have the worth given above."""
    s = scores.astype(np.float64)
    s[scores > FAR] = KING_LATER
    s[scores >= KING_TAKEN] = KING_NOW
    s[scores < -FAR] = KING_LOST
    return s


def requests(states: StateSet) -> Actions:
    """int32[A]: the moves the owner may ask for in its turn, the pass included: the same in all its states."""
    actions, _ = Infostates.draw(states, 1, MOVE, 1).legal()
    return actions


def in_check(states: StateSet) -> NDArray[np.bool_]:
    """bool[states]: can the opponent take the owner's king if the owner passes?"""
    passing = core.engine_scores(states, np.array([core.PASS], dtype=np.int32), 1, 1)
    return np.asarray(passing[:, 0] < -FAR)
