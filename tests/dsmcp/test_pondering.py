"""Pondering: small pieces of work, nothing waited for but the piece at hand, and a core left to whoever needs it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from penumbra.dsmcp.belief import Belief
from penumbra.dsmcp.pondering import FIRST, PIECE, REST, WINDOW, Pondering, State


class Worked:
    """A belief that is filled when it has been worked at so many times, or is told to stop."""

    def __init__(self, pieces: float = math.inf) -> None:
        self.pieces = pieces
        self.done = 0
        self.at_once: int | None = None
        self.particle_seconds = 0.5
        self.worked = threading.Event()
        self.refills = 0
        self.begun_again = threading.Event()

    def refill(self, n: int, deadline: float, stop: Callable[[], bool]) -> None:
        self.refills += 1
        if self.refills == 2:
            self.begun_again.set()
        while self.done < self.pieces and not stop():
            self.done += 1
            self.particle_seconds = 9.0
            self.worked.set()


def pondering(belief: Worked, waited: Callable[[], float] = lambda: 0.0) -> Pondering[Any, Any]:
    return Pondering(cast(Belief[Any, Any], belief), 100, waited)


def test_it_works_until_it_is_told_to_stop_and_begins_again() -> None:
    belief = Worked()
    thread = pondering(belief)
    for _ in range(3):
        belief.worked.clear()
        thread.begin()
        thread.begin()  # which it is at already
        assert belief.worked.wait(30)
        thread.stop()
        done = belief.done
        assert thread.state is State.IDLE
        assert (belief.at_once, belief.particle_seconds) == (None, 0.5)  # as the search left them
        assert belief.done == done
    thread.close()
    assert thread._thread is None


def test_what_has_not_begun_is_not_waited_for() -> None:
    """The thread is busy elsewhere, or has no core: stopping only withdraws what it was asked for."""
    belief = Worked()
    thread = pondering(belief)
    thread._thread = threading.current_thread()  # which will never take it up
    thread.begin()
    thread.stop()
    assert thread.state is State.IDLE and belief.done == 0


def test_a_fault_ends_its_work_and_nobody_waits_for_it(caplog: pytest.LogCaptureFixture) -> None:
    """As where an inference server dies while the opponent thinks."""

    class Gone(Worked):
        def refill(self, n: int, deadline: float, stop: Callable[[], bool]) -> None:
            super().refill(n, deadline, stop)
            if self.refills == 1:
                raise ConnectionError("nobody answers")

    belief = Gone(pieces=1)
    thread = pondering(belief)
    thread.begin()
    assert belief.worked.wait(30)
    stopping = threading.Thread(target=thread.stop, daemon=True)
    stopping.start()
    stopping.join(30)
    assert not stopping.is_alive()
    assert (belief.at_once, belief.particle_seconds) == (None, 0.5)
    thread.begin()
    assert belief.begun_again.wait(30)
    thread.close()
    assert "nobody answers" in caplog.text


def test_it_rests_where_it_has_to_wait_for_a_core_and_then_goes_on() -> None:
    seconds = iter([0.0, 100.0])  # at the beginning, and after the first window; later no more
    belief = Worked()
    thread = pondering(belief, lambda: next(seconds, 100.0))
    thread.begin()
    assert belief.begun_again.wait(30)  # after its rest
    assert thread.state is State.WORKING
    thread.close()
    assert belief.refills == 2


def test_rests_grow_until_it_need_not_wait() -> None:
    thread = pondering(Worked(), lambda: 0.0)
    waited = [0.5, 1.0, 1.5, 1.5, 2.0]
    thread._waited = lambda: waited.pop(0)
    thread._window_began = 99.0
    rests = []
    for now in range(5):
        thread._gives_way(100.0 + now)
        rests.append(thread._rest)
    assert rests == [2 * REST, 4 * REST, 8 * REST, REST, 2 * REST]


@pytest.mark.parametrize(("seconds", "at_once"), [(2 * PIECE, FIRST // 2), (PIECE / 4, 2 * FIRST), (PIECE / 2, FIRST)])
def test_pieces_are_as_large_as_a_few_milliseconds_allow(seconds: float, at_once: int) -> None:
    belief = Worked()
    belief.at_once = FIRST
    pondering(belief)._fit(seconds)
    assert belief.at_once == at_once
    assert PIECE < WINDOW
