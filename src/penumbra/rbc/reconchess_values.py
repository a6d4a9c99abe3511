"""Observations from what reconchess tells its players: real squares, moves and pieces of python-chess.

Only the shape of these values matters: nothing of reconchess or python-chess is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penumbra.rbc.actions import sense_window, square_name, view, view_code
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed


class Piece(Protocol):
    """As `chess.Piece`."""

    piece_type: int
    color: bool


class Move(Protocol):
    """As `chess.Move`."""

    from_square: int
    to_square: int
    promotion: int | None


def opponent_moved(captured_my_piece: bool, capture_square: int | None, viewer: bool) -> OpponentMoved:
    """As `handle_opponent_move_result` is told."""
    return OpponentMoved(_seen(capture_square, viewer) if captured_my_piece else None)


def sensed(sense_result: Sequence[tuple[int, Piece | None]], viewer: bool) -> Sensed:
    """As `handle_sense_result` is told; the squares shown say which one was sensed."""
    if not sense_result:
        return Sensed(None, ())
    shown = {view(square, viewer): piece for square, piece in sense_result}
    ranks, files = sorted({square // 8 for square in shown}), sorted({square % 8 for square in shown})
    square = 8 * _middle(ranks) + _middle(files)
    window = sense_window(square, viewer)
    if set(window) != set(shown):
        squares = ", ".join(square_name(real) for real, _ in sense_result)
        raise ValueError(f"no sense shows just these squares: {squares}")
    return Sensed(square, tuple(contents_of([shown[s] for s in window], viewer)))


def moved(
    requested: Move | None, taken: Move | None, captured_piece: bool, capture_square: int | None, viewer: bool
) -> Moved:
    """As `handle_move_result` is told."""
    asked, happened = (view_code(move_to_code(move), viewer) for move in (requested, taken))
    return Moved(asked, happened, _seen(capture_square, viewer) if captured_piece else None)


def contents_of(pieces: Sequence[Piece | None], viewer: bool) -> list[int]:
    """Sensed pieces as contents: 0 empty, 1..6 the viewer's own P N B R Q K, 7..12 the opponent's."""
    return [0 if p is None else p.piece_type + (0 if p.color == viewer else 6) for p in pieces]


def move_to_code(move: Move | None) -> int:
    """The code of a move in real squares; 0 for None."""
    if move is None:
        return 0
    return move.from_square | move.to_square << 6 | (move.promotion or 0) << 12


def _seen(square: int | None, viewer: bool) -> int | None:
    return None if square is None else view(square, viewer)


def _middle(lines: Sequence[int]) -> int:
    """Of three ranks or files the second; of two at the edge of the board the outermost."""
    return lines[1] if len(lines) == 3 else 0 if lines[0] == 0 else lines[-1]
