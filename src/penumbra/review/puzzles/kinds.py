"""The kinds of puzzles: whether a set of states makes one, its solutions, and why they are right.

Each kind weighs every answer by the number of states in which it does what is asked for. A set makes a puzzle if the
best answers work in all states (or, of senses, in clearly more than any other) and are few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penumbra.core import MOVE, SENSE, StateSet
from penumbra.rbc.actions import SQUARE_NAMES, action_to_code, code_to_uci, mirror_code, view
from penumbra.rbc.sense_partitions import boards
from penumbra.review import counting
from penumbra.review.counting import KING, QUEEN, Flags
from penumbra.review.puzzles.puzzle import Kind
from penumbra.review.words import count, move_words, several

MOST_STATES = 300
MOST_SOLUTIONS = 4
MARGIN = 0.15  # of the states: how much better the best senses are than any other
WORTHWHILE = 0.6  # of the states: in fewer, a sense does not tell
MOST_SENSES = 16  # that show enough for the move that takes the king
WIN_MARGIN = 0.05  # of the states: how much more often such a sense wins than any other, and than none
WORTH_WINNING = 0.4  # of the states: in fewer, a sense and a move do not win
THREATENED = 0.3  # of the states: in fewer, a king is not said to be in danger


@dataclass(frozen=True)
class Found:
    """What a set asks, in the view of its owner: senses as squares, moves as actions."""

    kind: Kind
    solutions: list[int]
    difficulty: float
    reason: str


def find(states: StateSet, step: int) -> list[Found]:
    """The puzzles of a complete set before a step of its owner."""
    if not 2 <= len(states) <= MOST_STATES:
        return []
    if step == MOVE:
        tried = [_take(states), _save(states)]
    elif step == SENSE:
        tried = [_sense_and_move(states), _locate(states, "queen", QUEEN), _locate(states, "king", KING)]
    return [found for found in tried if found is not None]


def difficulty(states: int, tempting: int, solutions: int) -> float:
    """Bits: half the log₂ of the states, and the log₂ of how many answers work in some state for each that is right."""
    return round(math.log2(states) / 2 + math.log2(max(tempting, solutions) / solutions), 2)


def names(found: Found, owner: bool) -> list[str]:
    """The solutions as they are written: squares or moves of the real board."""
    if found.kind in ("take", "save"):
        return [move_name(action, owner) for action in found.solutions]
    return [SQUARE_NAMES[view(square, owner)] for square in found.solutions]


def move_name(action: int, owner: bool) -> str:
    """The UCI word on the real board of a request in its owner's view, `pass` included."""
    code = action_to_code(action)
    return code_to_uci(code if owner else mirror_code(code))


# -- by a move


def _take(states: StateSet) -> Found | None:
    moves = counting.listed_moves(states)
    takes = counting.takes_king(states, moves)
    in_states = takes.sum(axis=0)
    solutions = moves[in_states == len(states)].tolist()
    if not 1 <= len(solutions) <= MOST_SOLUTIONS:
        return None
    where = _king_squares(states)
    reason = f"{_all(solutions, states)} the king in {_every(len(states))}: {where}."
    second = max((int(n) for n in in_states if n < len(states)), default=0)
    if second:
        reason += f" The next best move takes it in {second} of {len(states)}."
    return Found("take", solutions, difficulty(len(states), int((in_states > 0).sum()), len(solutions)), reason)


def _save(states: StateSet) -> Found | None:
    moves = counting.listed_moves(states)
    lost = counting.loses_king(states, moves).sum(axis=0)
    passed = int(lost[-1])
    if passed < THREATENED * len(states) or counting.takes_king(states, moves).all(axis=0).any():
        return None
    solutions = moves[lost == 0].tolist()
    if not 1 <= len(solutions) <= MOST_SOLUTIONS:
        return None
    fewest = min((int(n) for n in lost if n), default=0)
    reason = (
        f"After a pass the king can be taken in {passed} of {count(len(states), 'state')}. "
        f"{_names(solutions, states)} {'leaves' if len(solutions) == 1 else 'leave'} it to be taken in none; "
        f"the next best move in {fewest}."
    )
    tempting = int((lost < passed).sum())
    return Found("save", solutions, difficulty(len(states), tempting, len(solutions)), reason)


# -- by a sense


def _sense_and_move(states: StateSet) -> Found | None:
    moves = counting.listed_moves(states)
    takes = counting.takes_king(states, moves)
    blind, most = int(takes.sum(axis=0).max()), len(states)
    if takes.any(axis=1).sum() < max(WORTH_WINNING * most, blind + WIN_MARGIN * most):
        return None
    groups = counting.all_groups(states)
    wins = [counting.best_moves(takes, parted) for parted in groups]
    solutions, best, second = counting.best_of(wins)
    if len(solutions) > MOST_SENSES or best < WORTH_WINNING * most or best < max(blind, second) + WIN_MARGIN * most:
        return None
    reason = (
        f"After a sense at {_squares(solutions, states.owner)} the best move takes the king in {_of(best, most)}, "
        f"chosen by what was seen; after the next best sense it does in {second}, and without a sense in {blind}."
    )
    return Found("sense", solutions, difficulty(most, sum(n > blind for n in wins), len(solutions)), reason)


def _locate(states: StateSet, kind: Kind, piece: int) -> Found | None:
    contents, most = boards(states), len(states)
    where = counting.places(contents, piece)
    known = counting.told(where, np.zeros(most, np.int64))
    if known or (contents == piece).sum(axis=1).max() > 1 or not (contents == piece).any(axis=1).all():
        return None
    tells = [counting.told(where, counting.groups_of(contents, square)) for square in range(64)]
    solutions, best, second = counting.best_of(tells)
    if not _clear(solutions, best, second, most):
        return None
    places = int(where.max()) + 1
    reason = (
        f"The {kind} can stand on {count(places, 'square')}. After a sense at {_squares(solutions, states.owner)} its "
        f"square is certain in {_of(best, most)}; after the next best sense in {second}."
    )
    return Found(kind, solutions, difficulty(most, sum(n > 0 for n in tells), len(solutions)), reason)


def _clear(solutions: list[int], best: int, second: int, most: int) -> bool:
    """Whether the best senses are few, worth it, and better than all others by the margin."""
    return len(solutions) <= MOST_SOLUTIONS and best >= WORTHWHILE * most and second <= best - MARGIN * most


# -- words


def _every(n: int) -> str:
    return "both states" if n == 2 else f"all {n} states"


def _of(n: int, most: int) -> str:
    return _every(n) if n == most else f"{n} of {most} states"


def _squares(squares: Sequence[int], owner: bool) -> str:
    return several([SQUARE_NAMES[view(square, owner)] for square in squares], "or")


def _names(actions: Sequence[int], states: StateSet) -> str:
    fen = states.fen(0)
    return several([move_words(fen, move_name(action, states.owner)) for action in actions], "and")


def _all(actions: Sequence[int], states: StateSet) -> str:
    return f"{_names(actions, states)} {'takes' if len(actions) == 1 else 'take'}"


def _king_squares(states: StateSet) -> str:
    """Where the king stands, most likely first."""
    contents: Flags = boards(states) == KING
    on = contents.sum(axis=0)
    squares = [int(square) for square in np.argsort(-on, kind="stable") if on[square]]
    if len(squares) == 1:
        return f"it stands on {SQUARE_NAMES[view(squares[0], states.owner)]}"
    return "it stands on " + several(
        [f"{SQUARE_NAMES[view(square, states.owner)]} in {on[square]}" for square in squares], "and"
    )
