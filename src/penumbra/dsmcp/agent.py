"""Algorithm 4, `PlayGame`: track every state, keep beliefs for every step, plan whenever it is our turn.

    t   the current step; X_t, B_t as in belief.py; N, Q in the node table, which lasts the game

The agent is told what happened, step by step, as new sets X; the game's own code makes them from observations. It
chooses actions within a budget of time or evaluations. While the opponent thinks, `ponder` goes on refilling beliefs.

Deviations from the paper: the root's statistics are fresh for each decision; refilling stops after a share of the
step's time (`refill_share`), since an evaluator may be slow; with `adapt`, b shrinks with its measured speed, so that a
search is many batches.
"""

from __future__ import annotations

import atexit
import logging
import time
import weakref
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from penumbra.core import NodeTable, threads
from penumbra.dsmcp.belief import Belief, Health
from penumbra.dsmcp.domain import Domain, Evaluator, Floats, Ints, L, X, rows_at_once
from penumbra.dsmcp.playouts import Budget, Counters, Search, final_choice, policy_choice
from penumbra.dsmcp.pondering import Pondering
from penumbra.dsmcp.root_policy import Root, RootPolicy
from penumbra.dsmcp.settings import Settings

log = logging.getLogger(__name__)

ROOT_ROWS = 32  # drawings that π̄ is averaged over at least, where b is adapted
UNMEASURED = 1000.0  # evaluations a second, until a search has measured them


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
    belief: Health | None = None

    def best(self, n: int) -> list[tuple[int, float, float, float]]:
        """The n actions with most visits (then largest policy): action, policy, visits, value."""
        order = np.lexsort((-self.policy, -self.visits))[:n]
        return [
            (int(self.actions[i]), float(self.policy[i]), float(self.visits[i]), float(self.values[i])) for i in order
        ]


class Agent(Generic[X, L]):
    """Plays one game of a `Domain`: it is told of each step, keeps beliefs of them, and chooses by search."""

    def __init__(
        self,
        domain: Domain[X, L],
        evaluator: Evaluator,
        settings: Settings,
        x: X,
        particles: L,
        root_policy: RootPolicy[X, L] | None = None,
        belief_evaluator: Evaluator | None = None,
    ) -> None:
        """`belief_evaluator` has another τ̂ for the belief than the one for playouts; the paper has the same."""
        self.domain = domain
        self.evaluator = evaluator
        self.settings = settings
        self.root_policy: RootPolicy[X, L] = root_policy or RootPolicy()
        self.rng = np.random.default_rng(settings.seed)
        self.table = NodeTable(settings.table_entries)
        self.belief: Belief[X, L] = Belief(domain, belief_evaluator or evaluator, self.table, settings, self.rng)
        self.belief.start(x, particles)
        self.speed = 0.0  # evaluations a second, measured in searches
        self._pondering: Pondering[X, L] | None = None

    # -- what happens

    @property
    def x(self) -> X:
        return self.belief.current.x

    def observe(self, x: X, action: int | None = None) -> None:
        """A step was taken, by us if `action` is given; now X stands as `x`."""
        self.stop_pondering()
        self.belief.advance(x, action)

    def ponder(self) -> None:
        """Refills beliefs in the background until the next call (pondering.py), where a search will ask for them."""
        if not self.settings.playouts:
            return
        if self._pondering is None:
            self._pondering = Pondering(self.belief, self.settings.n_particles)
        PONDERING.add(self)
        self._pondering.begin()

    def stop_pondering(self) -> None:
        """After the piece of work at hand, of a few milliseconds."""
        if self._pondering is not None:
            self._pondering.stop()

    def close(self) -> None:
        """Ends what runs in the background; pondering would begin it anew."""
        if self._pondering is not None:
            self._pondering.close()
            self._pondering = None
            PONDERING.discard(self)

    # -- choosing

    def choose(self, seconds: float | None = None, nodes: int | None = None) -> Decision:
        """The action to perform now. Without a budget of either kind, one batch of playouts."""
        self.stop_pondering()
        began = time.monotonic()
        s = self.settings
        actions, sure = self.domain.root(self.x, s.static_analysis)
        if sure is not None or len(actions) == 1:
            action = int(actions[0]) if sure is None else sure
            return self.decide(action, "only action" if sure is None else "sure win", actions, began)
        deadline = float("inf") if seconds is None else began + seconds
        settings = self.adapted(seconds)
        self.table.new_decision()
        belief = self.refilled(settings.n_particles, began, seconds) if s.playouts else None
        search = Search(self.domain, self.evaluator, self.table, settings, self.rng, self.x, belief, self.root_policy)
        root = search.prepare_root(actions, max(settings.b, ROOT_ROWS) if s.adapt else s.b, deadline)
        if len(root.actions) == 1:
            return self.decide(int(root.actions[0]), "only action", root.actions, began, root, search.counters)
        if not s.playouts:
            action = policy_choice(root, s, self.rng)
            return self.decide(action, "policy", root.actions, began, root, search.counters)
        limit = nodes if nodes is not None else (1 if seconds is None else float("inf"))
        counters, search_began = search.counters, time.monotonic()
        before = counters.nodes
        search.run(root, Budget(deadline, limit))
        elapsed = time.monotonic() - search_began
        if elapsed > 0:
            self.speed = (counters.nodes - before + counters.ended) / elapsed
        action = final_choice(self.table, root, s, self.rng, self.root_policy)
        return self.decide(action, "search", root.actions, began, root, search.counters)

    def refilled(self, n: int, began: float, seconds: float | None) -> L:
        """The current belief, refilled within its share of the step's time; never empty."""
        deadline = float("inf") if seconds is None else began + seconds * self.settings.refill_share
        self.belief.refill(n, deadline)
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
        health = self.belief.health()
        if reason == "search" and health.few:
            log.warning("a search stands on %d particles", health.particles)
        return Decision(
            action,
            reason,
            actions,
            pi,
            n,
            values,
            value,
            self.domain.size(self.x),
            health.particles,
            0 if counters is None else counters.nodes,
            0 if counters is None else counters.playouts,
            time.monotonic() - began,
            counters,
            health,
        )

    def adapted(self, seconds: float | None) -> Settings:
        """A b of which many batches fit into the time given; on one core nothing runs side by side."""
        if seconds is None or not self.settings.playouts or not self.settings.adapt:
            return self.settings
        s = self.settings if threads() > 1 else self.settings.replace(in_flight=1)
        return s.replace(b=s.fitting_b((self.speed or UNMEASURED) * seconds, rows_at_once(self.evaluator)))


PONDERING: weakref.WeakSet[Agent[Any, Any]] = weakref.WeakSet()


@atexit.register
def stop_all_pondering() -> None:
    """Before the interpreter shuts down: it would kill the threads inside the core, and so itself."""
    for agent in list(PONDERING):
        agent.close()
