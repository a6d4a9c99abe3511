"""Squares, pieces, moves and actions as the native core numbers them, made from python-chess's.

*Viewer squares* are real squares for White and mirrored rank by rank for Black, so that the viewer's own pieces start
on ranks 1 and 2. Contents of a square: 0 empty, 1..6 own P N B R Q K, 7..12 opposing P N B R Q K. Move codes: from |
to << 6 | promotion << 12 in viewer squares, 0 for the pass and for a move that failed. Actions: senses 0..63, moves
64 + 64 from + to with promotion to a queen, pass 4160.
"""

import chess

PASS = 4160


def viewer_square(square: chess.Square, viewer: chess.Color) -> int:
    """The viewer's number of a real square. Its own inverse."""
    return square if viewer == chess.WHITE else chess.square_mirror(square)


def viewer_capture(square: chess.Square | None, viewer: chess.Color) -> int | None:
    return None if square is None else viewer_square(square, viewer)


def viewer_board(board: chess.Board, viewer: chess.Color) -> chess.Board:
    """The board with the viewer's pieces White and moving up; a copy without a move stack."""
    return board.copy(stack=False) if viewer == chess.WHITE else board.mirror()


def move_code(move: chess.Move | None, viewer: chess.Color) -> int:
    if move is None:
        return 0
    start, end = viewer_square(move.from_square, viewer), viewer_square(move.to_square, viewer)
    return start | end << 6 | (move.promotion or 0) << 12


def action_of_move(move: chess.Move | None, mover: chess.Color) -> int:
    """The action number of a requested move; promotions to anything but a queen have none."""
    if move is None:
        return PASS
    if move.promotion not in (None, chess.QUEEN):
        raise ValueError(f"{move.uci()} has no action number: only promotions to a queen have one")
    return 64 + 64 * viewer_square(move.from_square, mover) + viewer_square(move.to_square, mover)


def move_of_action(action: int, mover: chess.Color) -> chess.Move | None:
    """The requested move of an action number, without promotion, as reconchess accepts it."""
    if action == PASS:
        return None
    if not 64 <= action < PASS:
        raise ValueError(f"action {action} is not a move")
    start, end = divmod(action - 64, 64)
    return chess.Move(viewer_square(start, mover), viewer_square(end, mover))


def content(piece: chess.Piece | None, viewer: chess.Color) -> int:
    if piece is None:
        return 0
    return piece.piece_type if piece.color == viewer else piece.piece_type + 6


def window(square: chess.Square) -> list[chess.Square]:
    """The real squares a sense shows, in reconchess' order: rank above to rank below, each from the left."""
    rank, file = chess.square_rank(square), chess.square_file(square)
    cells = [(file + right, rank + up) for up in (1, 0, -1) for right in (-1, 0, 1)]
    return [chess.square(f, r) for f, r in cells if 0 <= f <= 7 and 0 <= r <= 7]


def window_contents(board: chess.Board, square: int, viewer: chess.Color) -> list[int]:
    """What `viewer` sees on `board` by sensing at the viewer square `square`, in reconchess' order."""
    return [content(board.piece_at(seen), viewer) for seen in window(viewer_square(square, viewer))]
