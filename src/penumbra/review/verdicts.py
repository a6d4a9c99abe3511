"""Verdicts on the moves of a finished game, in words: what a move risked or missed, and which sense would have told.

A verdict counts the states that its player held possible. It needs no search, only the rules: in how many states the
opponent could take the king right after the move, and in how many a move takes the opponent's. Of more than `COUNTED`
states so many are drawn, the true one among them, and shares are given as such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penumbra import core
from penumbra.core import MOVE, ImpossibleObservation, StateSet
from penumbra.rbc.actions import SQUARE_NAMES, code_to_action, sense_window, view
from penumbra.rbc.observations import Moved
from penumbra.rbc.sense_partitions import INNER_SQUARES, boards
from penumbra.rbc.walk import Step
from penumbra.review import counting
from penumbra.review.puzzles.kinds import move_name
from penumbra.review.words import count, move_words

COUNTED = 256  # states that are looked at one by one
FEW = 16  # of them that are looked at first
WORTH_TELLING = 0.1  # of the states: how much better another move must be

Kind = Literal["lost", "missed"]


@dataclass(frozen=True)
class Verdict:
    """What is said of a move: that it leaves the king to be taken, or that another one takes the opponent's."""

    kind: Kind
    cost: float  # the share of the states that the better move would have saved, or won
    states: int  # in which the king can be taken
    of: int
    true: bool  # whether it is so in the game itself
    better: str  # the move that would have been better, in real squares
    sense: str | None  # that would have told for certain
    text: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def verdict(step: Step, states: StateSet, before: StateSet | None) -> Verdict | None:
    """On a move made when `states` were possible, and `before` before this turn's sense; None: nothing to say of it.

    A move that leaves the king to be taken in the game itself is told of however unlikely that was.
    """
    looked = Looked(step, states, before)
    missed, risked = int(looked.won.max() - looked.won[looked.played]), looked.risked
    if max(missed, risked) < WORTH_TELLING * len(looked.drawn) and not looked.falls:
        return None
    return looked.missed() if missed > risked else looked.lost()


class Looked:
    """A move, what was possible, and in how many states each move takes a king or leaves one's own to be taken."""

    def __init__(self, step: Step, states: StateSet, before: StateSet | None) -> None:
        assert isinstance(step.observation, Moved)
        self.step = step
        self.drawn = _drawn(states, step)
        self.states = len(states)
        self.before = before  # this turn's sense
        self.truth = StateSet(step.before.fen(), step.color)
        self.moves = counting.listed_moves(self.drawn)
        self.played = int(np.flatnonzero(self.moves == code_to_action(step.observation.requested))[0])

    @cached_property
    def won(self) -> NDArray[np.int64]:
        """int64[A]: in how many states each move takes the opponent's king."""
        won: NDArray[np.int64] = counting.takes_king(self.drawn, self.moves).sum(axis=0)
        return won

    @cached_property
    def left(self) -> NDArray[np.int64]:
        """int64[A]: in how many each leaves one's own to be taken."""
        left: NDArray[np.int64] = counting.loses_king(self.drawn, self.moves).sum(axis=0)
        return left

    @cached_property
    def falls(self) -> bool:
        """Whether the move that was played leaves the king to be taken in the game itself."""
        return bool(counting.loses_king(self.truth, self.moves[[self.played]]).any())

    @property
    def danger(self) -> float:
        """The share of the states in which it does."""
        return float(self.left[self.played] / len(self.drawn))

    @property
    def risked(self) -> int:
        """In how many states more than the safest move."""
        return int(self.left[self.played] - self.left.min())

    def missed(self) -> Verdict:
        """That another move takes the king."""
        better, n, of = int(self.won.argmax()), int(self.won.max()), len(self.drawn)
        text = f"{self._words(better)} takes the king in {self._in(n)}."
        true = bool(counting.takes_king(self.truth, self.moves[[better]]).any())
        sense = self._sense_that_tells(_surely_takes) if true and n < of else None
        cost = round((n - int(self.won[self.played])) / of, 3)
        return Verdict("missed", cost, n, of, true, self._name(better), sense, text + _would_have_told(sense))

    def lost(self) -> Verdict:
        """That this move leaves the king to be taken."""
        best = np.flatnonzero(self.left == self.left.min())
        better, of = int(best[self.won[best].argmax()]), len(self.drawn)
        n, least = int(self.left[self.played]), int(self.left.min())
        text = f"This move left the king to be taken in {self._in(n)}; "
        text += "no move in fewer." if n == least else f"{self._words(better)} in {self._few(least)}."
        sense = self._sense_that_tells(self._surely_falls) if self.falls and least < n < of else None
        cost = round(self.risked / of, 3)
        return Verdict("lost", cost, n, of, self.falls, self._name(better), sense, text + _would_have_told(sense))

    def _name(self, move: int) -> str:
        return move_name(int(self.moves[move]), self.step.color)

    def _words(self, move: int) -> str:
        return move_words(self.drawn.fen(0), self._name(move))

    def _in(self, n: int) -> str:
        of = len(self.drawn)
        if self.states > of:
            return f"about {max(1, round(100 * n / of))} % of {count(self.states, 'state')}"
        return f"{n} of {count(of, 'state')}"

    def _few(self, n: int) -> str:
        if n == 0:
            return "none"
        return f"about {max(1, round(100 * n / len(self.drawn)))} %" if self.states > len(self.drawn) else str(n)

    def _surely_falls(self, states: StateSet) -> bool:
        """Whether the move that was played leaves the king to be taken in all of them."""
        action = self.moves[[self.played]]
        few = states if len(states) <= FEW else states.sample(FEW, 0)
        if not counting.loses_king(few, action).all():
            return False
        return few is states or bool(counting.loses_king(_drawn(states, self.step), action).all())

    def _sense_that_tells(self, is_told: Callable[[StateSet], bool]) -> str | None:
        """The sense that, the truth being what it was, leaves the fewest states of which all that is said holds."""
        if self.before is None:
            return None
        board = boards(self.truth)[0]
        left = {}
        for square in INNER_SQUARES:
            shown = board[list(sense_window(square, self.step.color))].tolist()
            try:
                left[square] = self.before.filter_sense(square, shown)
            except ImpossibleObservation:  # cut to its cap, the set has lost the truth
                return None
        for square in sorted(left, key=lambda square: len(left[square])):
            if is_told(left[square]):
                return SQUARE_NAMES[view(square, self.step.color)]
        return None


def _surely_takes(states: StateSet) -> bool:
    return core.settle_set(states, MOVE, False)[1] >= 0


def _drawn(states: StateSet, step: Step) -> StateSet:
    """The true state is among them, if it is among the states."""
    if len(states) <= COUNTED:
        return states
    drawn, truth = states.sample(COUNTED, step.before.plies), step.before.fen()
    if truth in drawn or truth not in states:
        return drawn
    return StateSet.from_fens([truth, *drawn.fens()[1:]], step.color)


def _would_have_told(sense: str | None) -> str:
    return f" A sense at {sense} would have told." if sense else ""
