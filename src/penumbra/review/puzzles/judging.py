"""An answer to a puzzle judged: right or wrong, and in how many states it does what was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penumbra.core import StateSet
from penumbra.rbc.actions import (
    SQUARE_NAMES,
    code_to_action,
    parse_square,
    sense_window,
    uci_to_code,
    view,
    view_code,
)
from penumbra.rbc.marginals import Shares, opposing_pieces
from penumbra.rbc.player_view import pieces_of
from penumbra.rbc.sense_partitions import boards
from penumbra.review import counting
from penumbra.review.puzzles.kinds import move_name
from penumbra.review.puzzles.puzzle import SENSES, Puzzle
from penumbra.review.words import count, move_words


class NoAnswer(ValueError):
    """What cannot be an answer to this puzzle, such as a move that is not listed."""


@dataclass(frozen=True)
class Shown:
    """What the sense of a puzzle showed, and what is left possible."""

    seen: dict[str, str | None]
    states: list[str]
    pieces: Shares


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right and why. `shown` is set while a move is still to be found after a right sense."""

    right: bool
    reason: str
    shown: Shown | None = None
    solutions: list[str] = field(default_factory=list)


def judge(puzzle: Puzzle, square: str | None, move: str | None) -> Verdict:
    """The answer to a puzzle: a square to sense, a move (`pass` among them), or the one and then the other.

    `NoAnswer` where it is none. The solutions come with the last word only.
    """
    if puzzle.kind not in SENSES:
        if move is None or square is not None:
            raise NoAnswer("this puzzle asks for a move alone")
        return _judge_move(puzzle, move)
    if square is None or (move is not None and puzzle.kind != "sense"):
        raise NoAnswer("this puzzle asks for a sense" + (" first" if puzzle.kind == "sense" else " alone"))
    if move is None or square not in puzzle.solutions:
        return _judge_sense(puzzle, square)
    return _judge_move_after(puzzle, square, move)


def listed(states: StateSet) -> list[str]:
    """The moves that may be asked for, the pass among them."""
    return [move_name(int(action), states.owner) for action in counting.listed_moves(states)]


def left_by(puzzle: Puzzle, square: str) -> StateSet:
    """What the sense of a square leaves possible, the truth of the puzzle being what it is."""
    seen = view(parse_square(square), puzzle.color)
    truth = StateSet(puzzle.fens[puzzle.truth], puzzle.color)
    return puzzle.set.filter_sense(seen, boards(truth)[0, list(sense_window(seen, puzzle.color))].tolist())


def sure_moves(states: StateSet) -> list[str]:
    """The moves that take the king in every state."""
    moves = counting.listed_moves(states)
    sure = counting.takes_king(states, moves).all(axis=0)
    return [move_name(int(action), states.owner) for action in moves[sure]]


def _judge_move(puzzle: Puzzle, move: str) -> Verdict:
    states, most = puzzle.set, len(puzzle.states)
    right = _plain(puzzle.set, move) in puzzle.solutions
    action = np.array([_action(states, move)], np.int32)
    words = move_words(states.fen(0), move)
    if puzzle.kind == "take":
        n = int(counting.takes_king(states, action).sum())
        said = f"{_capital(words)} takes the king in {n} of {count(most, 'state')}."
    else:
        n = int(counting.loses_king(states, action).sum())
        said = f"{_capital(words)} leaves the king to be taken in {n} of {count(most, 'state')}."
    return Verdict(right, puzzle.reason if right else f"{said} {puzzle.reason}", solutions=list(puzzle.solutions))


def _judge_sense(puzzle: Puzzle, square: str) -> Verdict:
    right = square in puzzle.solutions
    if right and puzzle.kind == "sense":
        return Verdict(True, f"A sense at {square} shows enough. Now the move.", _shown(puzzle, square))
    if right:
        return Verdict(True, puzzle.reason, solutions=list(puzzle.solutions))
    states, most = puzzle.set, len(puzzle.states)
    contents = boards(states)
    groups = counting.groups_of(contents, view(parse_square(square), puzzle.color))
    if puzzle.kind == "sense":
        n = counting.best_moves(counting.takes_king(states, counting.listed_moves(states)), groups)
        said = f"After a sense at {square} the best moves take the king in {n} of {count(most, 'state')}."
    else:
        piece = counting.QUEEN if puzzle.kind == "queen" else counting.KING
        n = counting.told(counting.places(contents, piece), groups)
        said = f"After a sense at {square} the {puzzle.kind}'s square is certain in {n} of {count(most, 'state')}."
    return Verdict(False, f"{said} {puzzle.reason}", solutions=list(puzzle.solutions))


def _judge_move_after(puzzle: Puzzle, square: str, move: str) -> Verdict:
    """The second half of a sense and a move."""
    states = left_by(puzzle, square)
    solutions = sure_moves(states)
    n = int(counting.takes_king(states, np.array([_action(states, move)], np.int32)).sum())
    said = f"{_capital(move_words(states.fen(0), move))} takes the king in {n} of {count(len(states), 'state')} left."
    right = _plain(states, move) in solutions
    return Verdict(right, f"{said} {puzzle.reason}", solutions=solutions)


def _shown(puzzle: Puzzle, square: str) -> Shown:
    left = left_by(puzzle, square)
    pieces = pieces_of(puzzle.states[puzzle.truth])
    window = sense_window(parse_square(square), True)
    seen = {SQUARE_NAMES[at]: pieces.get(SQUARE_NAMES[at]) for at in window}
    return Shown(seen, sorted(" ".join(fen.split()[:4]) for fen in left.fens()), opposing_pieces(left))


def _action(states: StateSet, move: str) -> int:
    """The action of a listed move; which piece a pawn becomes does not matter."""
    try:
        code = uci_to_code(move)
    except ValueError as error:
        raise NoAnswer(str(error)) from None
    action = code_to_action(view_code(code, states.owner))
    if (code == 0) != (move == "pass") or action not in counting.listed_moves(states):
        raise NoAnswer(f"{move} is not a move that may be asked for here")
    return action


def _plain(states: StateSet, move: str) -> str:
    return move_name(_action(states, move), states.owner)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:] if text.startswith("a pass") else text
