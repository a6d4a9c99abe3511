"""How long to think about a step, so that a game is never lost on time.

    left      seconds on our clock for the rest of the game
    gain      what a turn gives back: the increment, less time that passes outside the player, as measured
    overhead  seconds of a turn that are not thinking: tracking sets, stopping the background, overshooting the budget;
              a turn that begins with fewer states than one before is expected to take less than that one took
    reserve   seconds never given to thinking; without an increment, enough to play on in haste for a long time

A turn may think for (left - reserve - two overheads) / HORIZON + gain - overhead, so that the time left decays towards
the reserve and never past it; the sense has SENSE_SHARE of it, the move the rest. The increment is not told by
reconchess: it is what the clock shows at a turn, less what it showed a turn before, plus what was used in between.
Tracking has a share of the turn as well, from which `cap` bounds the states that may be held. When nothing is left to
share out, `haste` says so: then one look at the policy must do, and at the last not even that.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

HORIZON = 20  # turns that the time left is shared among
SENSE_SHARE = 0.4
TRACKING_SHARE = 0.25  # of a turn, for keeping the sets of states
LONG_GAME = 100  # turns that the reserve pays for, without thinking
LONG_GAME_SHARE = 0.25  # of the clock at the start, at most
LEAST_STEP = 0.005  # seconds: time for a first batch; the clock's reserve pays it
UNTIMED_STEP = 1.0  # seconds for a step when there is no clock and nobody said otherwise
SECONDS_PER_STATE = 4e-6  # of tracking a turn, until measured
SMALL_SET = 20_000  # below it, a turn's tracking is mostly fixed cost and tells nothing about larger sets
LEAST_CAP, HASTY_CAP = 2_000, 500  # states that may be held however little time there is; in haste
LEAST_THINKING = 0.25  # of a turn, whatever tracking took: it is held to its share from the next turn on


class Overhead(NamedTuple):
    """What a turn took beside thinking, and how many states were held when it began."""

    seconds: float
    states: int

    def with_states(self, states: int) -> float:
        """What it would take with so many states at its beginning; the costs of few are mostly fixed."""
        return self.seconds * min(1.0, max(states, HASTY_CAP) / max(self.states, HASTY_CAP))


class TimeControl:
    """Follows one game's clock. `step_seconds` is the most a step may take, whatever the clock would allow."""

    def __init__(self, step_seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.step_seconds = step_seconds
        self._clock = clock
        self.start()

    def start(self) -> None:
        """A new game."""
        self.left: float | None = None  # on the game's clock when it was told last
        self.gain = 0.0
        self._told_at = 0.0
        self._initial = 0.0
        self._turn_began: float | None = None  # since when our clock has been running
        self._last_sense: tuple[float, float] | None = None  # the clock, and when, at the sense of the turn before
        self._turn_ended_at = 0.0
        self._gains: deque[float] = deque(maxlen=3)
        self._overhead = 0.0  # of this turn so far, without overshooting
        self._searched = False  # this turn
        self._overheads: deque[Overhead] = deque(maxlen=8)
        self._overshoot = 0.0  # the most that a search took beyond its time, fading
        self._planned: float | None = None  # seconds of thinking for this turn
        self._seconds_per_state = SECONDS_PER_STATE
        self._tracked = 0.0  # seconds of tracking this turn
        self._most_states = 0  # held at any moment of this turn
        self._states = 1  # held now
        self._states_before = 1  # held when this turn began

    # -- what happens

    def turn_begins(self) -> None:
        """Our clock runs from about now; until it is told again, what it shows is reckoned."""
        now = self._clock()
        if self.left is not None:
            self.left += self.gain - (self._turn_ended_at - self._told_at)
            self._told_at = now
        self._turn_began = now
        self._planned = None

    def tell(self, seconds_left: float | None, sensing: bool) -> None:
        """Our clock shows this, before our sense or our move."""
        now = self._clock()
        if seconds_left is None or not math.isfinite(seconds_left):
            self.left = None
            return
        self._initial = max(self._initial, seconds_left)
        if sensing:
            self._measure_gain(seconds_left, now)
            self._last_sense = (seconds_left, now)
            self._planned = None
        self.left, self._told_at = seconds_left, now

    def _measure_gain(self, seconds_left: float, now: float) -> None:
        if self._last_sense is None or self._turn_began is None:
            return
        left_then, then = self._last_sense
        used = (self._turn_ended_at - then) + (now - self._turn_began)
        self._gains.append(seconds_left - left_then + used)
        self.gain = min(self._gains)

    @contextmanager
    def tracking(self) -> Iterator[None]:
        """Around work on the sets of states."""
        began = self._clock()
        try:
            yield
        finally:
            seconds = self._clock() - began
            self._overhead += seconds
            self._tracked += seconds

    def tracked(self, states: int) -> None:
        """So many states are held after it."""
        self._most_states = max(self._most_states, states)
        self._states = states

    def thought(self, asked: float, took: float) -> None:
        """A search was given so many seconds and took so many."""
        self._overshoot = max(took - asked, 0.8 * self._overshoot)
        self._searched = True

    def turn_ends(self) -> None:
        self._turn_ended_at = self._clock()
        self._overheads.append(Overhead(self._overhead, self._states_before))
        self._states_before = self._states
        if not self._searched and self.gain > 0:  # it may be faster now, but that is not known; and where no time
            self._overshoot *= 0.97  # comes back, it is not worth finding out
        self._searched = False
        if self._most_states >= SMALL_SET:
            measured = self._tracked / self._most_states
            self._seconds_per_state = max(measured, 0.5 * (measured + self._seconds_per_state))
        self._overhead = self._tracked = 0.0
        self._most_states = 0

    # -- what to do

    @property
    def overhead(self) -> float:
        """What a turn may need beside thinking: a little more than the worst of the last few."""
        worst = max((turn.with_states(self._states) for turn in self._overheads), default=0.0)
        return 1.25 * worst + 1.5 * self._overshoot + 0.01

    @property
    def usual_overhead(self) -> float:
        """What it is expected to need: one slow turn must not cost the next eight their time to think."""
        return 1.25 * self._lately(self._states) + self._overshoot + 0.01

    def _lately(self, states: int) -> float:
        """The mean of the last three turns, if each had begun with so many states."""
        lately = list(self._overheads)[-3:]
        return sum(turn.with_states(states) for turn in lately) / max(1, len(lately))

    @property
    def reserve(self) -> float:
        turn = self._lately(HASTY_CAP) - self.gain  # what a turn in haste costs, where nothing makes it good
        long_game = min(LONG_GAME * max(0.0, turn), LONG_GAME_SHARE * self._initial)
        return min(max(0.06 * self._initial, 0.5), 15.0) + long_game  # a busy machine may stop us for a second

    def spare(self) -> float:
        """Seconds that may be shared out now; infinite without a clock."""
        if self.left is None:
            return math.inf
        return self.left - (self._clock() - self._told_at) - self.reserve - 2 * self.overhead

    def haste(self) -> int:
        """0: there is time to search; 1: for one look at the policy; 2: for nothing."""
        if self.left is None:
            return 0
        left = self.left - (self._clock() - self._told_at)
        return 2 if left < 0.3 * self.reserve else 1 if self.spare() <= 0 else 0

    def turn_seconds(self) -> float:
        """For a whole turn, thinking and tracking; infinite without a clock."""
        return max(0.0, self.spare()) / HORIZON + max(0.0, self.gain)

    def seconds(self, sensing: bool) -> float:
        """For the step that comes now."""
        if self.left is None:
            return UNTIMED_STEP if self.step_seconds is None else self.step_seconds
        spare = self.spare()
        if self._planned is None:
            turn = self.turn_seconds()
            self._planned = max(LEAST_THINKING * turn, turn - self.usual_overhead)
        wanted = self._planned * SENSE_SHARE if sensing else self._planned
        if self.step_seconds is not None:
            wanted = self.step_seconds
        seconds = min(max(wanted, LEAST_STEP), max(spare / 2, LEAST_STEP))
        self._planned = max(0.0, self._planned - seconds)
        return seconds

    def cap(self, most: int) -> int:
        """How many states may be held, at most `most`, so that tracking them takes its share of a turn.

        Where a step's seconds are set, tracking takes no longer than both steps together.
        """
        seconds = math.inf if self.step_seconds is None else 2 * self.step_seconds
        if self._initial > 0:
            seconds = min(seconds, TRACKING_SHARE * self.turn_seconds())
        least = HASTY_CAP if self.haste() else LEAST_CAP
        return most if math.isinf(seconds) else int(min(most, max(least, seconds / self._seconds_per_state)))

    def for_recovery(self) -> float:
        """Seconds that may go into finding a lost track again."""
        return UNTIMED_STEP if self.left is None else max(0.0, min(self.turn_seconds(), self.spare() / 4))
