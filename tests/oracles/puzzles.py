"""Puzzles solved by python-chess and reconchess alone: every answer tried on every board of the set.

Answers are words of the real board: squares for senses, moves as UCI without promotion, `pass`.
"""

from collections.abc import Sequence

import chess
from reconchess.utilities import move_actions

from tests.oracles.state_set import taken_move, taken_moves, takes_king
from tests.oracles.static_analysis import Partition, partition, takes_king_by
from tests.oracles.views import action_of_move

Counts = dict[str, int]  # in how many states each answer does what was asked for


def answers(kind: str, boards: Sequence[chess.Board], player: chess.Color) -> Counts:
    """Of each answer, the states in which it works."""
    if kind == "take":
        return {word: sum(takes(board, move) for board in boards) for word, move in requests(boards[0]).items()}
    if kind == "save":
        return {word: sum(saves(board, move) for board in boards) for word, move in requests(boards[0]).items()}
    parted = {chess.square_name(square): partition_by(boards, player, square) for square in chess.SQUARES}
    if kind == "sense":
        return {square: best_moves(boards, blocks) for square, blocks in parted.items()}
    piece = {"queen": chess.QUEEN, "king": chess.KING}[kind]
    return {square: located(boards, blocks, piece, not player) for square, blocks in parted.items()}


def best(counts: Counts) -> tuple[set[str], int, int]:
    """The best answers, in how many states they work, and in how many the next best does (-1: all are the best)."""
    most = max(counts.values())
    second = max((n for n in counts.values() if n < most), default=-1)
    return {word for word, n in counts.items() if n == most}, most, second


def requests(board: chess.Board) -> dict[str, chess.Move | None]:
    moves = {move.uci()[:4]: chess.Move(move.from_square, move.to_square) for move in move_actions(board)}
    return {**moves, "pass": None}


def takes(board: chess.Board, move: chess.Move | None) -> bool:
    return takes_king_by(board, action_of_move(move, board.turn))


def saves(board: chess.Board, move: chess.Move | None) -> bool:
    """Whether the opponent cannot take the king right after the move."""
    taken = taken_move(board, move)
    if takes_king(board, taken):
        return True
    after = board.copy(stack=False)
    after.push(taken if taken is not None else chess.Move.null())
    return not any(takes_king(after, answer) for answer in taken_moves(after))


def partition_by(boards: Sequence[chess.Board], player: chess.Color, square: chess.Square) -> Partition:
    """By a sense of a real square."""
    return partition(boards, player, square if player == chess.WHITE else chess.square_mirror(square))


def best_moves(boards: Sequence[chess.Board], blocks: Partition) -> int:
    """In how many states the king is taken if the best request of each block is made."""
    words = requests(boards[0])
    return sum(max(sum(takes(boards[i], move) for i in block) for move in words.values()) for block in blocks)


def located(boards: Sequence[chess.Board], blocks: Partition, piece: chess.PieceType, color: chess.Color) -> int:
    """In how many states a block leaves one place for the piece."""
    alone = [block for block in blocks if len({boards[i].pieces_mask(piece, color) for i in block}) == 1]
    return sum(len(block) for block in alone)
