"""python-chess objects made once and looked up by number: moves by their code, pieces and sensed squares by contents.

The objects are shared by all who are given them, so nobody may change them. Squares are real squares here, and contents
are 0 empty, 1..6 White's P N B R Q K, 7..12 Black's.
"""

from __future__ import annotations

from typing import Final

import chess

from penumbra.rbc.actions import sense_window

SensedSquare = tuple[int, chess.Piece | None]

PIECES: Final[tuple[chess.Piece | None, ...]] = (
    None,
    *(chess.Piece(kind, color) for color in (chess.WHITE, chess.BLACK) for kind in chess.PIECE_TYPES),
)

# [square][content] -> (square, piece)
_SENSED: Final[list[tuple[SensedSquare, ...]]] = [tuple((s, piece) for piece in PIECES) for s in chess.SQUARES]

# [sensed square] -> for each square of its window, in reconchess' order, the pairs by content
SENSE_ROWS: Final[dict[int, tuple[tuple[SensedSquare, ...], ...]]] = {
    s: tuple(_SENSED[shown] for shown in sense_window(s, True)) for s in chess.SQUARES
}


def _all_moves() -> dict[int, chess.Move | None]:
    """Every move some piece could make on an empty board, and every promotion; the pass, code 0, is None."""
    moves: dict[int, chess.Move | None] = {0: None}
    for start in chess.SQUARES:
        targets = chess.BB_KNIGHT_ATTACKS[start] | chess.BB_RANK_ATTACKS[start][0]
        targets |= chess.BB_FILE_ATTACKS[start][0] | chess.BB_DIAG_ATTACKS[start][0]
        for end in chess.scan_forward(targets):
            kinds: list[int | None] = [None]
            far = {chess.square_rank(start), chess.square_rank(end)} in ({6, 7}, {1, 0})
            if far and abs(chess.square_file(start) - chess.square_file(end)) <= 1:
                kinds += [chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN]
            for kind in kinds:
                moves[start | end << 6 | (kind or 0) << 12] = chess.Move(start, end, kind)
    return moves


MOVES: Final = _all_moves()


def code_to_move(code: int) -> chess.Move | None:
    """The move of a code in real squares; None for 0."""
    return MOVES[code]
