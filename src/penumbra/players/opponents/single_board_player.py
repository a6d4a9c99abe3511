"""What the opponents with a single board share: it is what they believe, mended by whatever they are told.

The board is 64 contents in the player's own view (0 empty, 1..6 own P N B R Q K, 7..12 opposing). Own pieces on it are
always right. Opposing ones are as last seen, but there is always exactly one king: where it cannot be, it is put on a
free square nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from penumbra.core import StateSet
from penumbra.players.opponents.engine import Engine, requests
from penumbra.players.opponents.engine_player import EnginePlayer
from penumbra.players.opponents.settings import EngineSettings
from penumbra.players.penumbra.recovery import read_board, write_fen
from penumbra.rbc.actions import code_parts, is_move, move_squares, sense_window

KING, THEIR_PAWN, THEIR_KING = 6, 7, 12
_CORNERS = {0: "Q", 7: "K"}  # own rooks' squares and the right that goes with them

S = TypeVar("S", bound=EngineSettings)


class OneBoardPlayer(EnginePlayer[S]):
    def __init__(self, seed: int, settings: S, engine: Engine | None = None) -> None:
        super().__init__(seed, settings, engine)
        self.board: list[int] = []
        self.captured_at: int | None = None  # where the opponent's last move took one of our pieces
        self.rights = ""

    def begin(self, fen: str) -> None:
        self.board = read_board(fen, self.color)
        self.rights = fen.split()[2]
        self.captured_at = None

    def learn_opponent_moved(self, capture: int | None) -> None:
        self.captured_at = capture
        if capture is not None:
            self.board[capture] = 0
            self._lose_right(capture)

    def learn_sensed(self, square: int, contents: Sequence[int]) -> None:
        window = sense_window(square, self.color)
        seen = dict(zip(window, contents, strict=True))
        if THEIR_KING in contents:
            self.board[self.board.index(THEIR_KING)] = 0
        for at, content in seen.items():
            self.board[at] = content
        if THEIR_KING not in self.board:
            self._place_king(window, near=square)

    def learn_moved(self, requested: int, taken: int, capture: int | None) -> None:
        if capture is not None:
            self.board[capture] = 0
        if taken:
            start, end, promotion = code_parts(taken)
            piece = self.board[start]
            self.board[start], self.board[end] = 0, promotion or piece
            self._lose_right(start)
            if piece == KING:
                self._lose_right(0)
                self._lose_right(7)
                if abs(start - end) == 2:
                    rook = (start & ~7) + (7 if end > start else 0)
                    self.board[rook], self.board[(start + end) // 2] = 0, 4
        if THEIR_KING not in self.board:
            self._place_king((capture,) if capture is not None else (), near=capture or 60)

    def fen(self, our_turn: bool = True) -> str:
        """What is believed."""
        return write_fen(self.board, self.rights, self.color == our_turn, self.color)

    def state(self) -> StateSet:
        """The same as a set of one, to ask the engine about."""
        return StateSet(self.fen(), self.color)

    def pick_sense(self) -> int:
        """Where a piece was lost, else where one is expected to be taken, else anywhere but on own pieces."""
        if self.captured_at is not None:
            return self.captured_at
        plan = self.pick_move(requests(self.state()))
        if is_move(plan) and self.board[move_squares(plan)[1]]:
            return move_squares(plan)[1]
        return self.any_unowned()

    def any_unowned(self) -> int:
        return int(self.rng.choice([s for s in range(64) if not 1 <= self.board[s] <= 6]))

    def _lose_right(self, square: int) -> None:
        if square in _CORNERS:
            right = _CORNERS[square]
            self.rights = self.rights.replace(right if self.color else right.lower(), "")

    def _place_king(self, known: Sequence[int], near: int) -> None:
        """The opposing king is none of these squares: a free one, as near as can be."""
        free = [s for s in range(64) if self.board[s] == 0 and s not in known]
        free = free or [s for s in range(64) if not 1 <= self.board[s] <= 6]

        def distance(s: int) -> int:
            return max(abs(s // 8 - near // 8), abs(s % 8 - near % 8))

        nearest = min(map(distance, free))
        self.board[int(self.rng.choice([s for s in free if distance(s) == nearest]))] = THEIR_KING
