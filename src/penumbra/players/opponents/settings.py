"""Strength and style of the built-in opponents, as settings: each kind has those that mean something to it.

Everything is checked when the settings are made, so that a population read from a file fails before its first game.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from penumbra.players.opponents.openings import OPENINGS


class OpponentSettingsError(ValueError):
    """A setting that is not there or not possible; one line that says which and why."""


@dataclass(frozen=True)
class OpponentSettings:
    """What every kind has."""

    name: str = ""  # the name in the game's record; empty: the kind's own

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            self._check(field.name, getattr(self, field.name))

    def _check(self, key: str, value: Any) -> None:
        if key in WHOLE:
            least = WHOLE[key]
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise OpponentSettingsError(f"{key} = {value!r}: it must be a whole number from {least}")
        elif key in REAL:
            low, high = REAL[key]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not (low <= value <= high and math.isfinite(value)):
                bounds = f"from {low:g}" + ("" if math.isinf(high) else f" to {high:g}")
                raise OpponentSettingsError(f"{key} = {value!r}: it must be a number {bounds}")
        elif key in WORDS:
            if value not in WORDS[key]:
                raise OpponentSettingsError(f"{key} = {value!r}: it is one of {', '.join(WORDS[key])}")
        elif not isinstance(value, str):
            raise OpponentSettingsError(f"{key} = {value!r}: it must be a text")


# What the settings of all kinds may be; a key that is in none of these tables is a text.
WHOLE: dict[str, int] = {
    "depth": 1,
    "nodes": 1,
    "states": 1,
    "cap": 10,
    "boards": 10,
    "candidates": 1,
    "outcomes": 1,
    "playouts": 1,
    "plies": 1,
    "hunt": 1,
    "lines": 0,
}
REAL: dict[str, tuple[float, float]] = {
    "temperature": (0, math.inf),
    "sense_noise": (0, 1),
    "worst": (0, 1),
    "bonus": (0, math.inf),
    "trust": (0, math.inf),
    "pessimism": (0, 1),
    "uncertainty": (0, math.inf),
    "caution": (0, math.inf),
    "seconds": (0, math.inf),
}
WORDS: dict[str, tuple[str, ...]] = {
    "opening": ("none", "random", *OPENINGS),
    "engine": ("native", "stockfish"),
    "sense": ("scores", "outcome"),
    "script": ("random", "queenside-b5", "queenside-e4", "kingside", "mate"),
}


@dataclass(frozen=True)
class EngineSettings(OpponentSettings):
    """Kinds that ask an engine."""

    engine: str = "native"  # or `stockfish`, where it is installed
    depth: int = 1  # plies the native engine looks ahead before it only follows captures
    nodes: int = 2_000  # the engine's nodes for each state, all moves together
    seconds: float = 0.0  # Stockfish's for each state, instead of nodes; 0: nodes. Games then do not repeat
    lines: int = 0  # moves that Stockfish ranks, all others being a little worse than the last; 0: all of them
    temperature: float = 8.0  # of the softmax over scores in hundredths of a pawn; 0: always the best
    sense_noise: float = 0.0  # share of senses made at random
    opening: str = "none"  # a line of `openings`, or `random` for any of them


@dataclass(frozen=True)
class TrackingSettings(EngineSettings):
    """Kinds that track a set of states."""

    states: int = 32  # states whose moves the engine scores, drawn from those tracked
    cap: int = 2_000  # states tracked; past it they are a random draw, and the true one may be lost
