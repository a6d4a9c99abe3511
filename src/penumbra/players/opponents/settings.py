"""Strength and style of the built-in opponents, as settings: each kind has those that mean something to it.

Everything is checked when the settings are made, so that a population read from a file fails before its first game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from penumbra.configs.reader import Count, Natural, NotNegative, OneOf, Share, at_least, check
from penumbra.players.opponents.openings import OPENINGS

Size = Annotated[int, at_least(10)]  # of a set of states
Opening = Annotated[str, OneOf(("none", "random", *OPENINGS))]


@dataclass(frozen=True)
class OpponentSettings:
    """What every kind has."""

    name: str = ""  # the name in the game's record; empty: the kind's own

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class EngineSettings(OpponentSettings):
    """Kinds that ask an engine."""

    engine: Literal["native", "stockfish"] = "native"  # Stockfish where it is installed
    depth: Count = 1  # plies the native engine looks ahead before it only follows captures
    nodes: Count = 2_000  # the engine's nodes for each state, all moves together
    seconds: NotNegative = 0.0  # Stockfish's for each state, instead of nodes; 0: nodes. Games then do not repeat
    lines: Natural = 0  # moves that Stockfish ranks, all others being a little worse than the last; 0: all of them
    temperature: NotNegative = 8.0  # of the softmax over scores in hundredths of a pawn; 0: always the best
    sense_noise: Share = 0.0  # share of senses made at random
    opening: Opening = "none"  # a line of `openings`, or `random` for any of them


@dataclass(frozen=True)
class TrackingSettings(EngineSettings):
    """Kinds that track a set of states."""

    states: Count = 32  # states whose moves the engine scores, drawn from those tracked
    cap: Size = 2_000  # states tracked; past it they are a random draw, and the true one may be lost
