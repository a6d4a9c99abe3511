"""The planes of raw knowledge, slowly: from what reconchess tells a player, kept square by square."""

from __future__ import annotations

import chess
import numpy as np
from numpy.typing import NDArray

from tests.oracles.views import viewer_square

UNKNOWN, NOBODY = 12, 13  # planes, beside 6 to 11 for the opposing kinds


class KnowledgeOracle:
    """What a player knows of a game from the start, without reasoning."""

    def __init__(self, color: chess.Color) -> None:
        self.color = color
        self.turn = 0
        self.opposing = 16
        self.seen: dict[chess.Square, tuple[int, int]] = {}  # plane and turn
        for square in chess.SQUARES:
            self._see(square, chess.Board().piece_at(square))
        self.last_from: chess.Square | None = None
        self.last_to: chess.Square | None = None
        self.last_capture: chess.Square | None = None
        self.opposing_capture: chess.Square | None = None

    def turn_begins(self, own: chess.SquareSet, capture: chess.Square | None) -> None:
        self.turn += 1
        self.opposing_capture = capture
        for square in own:
            self.seen[square] = (NOBODY, self.turn)
        if capture is not None:
            self.seen[capture] = (UNKNOWN, self.turn)

    def sensed(self, shown: list[tuple[chess.Square, chess.Piece | None]]) -> None:
        for square, piece in shown:
            self._see(square, piece)

    def moved(self, taken: chess.Move | None, capture: chess.Square | None) -> None:
        self.last_from = taken.from_square if taken else None
        self.last_to = taken.to_square if taken else None
        self.last_capture = capture
        if taken:
            self.seen[taken.to_square] = (NOBODY, self.turn)
        if capture is not None:
            self.seen[capture] = (NOBODY, self.turn)
            self.opposing -= 1

    def planes(self, board: chess.Board, at_move: bool) -> NDArray[np.uint8]:
        """uint8[24, 8, 8]; of the board, only the player's own pieces and rights are looked at."""
        planes = np.zeros((24, 64), np.uint8)
        for square in chess.SQUARES:
            at = viewer_square(square, self.color)
            piece = board.piece_at(square)
            if piece and piece.color == self.color:
                planes[piece.piece_type - 1, at] = 255
            plane, turn = self.seen[square]
            planes[plane, at] = 255
            planes[14, at] = self.turn - turn
        for plane, marked in enumerate((self.last_from, self.last_to, self.last_capture, self.opposing_capture), 15):
            if marked is not None:
                planes[plane, viewer_square(marked, self.color)] = 255
        planes[19] = 15 * self.opposing
        for square in chess.SquareSet(board.clean_castling_rights() & board.occupied_co[self.color]):
            planes[20, viewer_square(square, self.color)] = 255
        planes[21] = 255 * at_move
        planes[22] = self.turn
        planes[23] = 255 * self.color
        return planes.reshape(24, 8, 8)

    def _see(self, square: chess.Square, piece: chess.Piece | None) -> None:
        theirs = piece is not None and piece.color != self.color
        self.seen[square] = (5 + piece.piece_type if piece is not None and theirs else NOBODY, self.turn)
