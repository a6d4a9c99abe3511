"""Refilling beliefs under a clock: the current one first (`refill = "current"`).

The paper refills the oldest short belief first. It has minutes for each action; under a clock that order spends the
time on beliefs of long ago, and the one that the search stands on is left with what can be made in haste.

So: go back from now to the youngest belief that is rich, with enough different particles to draw from, and carry it on
to now, step by step, with the same number of particles at each. How many is found by doing: first `LEAST` along the
whole way, then twice as many, and so on, each time the whole way, as long as what the last time took says that there is
time for more. What is left goes into older beliefs, the oldest first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from penumbra.dsmcp.domain import L, X

if TYPE_CHECKING:
    from penumbra.dsmcp.belief import Belief

LEAST = 256  # particles of the current belief that come before everything else
RICH = 64  # different particles that a belief needs to be drawn from
FEWEST = 32  # particles, where there is no time for more
GRACE = 2.0  # times the time given that the first `LEAST` may take, and a pass that was begun
SAFETY = 0.8  # share of the time left that is planned with
WORTHWHILE = 0.25  # share of the particles there are that a further pass must add


def refill_current_first(belief: Belief[X, L], n: int, deadline: float, stop: Callable[[], bool]) -> None:
    """Fills the current belief up to n particles, then older ones, until the deadline."""
    began = time.monotonic()
    last = deadline + (GRACE - 1) * (deadline - began)

    def late() -> bool:
        return stop() or time.monotonic() >= last

    if belief.current.count < n and not belief.current.given:
        first, level = the_way(belief, n, last - began)
        took = carry_on(belief, first, level, late)
        added = level
        while level < n and not stop():
            left = SAFETY * (deadline - time.monotonic())
            more = min(n - level, level, math.inf if took <= 0 else added * left / took)
            if more < min(n - level, WORTHWHILE * level):
                break
            added = int(more)
            level += added
            took = carry_on(belief, first, level, late)
    belief.refill_oldest_first(n, lambda: stop() or time.monotonic() >= deadline)


def carry_on(belief: Belief[X, L], first: int, n: int, late: Callable[[], bool]) -> float:
    """Fills every belief from step `first` to now up to n particles; the seconds it took."""
    began, drawn = time.monotonic(), belief.counters.drawn
    for i in range(first, len(belief.steps)):
        belief.refill_step(i, n, late)
    took, drawn = time.monotonic() - began, belief.counters.drawn - drawn
    if drawn:
        belief.particle_seconds = took / drawn
    return took


def the_way(belief: Belief[X, L], n: int, seconds: float) -> tuple[int, int]:
    """The first step to be filled, which follows the youngest rich belief, and how many particles to begin with.

    A belief is near enough if `LEAST` particles can be carried on from it in the time. Where none of these is rich (few
    different particles may be all there are) the way begins at the richest of them; where none has any, at the youngest
    that has.
    """
    now = len(belief.steps) - 1
    least, fewest = min(n, LEAST), min(n, FEWEST)
    source, most = now - 1, 0
    for i in range(now - 1, -1, -1):
        if belief.particle_seconds * (least if most else fewest) * (now - i) > seconds:
            break
        distinct = belief.steps[i].distinct(belief.domain)
        if distinct > most:
            source, most = i, distinct
        if distinct >= RICH:
            break
    each = belief.particle_seconds * (now - source)
    return source + 1, least if each <= 0 else int(min(least, max(fewest, seconds / each)))
