"""What a match came to: points, an interval for them, and games by how they ended."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penumbra.arena.game_loop import FAULTS
from penumbra.dsmcp import Settings

Z = 1.959964  # of a 95 % interval


def wilson(points: float, games: int, z: float = Z) -> tuple[float, float]:
    """Wilson's interval for the share of points; draws count half. All of [0, 1] without games."""
    if games == 0:
        return 0.0, 1.0
    p = points / games
    scale = 1 + z * z / games
    middle = (p + z * z / (2 * games)) / scale
    half = z * math.sqrt(p * (1 - p) / games + z * z / (4 * games * games)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class GameResult:
    """One game of a match. `winner` is "a", "b" or None; colours are the real ones."""

    number: int
    a_is_white: bool
    winner: str | None
    reason: str
    detail: str
    plies: int
    seconds: float
    least_left: tuple[float | None, float | None]  # a's and b's lowest clock reading; None without a clock
    record: bytes
    seed: int
    used: tuple[float, float] = (0.0, 0.0)  # seconds that a and b thought
    recoveries: tuple[str, ...] = ()  # of Penumbra: observations that no state agreed with
    search_faults: tuple[str, ...] = ()  # of Penumbra: searches that failed and were survived
    decisions: tuple[tuple[str, Settings, list[dict[str, Any]]], ...] = ()  # of a side, where they were recorded
    visits: bytes = b""  # of what Penumbra searched, packed
    settled: bool = True  # False: the harness failed, nobody is to blame and nobody scores

    @property
    def points(self) -> float:
        """Of A."""
        return {"a": 1.0, "b": 0.0, None: 0.5}[self.winner]


@dataclass(frozen=True)
class Score:
    """A match so far, seen by A."""

    results: Sequence[GameResult]

    @property
    def settled(self) -> list[GameResult]:
        return [result for result in self.results if result.settled]

    def count(self, winner: str | None) -> int:
        return sum(result.winner == winner for result in self.settled)

    @property
    def points(self) -> float:
        return sum(result.points for result in self.settled)

    @property
    def tally(self) -> tuple[int, int, int]:
        """Wins, draws and losses."""
        return self.count("a"), self.count(None), self.count("b")

    @property
    def rate(self) -> float:
        games = len(self.settled)
        return self.points / games if games else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.points, len(self.settled))

    @property
    def different(self) -> int:
        """How many of the games differ: programs that always play alike repeat them, and a repetition tells nothing."""
        return len({(result.record, result.a_is_white) for result in self.settled})

    def reasons(self, winner: str | None) -> dict[str, int]:
        """How the games that this side won (None: drawn) ended, the most frequent first."""
        return dict(Counter(result.reason for result in self.settled if result.winner == winner).most_common())

    @property
    def faults(self) -> list[GameResult]:
        """Games that a player lost by a fault of its own."""
        return [result for result in self.settled if result.reason in FAULTS]

    @property
    def faultless(self) -> Score:
        """Without those."""
        return Score([result for result in self.results if result.reason not in FAULTS])

    def losses(self, side: str) -> dict[str, int]:
        """A side's losses that are its own doing rather than the game's: on time, and by each fault."""
        other = self.reasons("b" if side == "a" else "a")
        return {reason: other.get(reason, 0) for reason in ("time", *FAULTS)}

    def line(self) -> str:
        """`7.5 of 10, 75 % (45 % to 93 %)`."""
        games = len(self.settled)
        if not games:
            return "no games"
        low, high = self.interval
        return f"{self.points:g} of {games}, {100 * self.rate:.0f} % ({100 * low:.0f} % to {100 * high:.0f} %)"
