"""Static analysis by brute force over small sets of boards that one player, to act, cannot tell apart.

Senses and requests are action numbers of that player, so squares are its viewer squares.
"""

from collections import defaultdict
from collections.abc import Sequence

import chess
from reconchess.utilities import move_actions

from tests.oracles.state_set import taken_move, takes_king
from tests.oracles.views import action_of_move, move_of_action, window_contents

Partition = frozenset[frozenset[int]]  # of the indices of the boards


def partition(boards: Sequence[chess.Board], player: chess.Color, sense: int) -> Partition:
    """The boards by what a sense shows of them."""
    blocks: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for index, board in enumerate(boards):
        blocks[tuple(window_contents(board, sense, player))].add(index)
    return frozenset(map(frozenset, blocks.values()))


def refines(fine: Partition, coarse: Partition) -> bool:
    return all(any(block <= other for other in coarse) for block in fine)


def undominated_senses(boards: Sequence[chess.Board], player: chess.Color) -> set[int]:
    """The senses that stay: no other tells strictly more, none of lower number tells the same. Never empty."""
    told = [partition(boards, player, sense) for sense in chess.SQUARES]
    return {
        sense
        for sense in chess.SQUARES
        if told[sense] not in told[:sense]
        and not any(refines(other, told[sense]) and other != told[sense] for other in told)
    }


def sure_king_captures(boards: Sequence[chess.Board], player: chess.Color) -> set[int]:
    """The requests that take the king in every state: a slide stopped early takes whatever it meets first."""
    if any(board.turn != player for board in boards):
        raise ValueError("a king can only be taken by the player to act")
    moves = {move for move in move_actions(boards[0]) if move.promotion in (None, chess.QUEEN)}
    requests = {action_of_move(move, player) for move in moves}
    return {request for request in requests if all(takes_king_by(board, request) for board in boards)}


def takes_king_by(board: chess.Board, request: int) -> bool:
    return takes_king(board, taken_move(board, move_of_action(request, board.turn)))


def winning_senses(boards: Sequence[chess.Board], player: chess.Color) -> set[int]:
    """The senses after which a sure king capture exists, whatever they show."""
    return {
        sense
        for sense in chess.SQUARES
        if all(
            sure_king_captures([boards[index] for index in block], player) for block in partition(boards, player, sense)
        )
    }
