"""What a player is told, as values: one for each of the three things that can happen to its knowledge.

All squares and move codes are in the player's own view (see `penumbra.rbc.actions`).
"""

from __future__ import annotations

from typing import NamedTuple

from penumbra.rbc.actions import code_to_uci, square_name


class OpponentMoved(NamedTuple):
    """The opponent moved, and captured on `capture`, or captured nothing."""

    capture: int | None

    def __str__(self) -> str:
        return "the opponent moved" + _capture_phrase(self.capture)


class Sensed(NamedTuple):
    """The sense of `square` showed `contents` (0 empty, 1..6 own P N B R Q K, 7..12 opposing), in the sense's order.

    `square` None is a sense not taken; it shows nothing.
    """

    square: int | None
    contents: tuple[int, ...]

    def __str__(self) -> str:
        if self.square is None:
            return "no sense"
        return f"sense {square_name(self.square)} showed {''.join('.PNBRQKpnbrqk'[c] for c in self.contents)}"


class Moved(NamedTuple):
    """The move asked for, the move that happened (0 for none), where it captured and whether that was the king."""

    requested: int
    taken: int
    capture: int | None
    ended: bool = False

    def __str__(self) -> str:
        end = " and ended the game" if self.ended else ""
        return f"{code_to_uci(self.requested)} became {code_to_uci(self.taken)}" + _capture_phrase(self.capture) + end


Observation = OpponentMoved | Sensed | Moved


def _capture_phrase(capture: int | None) -> str:
    return "" if capture is None else f" and captured on {square_name(capture)}"
