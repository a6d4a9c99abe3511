"""What a server has done when its answer was lost, worked out from the moves that it lists and from what was observed.

A server of reconchess lists the moves of whoever's turn it is on the board, by that player's own pieces alone. So moves
that start from our squares say that our move has not been made, or that the opponent has answered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import chess
from reconchess.utilities import move_actions as listed_moves
from reconchess.utilities import without_opponent_pieces

from penumbra.interop.tables import MOVES
from penumbra.rbc.actions import view, view_code
from penumbra.rbc.observations import Moved, Observation, OpponentMoved
from penumbra.rbc.reconchess_values import moved
from penumbra.rbc.tracker import ImpossibleObservation, Tracker

CAP = 50_000  # states with which a lost result is judged


def own_pieces(fen: str, color: bool, observations: Iterable[Observation]) -> chess.Board:
    """Our pieces alone, with us to move."""
    board = chess.Board(fen)
    board.turn = color
    board = without_opponent_pieces(board)
    for observation in observations:
        match observation:
            case OpponentMoved(capture) if capture is not None:
                board.remove_piece_at(view(capture, color))
            case Moved(_, taken, _) if taken:
                board = _after(board, MOVES[view_code(taken, color)])
    return board


def is_ours(moves: Sequence[chess.Move] | None, boards: Iterable[chess.Board]) -> bool:
    """Whether the moves that the server lists can be those of our pieces on one of the boards."""
    squares = chess.SquareSet()
    for board in boards:
        squares |= board.occupied
    return bool(moves) and all(move is None or move.from_square in squares for move in moves or ())


def outcomes(board: chess.Board, move: chess.Move | None) -> list[tuple[chess.Move | None, chess.Board]]:
    """What a move may have become, and our pieces then."""
    if move is None:
        return [(None, board)]
    shorter = (chess.Move(move.from_square, square) for square in chess.SquareSet.between(*_ends(move)))
    castling = board.is_castling(move)
    taken: list[chess.Move | None] = [move, *(() if castling else shorter), None]
    return [(each, _after(board, each)) for each in taken]


def likely_result(
    fen: str,
    color: bool,
    observations: Sequence[Observation],
    move: chess.Move | None,
    answer: OpponentMoved,
    moves: Sequence[chess.Move],
) -> Moved:
    """What came of our move, given the opponent's answer to it and the moves that are listed for us then.

    The list tells which move was taken; whether it captured is what more of the possible states say.
    """
    board = own_pieces(fen, color, observations)
    best, most = moved(move, move, False, None, color), 0
    for taken, after in outcomes(board, move):
        after = own_pieces_after(after, answer, color)
        if set(listed_moves(after)) != set(moves):
            continue
        for capture in _captures(board, taken):
            result = moved(move, taken, capture is not None, capture, color)
            count = _states(fen, color, [*observations, result, answer])
            if count > most or not most:
                best, most = result, count
    return best


def own_pieces_after(board: chess.Board, answer: OpponentMoved, color: bool) -> chess.Board:
    board = board.copy(stack=False)
    if answer.capture is not None:
        board.remove_piece_at(view(answer.capture, color))
    return board


def _ends(move: chess.Move) -> tuple[int, int]:
    return move.from_square, move.to_square


def _after(board: chess.Board, move: chess.Move | None) -> chess.Board:
    board = board.copy(stack=False)
    if move is not None:
        color = board.turn
        board.push(move)
        board.turn, board.ep_square = color, None
    return board


def _captures(board: chess.Board, taken: chess.Move | None) -> Iterator[int | None]:
    """Where the move may have captured; a pawn that goes straight captures nothing, another always something."""
    if taken is None:
        yield None
        return
    pawn = board.piece_type_at(taken.from_square) == chess.PAWN
    straight = chess.square_file(taken.from_square) == chess.square_file(taken.to_square)
    if not pawn or straight:
        yield None
    if not (pawn and straight):
        yield taken.to_square
    if pawn and not straight:
        yield chess.square(chess.square_file(taken.to_square), chess.square_rank(taken.from_square))


def _states(fen: str, color: bool, observations: Iterable[Observation]) -> int:
    """How many states agree with all of this."""
    tracker = Tracker(color, fen, cap=CAP, memory=0)
    try:
        for observation in observations:
            tracker.observe(observation)
    except (ImpossibleObservation, ValueError):
        return 0
    return len(tracker)
