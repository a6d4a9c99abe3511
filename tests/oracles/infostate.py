"""How both players' sets and memories change when one of them acts, nothing being cut.

Sets are Python sets of world states; the truth is a board, a member of both. Actions are numbers seen by the actor.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import chess
from reconchess.utilities import capture_square_of_move, move_actions

from tests.oracles.state_set import State, board_of, successor, taken_move, taken_moves, takes_king
from tests.oracles.synopsis import Context
from tests.oracles.views import action_of_move, move_of_action, viewer_capture, viewer_square, window_contents


@dataclass(frozen=True)
class Outcome:
    """What an action leads to. `taken` and `capture`, in real squares, are None for a sense.

    `truth` is a member of `actor` and of `other`. `ends` says that the king was taken; every member of both sets then
    lacks it, and otherwise has both kings.
    """

    truth: State
    actor: frozenset[State]
    other: frozenset[State]
    taken: chess.Move | None = None
    capture: chess.Square | None = None
    ends: bool = False


def advance(actor: Iterable[State], other: Iterable[State], truth: State, action: int) -> Outcome:
    """Plays `action` for the side to move of `truth`."""
    actor, other = frozenset(actor), frozenset(other)
    if truth not in actor or truth not in other:
        raise ValueError("the true state must be in both sets")
    if any(state.turn != truth.turn for state in actor | other):
        raise ValueError("all states must have the same side to move")
    return sense(actor, other, truth, action) if action < 64 else move(actor, other, truth, action)


def sense(actor: frozenset[State], other: frozenset[State], truth: State, square: int) -> Outcome:
    """The actor keeps the states that show the same; the other learns nothing."""
    shown = window_contents(board_of(truth), square, truth.turn)
    kept = {state for state in actor if window_contents(board_of(state), square, truth.turn) == shown}
    return Outcome(truth, frozenset(kept), other)


def move(actor: frozenset[State], other: frozenset[State], truth: State, action: int) -> Outcome:
    """The actor keeps the states that answer alike, moved on; the other gets every successor that looks alike to it."""
    board = board_of(truth)
    request = move_of_action(action, truth.turn)
    if request is not None and action not in listed_actions(board):
        raise ValueError(f"action {action} is not listed in {board.fen()}")
    taken = taken_move(board, request)
    capture, ends = capture_square_of_move(board, taken), takes_king(board, taken)
    kept = {
        successor(own, taken)
        for own in map(board_of, actor)
        if taken_move(own, request) == taken
        and capture_square_of_move(own, taken) == capture
        and takes_king(own, taken) == ends
    }
    possible = {
        successor(seen, unseen)
        for seen in map(board_of, other)
        for unseen in taken_moves(seen)
        if capture_square_of_move(seen, unseen) == capture and takes_king(seen, unseen) == ends
    }
    return Outcome(successor(board, taken), frozenset(kept), frozenset(possible), taken, capture, ends)


def listed_actions(board: chess.Board) -> set[int]:
    """The action numbers of the listed moves, promotions to a queen only."""
    moves = (move for move in move_actions(board) if move.promotion in (None, chess.QUEEN))
    return {action_of_move(move, board.turn) for move in moves}


def context_of_mover(
    context: Context, outcome: Outcome, planes: Sequence[int], shares: Sequence[bytes], player: chess.Color
) -> Context:
    """The mover's memory after its move; `planes` and `shares` are its synopsis at that move step, before the move."""
    taken = outcome.taken
    return replace(
        context,
        last_from=None if taken is None else viewer_square(taken.from_square, player),
        last_to=None if taken is None else viewer_square(taken.to_square, player),
        last_own_capture=viewer_capture(outcome.capture, player),
        previous=tuple(planes[18:36]),
        previous_shares=tuple(shares[:7]),
    )


def context_of_other(context: Context, outcome: Outcome, player: chess.Color) -> Context:
    """The memory of `player` after its opponent's move: only the capture is told."""
    return replace(context, last_opposing_capture=viewer_capture(outcome.capture, player))
