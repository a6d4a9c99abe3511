"""Refilling beliefs while the opponent thinks, at nobody's expense.

The opponent may end its turn at any moment, and from then on our clock runs. So work is done in small pieces, each of a
few milliseconds, and stops between two of them; and nothing is waited for but a piece that is being worked at: the
thread is there before it is needed, and where it has not begun or rests, it is only told not to.

Whoever else needs the core has it. The thread is of lower priority, and where it has to wait for a core all the same it
rests, twice as long each time until it need not wait any more. How long it waited is what Linux tells (`schedstat`);
where that is unknown it is taken not to wait.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Generic

from penumbra.dsmcp.belief import Belief
from penumbra.dsmcp.domain import L, X

log = logging.getLogger(__name__)

PIECE = 0.004  # seconds between two looks at whether to stop; particles at once are as many as that allows
FIRST = 8  # particles at once, to begin with
NICENESS = 5  # added to the process's own
WINDOW = 0.02  # seconds over which waiting for a core is measured
WAITING = 0.15  # share of a window that says somebody else needs the core
REST, LONGEST_REST = 0.05, 2.0  # seconds
LINGER = 10.0  # seconds that an idle thread stays, where nobody ends it


class State(Enum):
    """Of the thread. Only in WORKING does it touch the belief."""

    IDLE = auto()
    WANTED = auto()
    WORKING = auto()
    STOPPING = auto()  # working still, but asked to stop
    ENDED = auto()


class Pondering(Generic[X, L]):
    """A thread that fills the beliefs up to n particles between `begin` and `stop`."""

    def __init__(self, belief: Belief[X, L], n: int, waited: Callable[[], float] | None = None) -> None:
        """`waited` gives the seconds for which the thread has waited for a core so far; None: as the system says."""
        self.state = State.IDLE
        self._belief = belief
        self._n = n
        self._waited = waited
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._rest = REST
        self._rests_until = 0.0
        self._looked = self._window_began = 0.0  # when
        self._waited_before = 0.0  # when the window began

    def begin(self) -> None:
        """Refills from now on, or as soon as a rest is over."""
        with self._changed:
            if self.state is not State.IDLE:
                return
            self.state = State.WANTED
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, daemon=True, name="penumbra-ponder")
                self._thread.start()

    def stop(self) -> None:
        """Nothing touches the beliefs when this returns."""
        with self._changed:
            if self.state is State.WANTED:
                self.state = State.IDLE
            elif self.state is State.WORKING:
                self.state = State.STOPPING
                self._changed.wait_for(lambda: self.state is State.IDLE)

    def close(self) -> None:
        """Ends the thread, and waits until it has ended."""
        self.stop()
        with self._changed:
            self.state = State.ENDED
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _serve(self) -> None:
        """The thread's life: it ends when it was not wanted for a while."""
        lower_priority()
        self._waited = self._waited or waiting_of_this_thread()
        while self._take_up():
            try:
                completed = self._refill()
            except Exception:  # an evaluator that is gone, say: the search that needs it will find out itself
                log.exception("pondering failed, and rests until the next turn")
                completed = True
            with self._changed:
                rests = not completed and self.state is State.WORKING
                self.state = State.WANTED if rests else State.IDLE
                self._changed.notify_all()

    def _take_up(self) -> bool:
        """Waits until there is work and the rest is over; False if there is none for long."""
        with self._changed:
            while self.state is not State.ENDED:
                left = self._rests_until - time.monotonic()
                if self.state is State.IDLE:
                    if not self._changed.wait_for(lambda: self.state is not State.IDLE, LINGER):
                        break
                elif left > 0:
                    self._changed.wait(left)
                else:
                    self.state = State.WORKING
                    return True
            self._thread = None
            return False

    def _refill(self) -> bool:
        """False if it ended before everything was full."""
        assert self._waited is not None
        belief, stopped = self._belief, False
        self._looked = self._window_began = time.monotonic()
        self._waited_before = self._waited()

        def is_to_stop() -> bool:
            nonlocal stopped
            stopped = stopped or self._is_to_stop()
            return stopped

        measured = belief.particle_seconds  # what small pieces take is no measure of a search's work
        belief.at_once = FIRST
        try:
            belief.refill(self._n, float("inf"), is_to_stop)
        finally:
            belief.at_once, belief.particle_seconds = None, measured
        return not stopped

    def _is_to_stop(self) -> bool:
        """Asked between two pieces."""
        now = time.monotonic()
        self._fit(now - self._looked)
        gives_way = now - self._window_began >= WINDOW and self._gives_way(now)
        self._looked = time.monotonic()
        return gives_way or self.state is State.STOPPING

    def _fit(self, seconds: float) -> None:
        """Particles at once, after a piece that took so long."""
        at_once = self._belief.at_once or FIRST
        if seconds > PIECE:
            self._belief.at_once = max(1, at_once // 2)
        elif PIECE / 16 < seconds < PIECE / 3:  # less than that was no work
            self._belief.at_once = min(self._n, 2 * at_once)

    def _gives_way(self, now: float) -> bool:
        """Whether the thread had to wait for a core, and so rests."""
        assert self._waited is not None
        waited = self._waited()
        has_waited = waited - self._waited_before > WAITING * (now - self._window_began)
        self._window_began, self._waited_before = now, waited
        if has_waited:
            self._rests_until = now + self._rest
        self._rest = min(2 * self._rest, LONGEST_REST) if has_waited else REST
        return has_waited


def lower_priority() -> None:
    """Of this thread alone, where threads have priorities of their own."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)


def waiting_of_this_thread() -> Callable[[], float]:
    """What gives the seconds for which this thread was ready to run and had no core."""
    path = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")

    def seconds() -> float:
        try:
            return int(path.read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    return seconds
