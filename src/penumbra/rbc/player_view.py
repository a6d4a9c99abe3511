"""What one side of a game is told: the only place where the true game becomes something that a player may see.

A `PlayerView` stands between the game and one side. It gets the observations of that side, which are exactly what the
rules tell it, and keeps them twice: as they are, for bots and trackers, and as events in real squares, for the page.
The side's own pieces are part of its events: it always knows them.
"""

from __future__ import annotations

from typing import Any, Literal

from penumbra.core import Game
from penumbra.rbc.actions import SQUARE_NAMES, code_to_uci, mirror_code, sense_window, uci_to_code, view, view_code
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed

Event = dict[str, Any]

PROTOCOL = 1  # of what pages are told; counts up when an older page could no longer follow

ColorName = Literal["white", "black"]
COLORS: dict[ColorName, bool] = {"white": True, "black": False}


def color_name(color: bool) -> ColorName:
    return "white" if color else "black"


_LETTERS = "PNBRQK"


class PlayerView:
    """One side of one game, `color` True for White."""

    def __init__(self, color: bool, fen: str) -> None:
        self.color = color
        self.observations: list[Observation] = []
        self.events: list[Event] = []
        self._own = own_pieces(fen, color)

    @property
    def pieces(self) -> dict[str, str]:
        """The side's own pieces by square, as it knows them."""
        return self._own

    def observe(self, observation: Observation, game: Game) -> None:
        """This side is told something; `game` is the true one after it."""
        self.observations.append(observation)
        match observation:
            case OpponentMoved(capture):
                square = None if capture is None else self._name(capture)
                lost = None if square is None else self._own[square]
                self._own = own_pieces(game.fen(), self.color)
                self._add("turn", 2 * game.plies, capture=square, lost=lost)
            case Sensed(square, contents):
                window: tuple[int, ...] = () if square is None else sense_window(square, self.color)
                seen = {self._name(at): self._letter(content) for at, content in zip(window, contents, strict=True)}
                self._add("sensed", 2 * game.plies, square=None if square is None else self._name(square), seen=seen)
            case Moved(requested, taken, capture):
                self._own = own_pieces(game.fen(), self.color)
                self._add(
                    "moved",
                    2 * game.plies - 1,  # the game counts the move already
                    requested=self._word(requested),
                    taken=self._word(taken),
                    capture=None if capture is None else self._name(capture),
                )

    def _add(self, kind: str, step: int, **facts: Any) -> None:
        self.events.append({"type": kind, "step": step, **facts, "own": self._own})

    def _name(self, square: int) -> str:
        return SQUARE_NAMES[view(square, self.color)]

    def _word(self, code: int) -> str | None:
        return code_to_uci(view_code(code, self.color)) if code else None

    def _letter(self, content: int) -> str | None:
        """A piece as in a FEN; None for an empty square."""
        if content == 0:
            return None
        letter = _LETTERS[(content - 1) % 6]
        return letter if (content <= 6) == self.color else letter.lower()


def own_pieces(fen: str, color: bool) -> dict[str, str]:
    """The pieces of one colour in a position, by square."""
    pieces = pieces_of(fen)
    return {square: letter for square, letter in pieces.items() if letter.isupper() == color}


def pieces_of(fen: str) -> dict[str, str]:
    """All pieces of a position, by square."""
    pieces = {}
    for row, text in enumerate(fen.partition(" ")[0].split("/")):
        file = 0
        for letter in text:
            if letter.isdigit():
                file += int(letter)
            else:
                pieces[SQUARE_NAMES[(7 - row) * 8 + file]] = letter
                file += 1
    return pieces


def listed_moves(game: Game) -> list[str]:
    """The moves that the player to act may ask for, which its own pieces alone decide; the pass is always one more."""
    return [code_to_uci(code) for code in game.absolute_requests() if code]


def request_code(word: str | None, color: bool) -> int:
    """The code, in the view of `color`, of a move in real squares; None passes."""
    code = 0 if word is None else uci_to_code(word)
    return code if color else mirror_code(code)
