"""Algorithm 4, `PlayGame`: track every state, keep beliefs for every step, plan whenever it is our turn.

    t   the current step; X_t, B_t as in belief.py; N, Q in the node table, which lasts the game

The agent is told what happened, step by step, as new sets X; the game's own code makes them from observations. It
chooses actions within a budget of time or evaluations. While the opponent thinks, `ponder` goes on refilling beliefs.

Deviations from the paper: the root's statistics are fresh for each decision; refilling stops after a share of the
step's time, since an evaluator may be slow; b and n_particles shrink with its measured speed for the same reason. An
action that was taken often, and since which nothing happened, weighs less at the final choice (`stale`): where neither
player gets on, the same situation would else be answered the same way for ever. To wait is often best, so this begins
late; but who has waited too long weighs π̄ too, or the search would look at nothing but other ways of waiting.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from penumbra.core import NodeTable, threads
from penumbra.dsmcp.belief import Belief, BeliefCounters
from penumbra.dsmcp.domain import Domain, Evaluator, Floats, Ints, L, X
from penumbra.dsmcp.playouts import Budget, Counters, Root, Search, final_choice, policy_choice
from penumbra.dsmcp.settings import Settings

REFILL_SHARE = 1 / 3  # of a step's time
PATIENCE = 4  # times that an action may be taken before it gets stale
WAITING = 25  # actions since anything happened; from then on there is no patience
LEAST_FRESH = 1e-6  # what an action weighs however often it was taken


@dataclass(frozen=True)
class Decision:
    """One choice and how it came about. Arrays run along `actions`; values are win probabilities."""

    action: int
    reason: str  # "search", "policy", "only action" or "sure win"
    actions: Ints
    policy: Floats  # π̄
    visits: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]  # NaN without visits
    value: float  # of the position, by the search where there was one
    states: int
    particles: int
    nodes: int
    playouts: int
    seconds: float
    counters: Counters | None = None
    belief: BeliefCounters | None = None

    def best(self, n: int) -> list[tuple[int, float, float, float]]:
        """The n actions with most visits (then largest policy): action, policy, visits, value."""
        order = np.lexsort((-self.policy, -self.visits))[:n]
        return [
            (int(self.actions[i]), float(self.policy[i]), float(self.visits[i]), float(self.values[i])) for i in order
        ]


class Agent(Generic[X, L]):
    """Plays one game."""

    def __init__(self, domain: Domain[X, L], evaluator: Evaluator, settings: Settings, x: X, particles: L) -> None:
        self.domain = domain
        self.evaluator = evaluator
        self.settings = settings
        self.rng = np.random.default_rng(settings.seed)
        self.table = NodeTable(settings.table_entries)
        self.belief: Belief[X, L] = Belief(domain, evaluator, self.table, settings, self.rng)
        self.belief.start(x, particles)
        self.speed = 0.0  # evaluations a second, measured in searches
        self._pondering: threading.Thread | None = None
        self._stop = threading.Event()

    # -- what happens

    @property
    def x(self) -> X:
        return self.belief.current.x

    def observe(self, x: X, action: int | None = None) -> None:
        """A step was taken, by us if `action` is given; now X stands as `x`."""
        self.stop_pondering()
        self.belief.advance(x, action)

    def ponder(self) -> None:
        """Refills beliefs in the background until the next call."""
        if self._pondering is not None:
            return
        self._stop.clear()
        n = self.particles_for(None)
        self._pondering = threading.Thread(
            target=self.belief.refill, args=(n, float("inf"), self._stop.is_set), daemon=True, name="penumbra-ponder"
        )
        self._pondering.start()
        PONDERING.add(self)

    def stop_pondering(self) -> None:
        if self._pondering is not None:
            self._stop.set()
            self._pondering.join()
            self._pondering = None
            PONDERING.discard(self)

    # -- choosing

    def choose(
        self, seconds: float | None = None, nodes: int | None = None, taken: Mapping[int, int] | None = None
    ) -> Decision:
        """The action to perform now. Without a budget of either kind, one batch of playouts.

        `taken` says how often actions were performed already since anything happened.
        """
        self.stop_pondering()
        began = time.monotonic()
        s = self.settings
        x = self.x
        actions, sure = self.domain.root(x, s.static_analysis)
        if sure is not None or len(actions) == 1:
            action = int(actions[0]) if sure is None else sure
            return self.decide(action, "only action" if sure is None else "sure win", actions, began)
        deadline = float("inf") if seconds is None else began + seconds
        settings = self.scaled(seconds)
        self.table.new_decision()
        belief = self.refilled(settings.n_particles, began, seconds) if s.playouts else None
        search = Search(self.domain, self.evaluator, self.table, settings, self.rng, x, belief)
        search_began = time.monotonic()
        root = search.prepare_root(actions, settings.b)
        if len(root.actions) == 1:
            return self.decide(int(root.actions[0]), "only action", root.actions, began, root, search.counters)
        fresh = self.fresh(root.actions, taken)
        if not s.playouts:
            action = policy_choice(root, s, self.rng, fresh)
            return self.decide(action, "policy", root.actions, began, root, search.counters)
        if fresh is not None and has_waited(taken):
            root = root.weighed(fresh)
        limit = nodes if nodes is not None else (1 if seconds is None else float("inf"))
        search.run(root, Budget(deadline, limit))
        elapsed = time.monotonic() - search_began
        if elapsed > 0:
            self.speed = (search.counters.nodes + search.counters.ended) / elapsed
        action = final_choice(self.table, root, s, self.rng, fresh)
        return self.decide(action, "search", root.actions, began, root, search.counters)

    def fresh(self, actions: Ints, taken: Mapping[int, int] | None) -> Floats | None:
        """What each action still weighs; None where all weigh the same."""
        if not taken or self.settings.stale == 1:
            return None
        patience = 0 if has_waited(taken) else PATIENCE
        times = np.array([max(taken.get(action, 0) - patience, 0) for action in actions.tolist()])
        if not times.any():
            return None
        return np.asarray(np.maximum(self.settings.stale**times, LEAST_FRESH), np.float32)

    def refilled(self, n: int, began: float, seconds: float | None) -> L:
        """The current belief, refilled within its share of the step's time; never empty."""
        self.belief.refill(n, float("inf") if seconds is None else began + seconds * REFILL_SHARE)
        if not self.belief.current.count:
            self.belief.fill_current(n)
        particles = self.belief.current.particles
        assert particles is not None
        return particles

    def decide(
        self,
        action: int,
        reason: str,
        actions: Ints,
        began: float,
        root: Root | None = None,
        counters: Counters | None = None,
    ) -> Decision:
        pi = np.zeros(len(actions), np.float32) if root is None else root.pi
        statistics = np.zeros((len(actions), 3)) if root is None else self.table.statistics(root.key, actions)
        n, q = statistics[:, 0], statistics[:, 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(n > 0, q / n, np.nan)
        value = 1.0 if reason == "sure win" else float("nan") if root is None else (1 + root.value) / 2
        if n.sum() > 0:
            value = float(q.sum() / n.sum())
        return Decision(
            action,
            reason,
            actions,
            pi,
            n,
            values,
            value,
            self.domain.size(self.x),
            self.belief.current.count,
            0 if counters is None else counters.nodes,
            0 if counters is None else counters.playouts,
            time.monotonic() - began,
            counters,
            self.belief.counters,
        )

    def scaled(self, seconds: float | None) -> Settings:
        """b and n_particles that the evaluator can serve in the time given; on one core nothing runs side by side."""
        if seconds is None or not self.settings.playouts:
            return self.settings
        s = self.settings if threads() > 1 else self.settings.replace(in_flight=1)
        speed = self.speed or 1000.0
        evaluations = speed * seconds
        b = s.b
        while b > 8 and b * max(s.d) * 4 * s.in_flight > evaluations:
            b //= 2
        return s.replace(b=b, n_particles=self.particles_for(seconds))

    def particles_for(self, seconds: float | None) -> int:
        """As many particles as can be inferred for two steps of the opponent in a third of the time."""
        if seconds is None:
            return self.settings.n_particles
        speed = self.speed or 1000.0
        return int(np.clip(speed * seconds * REFILL_SHARE / 2, 32, self.settings.n_particles))


PONDERING: weakref.WeakSet[Agent[Any, Any]] = weakref.WeakSet()


@atexit.register
def stop_all_pondering() -> None:
    """A program that ends takes no thread along that is inside the core: Python would end it there, and so itself."""
    for agent in list(PONDERING):
        agent.stop_pondering()


def has_waited(taken: Mapping[int, int] | None) -> bool:
    """Whether so many actions were taken since anything happened that it is time to do something new."""
    return taken is not None and sum(taken.values()) >= WAITING
