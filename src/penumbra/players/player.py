"""What a player is.

Everything is in the player's own view (see `penumbra.rbc.actions`). The calls of one turn are `opponent_moved`,
`choose_sense`, `sensed`, `choose_move`, `moved`; `start` comes first of all. A move that ends the game is not reported
to anybody: the game is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Player(Protocol):
    """One side of a game."""

    @property
    def name(self) -> str:
        """The name that goes into the game's record."""

    def start(self, color: bool, fen: str) -> None:
        """A game starts from a position that both players know."""

    def opponent_moved(self, capture: int | None) -> None:
        """The opponent moved and took our piece on `capture`, or none; also said before the first turn of a game."""

    def choose_sense(self) -> int | None:
        """The square to sense; None to sense nothing."""

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        """What the sense showed, in the order of `sense_window`."""

    def choose_move(self, actions: Sequence[int]) -> int:
        """One of the actions listed, the pass among them."""

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        """What came of the move: move codes, `taken` 0 if it failed, and where it captured."""
