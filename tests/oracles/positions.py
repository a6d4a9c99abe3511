"""Random positions and requests for tests, rich in what goes wrong: castling, en passant, promotion, captures."""

import random

import chess
from reconchess.utilities import capture_square_of_move, move_actions

from tests.oracles.state_set import taken_move, takes_king

MATERIAL = (chess.PAWN, chess.PAWN, chess.PAWN, chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)


def random_placement(rng: random.Random) -> chess.Board:
    """A position with both kings, few or many others, rights where king and rook are at home, maybe an ep square."""
    board = chess.Board(None)
    board.turn = rng.random() < 0.5
    for color in chess.COLORS:
        home = 0 if color == chess.WHITE else 56
        if rng.random() < 0.6:
            board.set_piece_at(home + chess.E1, chess.Piece(chess.KING, color))
            for corner in (chess.A1, chess.H1):
                if rng.random() < 0.8:
                    board.set_piece_at(home + corner, chess.Piece(chess.ROOK, color))
                    board.castling_rights |= chess.BB_SQUARES[home + corner] if rng.random() < 0.8 else 0
        else:
            board.set_piece_at(random_empty(board, rng), chess.Piece(chess.KING, color))
    for _ in range(rng.choice((3, 6, 12, 20))):
        kind = rng.choice(MATERIAL)
        square = random_empty(board, rng, pawn=kind == chess.PAWN)
        board.set_piece_at(square, chess.Piece(kind, rng.random() < 0.5))
    board.castling_rights = board.clean_castling_rights()
    steps = [square for square in chess.SQUARES if could_have_stepped_twice(board, square)]
    if steps and rng.random() < 0.7:
        board.ep_square = rng.choice(steps) + (8 if board.turn == chess.WHITE else -8)
    return board


def random_empty(board: chess.Board, rng: random.Random, pawn: bool = False) -> chess.Square:
    squares = range(8, 56) if pawn else chess.SQUARES
    return rng.choice([square for square in squares if board.piece_at(square) is None])


def could_have_stepped_twice(board: chess.Board, square: chess.Square) -> bool:
    """Whether a pawn of the side that just moved stands here and may have come by a double step."""
    back = 8 if board.turn == chess.WHITE else -8
    return (
        board.piece_at(square) == chess.Piece(chess.PAWN, not board.turn)
        and chess.square_rank(square) == (4 if board.turn == chess.WHITE else 3)
        and board.piece_at(square + back) is None
        and board.piece_at(square + 2 * back) is None
    )


def random_walk(rng: random.Random, plies: int) -> chess.Board:
    """The position after random play from the usual start; both kings stand."""
    board = chess.Board()
    for _ in range(plies):
        board.push(taken_move(board, random_request(board, rng)) or chess.Move.null())
    return board.copy(stack=False)


def random_request(board: chess.Board, rng: random.Random) -> chess.Move | None:
    """A request or pass that leaves the king alone; half the time one that captures, castles or promotes."""
    requests: list[chess.Move | None] = [None, *dict.fromkeys(move_actions(board))]
    rng.shuffle(requests)
    peaceful = [request for request in requests if not takes_king(board, taken_move(board, request))]
    eventful = [request for request in peaceful if is_eventful(board, request)]
    return rng.choice(eventful if eventful and rng.random() < 0.5 else peaceful)


def is_eventful(board: chess.Board, request: chess.Move | None) -> bool:
    taken = taken_move(board, request)
    if taken is None:
        return False
    captures = capture_square_of_move(board, taken) is not None
    return captures or taken.promotion is not None or board.is_castling(taken)
