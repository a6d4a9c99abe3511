"""Algorithm 2, `DrawSample`, and the particle filter of Algorithm 4.

    X_i   states we hold possible before step i          B_i   belief then: information states of the opponent
    J     a particle            k     how many rejections before a singleton
    ℓ     states of a particle  τ̂     the opponent's policy

Steps are numbered from the first one still kept. To draw a particle for step i, take J from B_(i-1), where it and
X_(i-1) stand in one state x. If the opponent acted, draw its action from τ̂(σ(J)) and let J keep what answers like x;
if we acted, J becomes everything our action could have been as far as the opponent can tell. It is accepted if
it meets X_i, and never cut by X_i: what we know is not what the opponent knows. After k rejections comes a
singleton.

Deviations from the paper: whether a try would be accepted is found out before J is moved on, which changes nothing but
the cost; a J is inferred when it is first tried, once for all its tries; `belief_bandit = "policy"` draws from τ̂ alone,
because Algorithm 1 turns deterministic for a J that the search has visited; below the memory budget the oldest steps
are forgotten, and the new oldest belief is then only filtered, never refilled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from penumbra.core import NodeTable
from penumbra.dsmcp.bandit import bandit
from penumbra.dsmcp.domain import Domain, Evaluator, Flags, Floats, Ints, L, Legal, Rows, X, places, take_legal
from penumbra.dsmcp.settings import Settings

TRIES_AT_ONCE = 4096  # of all particles together
HASTY_STEPS = 4  # that a belief is carried on without looking at the time: the steps of a turn of each player


@dataclass
class BeliefCounters:
    drawn: int = 0
    rejections: int = 0
    singletons: int = 0
    pruned_states: int = 0
    dropped_particles: int = 0
    inferences: int = 0
    distinct_actions: float = 0.0  # different actions per particle moved on, when some were drawn last


@dataclass(frozen=True)
class Policy:
    """τ̂ and values of the particles of a step, each inferred when it is first asked about."""

    legal: Legal  # of all particles
    tau: Floats  # along legal.actions, where inferred
    values: Floats  # [B]
    inferred: Flags  # [B]

    @staticmethod
    def unknown(legal: Legal) -> Policy:
        n = len(legal.offsets) - 1
        return Policy(legal, np.zeros(len(legal.actions), np.float32), np.zeros(n, np.float32), np.zeros(n, np.bool_))

    def take(self, rows: Rows) -> Policy:
        return Policy(*take_legal(self.legal, self.tau, rows), self.values[rows], self.inferred[rows])

    def followed_by(self, other: Policy) -> Policy:
        offsets = np.concatenate([self.legal.offsets, self.legal.offsets[-1] + other.legal.offsets[1:]])
        return Policy(
            Legal(np.concatenate([self.legal.actions, other.legal.actions]), offsets),
            np.concatenate([self.tau, other.tau]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.inferred, other.inferred]),
        )

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.legal, self.tau, self.values, self.inferred))


@dataclass
class Step(Generic[X, L]):
    """X_i and B_i, and the action we took if step i was ours."""

    x: X
    particles: L | None = None  # None: none yet
    action: int | None = None
    policy: Policy | None = None  # of the particles; None until one is asked about
    given: bool = False  # the first belief of the game or of what is left of it: nothing to refill it from

    @property
    def count(self) -> int:
        return 0 if self.particles is None else len(self.particles)


@dataclass
class Belief(Generic[X, L]):
    domain: Domain[X, L]
    evaluator: Evaluator
    table: NodeTable
    settings: Settings
    rng: np.random.Generator
    steps: list[Step[X, L]] = field(default_factory=list)
    counters: BeliefCounters = field(default_factory=BeliefCounters)

    def start(self, x: X, particles: L) -> None:
        self.steps = [Step(x, particles, given=True)]

    @property
    def current(self) -> Step[X, L]:
        return self.steps[-1]

    # -- new information

    def advance(self, x: X, action: int | None) -> None:
        """The step before was taken (by us, if `action` is given), and X now stands as `x`."""
        self.current.action = action
        self.steps.append(Step(x))
        if not self.settings.playouts:  # nobody asks for a belief
            del self.steps[:-1]
            return
        self.prune()
        self.forget()

    def prune(self) -> None:
        """What was learnt last reaches back: states without a successor go, then particles that meet nothing."""
        changed = [len(self.steps) - 1]
        for i in range(len(self.steps) - 2, -1, -1):
            before = self.steps[i].x
            kept = self.domain.parents(before, self.steps[i + 1].x)
            if kept is before:
                break
            self.counters.pruned_states += self.domain.size(before) - self.domain.size(kept)
            self.steps[i].x = kept
            changed.append(i)
        for i in changed:
            self.filter(self.steps[i])

    def filter(self, step: Step[X, L]) -> None:
        if step.particles is None or not len(step.particles):
            return
        keep = np.flatnonzero(self.domain.meets(step.particles, step.x))
        if len(keep) < len(step.particles):
            self.counters.dropped_particles += len(step.particles) - len(keep)
            step.particles = step.particles.take(keep)
            step.policy = None if step.policy is None else step.policy.take(keep)

    def forget(self, n: int = 0) -> None:
        """Drops the oldest steps until the rest fits the budget, with n particles each; the last two always stay."""
        while len(self.steps) > 2 and self.nbytes(n) > self.settings.memory_budget:
            del self.steps[0]
            self.steps[0].given = True

    def nbytes(self, n: int = 0) -> int:
        """Of all sets and beliefs, those that may be refilled counted with at least n particles."""
        each = self.domain.particle_nbytes(self.settings.ell)
        sets = {id(step.x): self.domain.nbytes(step.x) for step in self.steps}
        particles = sum(step.count if step.given else max(step.count, n) for step in self.steps)
        policies = sum(step.policy.nbytes for step in self.steps if step.policy is not None)
        return sum(sets.values()) + each * particles + policies

    # -- refilling

    def refill(self, n: int, deadline: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Fills the oldest short belief first; the current one is not left empty unless somebody asks to stop."""

        def hurried() -> bool:
            return stop() or time.monotonic() >= deadline

        self.forget(n)
        for i in range(1, len(self.steps)):
            if hurried():
                break
            self.refill_step(i, n, hurried)
        if not self.current.count and not stop():
            self.fill_current(n)
        self.forget()  # what was asked of the sets may have made them larger

    def fill_current(self, n: int) -> None:
        """In haste: from the youngest belief that has particles, if that is no more than a turn ago, or singletons."""
        latest = max((i for i, step in enumerate(self.steps) if step.count), default=0)
        if len(self.steps) - 1 - latest <= HASTY_STEPS:
            for i in range(latest + 1, len(self.steps)):
                self.refill_step(i, min(n, 32), lambda: False)
        if not self.current.count:
            self.add_singletons(len(self.steps) - 1, min(n, 32))

    def refill_step(self, i: int, n: int, hurried: Callable[[], bool]) -> None:
        """`DrawSample` for all missing particles of step i at once, a round of tries after the other."""
        step = self.steps[i]
        while step.count < n and not hurried():
            self.draw_samples(i, min(n - step.count, self.settings.b), hurried)

    def draw_samples(self, i: int, wanted: int, hurried: Callable[[], bool] = lambda: False) -> None:
        step, before = self.steps[i], self.steps[i - 1]
        self.counters.drawn += wanted
        if before.particles is None or not before.count:
            self.add_singletons(i, wanted)
            return
        source, actions = self.try_actions(i, wanted, hurried)
        accepted = np.flatnonzero(source >= 0)
        if len(accepted):
            if not self.domain.ours(before.x):
                self.count_distinct(source[accepted], actions[accepted])
            J = before.particles.take(source[accepted])
            self.add(step, self.move_on(J, before, actions[accepted]))
        missing = wanted - len(accepted)
        if missing and not hurried():
            self.add_singletons(i, missing)

    def try_actions(self, i: int, wanted: int, hurried: Callable[[], bool] = lambda: False) -> tuple[Rows, Ints]:
        """For each particle wanted, a J of B_(i-1) and an action that leads into X_i; -1 where k tries failed.

        Tries are made many at a time, twice as many for each particle in every round; the first that is good counts."""
        before, after = self.steps[i - 1], self.steps[i]
        assert before.particles is not None
        source = np.full(wanted, -1, dtype=np.int64)
        actions = np.zeros(wanted, dtype=np.int32)
        missing = np.arange(wanted)
        ours = self.domain.ours(before.x)
        tries = rounds = 0
        while len(missing) and tries < self.settings.k:
            each = tries_of_round(rounds, self.settings.k - tries, len(missing))
            drawn = self.rng.integers(before.count, size=len(missing) * each)
            if ours:
                assert before.action is not None
                a = np.full(len(drawn), before.action, dtype=np.int32)
            else:
                a = self.opponent_actions(before, drawn, rounds)
            good = self.domain.leads_into(before.particles.take(drawn), before.x, after.x, a).reshape(-1, each)
            first, found = good.argmax(axis=1), good.any(axis=1)
            at = (np.arange(len(missing)) * each + first)[found]
            source[missing[found]] = drawn[at]
            actions[missing[found]] = a[at]
            self.counters.rejections += int(np.where(found, first, each).sum())
            missing = missing[~found]
            tries, rounds = tries + each, rounds + 1
            if hurried():
                break
        return source, actions

    def count_distinct(self, source: Rows, actions: Ints) -> None:
        pairs = set(zip(source.tolist(), actions.tolist(), strict=True))
        self.counters.distinct_actions = len(pairs) / len({j for j, _ in pairs})

    def opponent_actions(self, before: Step[X, L], drawn: Rows, rounds: int) -> Ints:
        """What these particles do, by τ̂ or by Algorithm 1, after so many rounds of tries."""
        policy = self.policy(before, drawn, rounds)
        part, tau = take_legal(policy.legal, policy.tau, drawn)
        if self.settings.belief_bandit == "policy":
            return draw_actions(part, tau, self.rng)
        assert before.particles is not None
        keys = self.domain.keys(before.particles, self.settings.memory_in_key)[drawn]
        node_values = ((1 + policy.values[drawn]) / 2).astype(np.float32)
        return bandit(self.table, keys, part, tau, node_values, self.settings, self.rng, virtual_loss=False).actions

    def policy(self, step: Step[X, L], drawn: Rows, rounds: int = 0) -> Policy:
        """τ̂ of these particles at least. With each round of tries, twice as many are inferred at once, up to b: more
        tries will come, and should not each ask for a handful."""
        assert step.particles is not None
        policy = step.policy or Policy.unknown(self.domain.legal(step.particles, ours=False))
        step.policy = policy
        asked = np.zeros(step.count, np.bool_)
        asked[drawn] = True
        missing = np.flatnonzero(asked & ~policy.inferred)
        if len(missing):
            more = max(0, min(2**rounds - 1, self.settings.b) - len(missing))
            missing = np.concatenate([missing, np.flatnonzero(~asked & ~policy.inferred)[:more]])
        for first in range(0, len(missing), self.settings.b):
            rows = missing[first : first + self.settings.b]
            offsets, where = places(policy.legal, rows)
            features = self.domain.sigma(step.particles.take(rows))
            legal = Legal(policy.legal.actions[where], offsets)
            policy.tau[where], policy.values[rows] = self.evaluator.evaluate(features, legal, opponent=True)
            policy.inferred[rows] = True
        self.counters.inferences += len(missing)
        return policy

    def move_on(self, J: L, before: Step[X, L], actions: Ints) -> L:
        """J after these actions of whoever acts, on the state where J and X_(i-1) stand."""
        ell, one = (np.full(len(J), n, dtype=np.int32) for n in (self.settings.ell, 1))
        truth = self.domain.draw(before.x, len(J), 1, 0, False, J)
        seed = int(self.rng.integers(1 << 63))
        if self.domain.ours(before.x):
            return self.domain.advance(truth, J, actions, one, ell, seed, False)[1]
        return self.domain.advance(J, truth, actions, ell, one, seed, False)[0]

    def add_singletons(self, i: int, wanted: int) -> None:
        before = self.steps[i - 1].x if i > 0 else None
        seed = int(self.rng.integers(1 << 63))
        self.add(self.steps[i], self.domain.singletons(before, self.steps[i].x, wanted, self.settings.ell, seed))
        self.counters.singletons += wanted

    def add(self, step: Step[X, L], particles: L) -> None:
        step.particles = particles if step.particles is None else self.domain.concatenate([step.particles, particles])
        if step.policy is not None:
            step.policy = step.policy.followed_by(Policy.unknown(self.domain.legal(particles, ours=False)))


def tries_of_round(rounds: int, left: int, missing: int) -> int:
    """How often each missing particle is tried at once, after so many rounds and with so many tries left."""
    return int(min(2**rounds, left, max(1, TRIES_AT_ONCE // missing)))


def draw_actions(legal: Legal, priors: Floats, rng: np.random.Generator) -> Ints:
    """An action for each row, drawn from its priors."""
    cumulative = np.concatenate([[0.0], np.cumsum(priors, dtype=np.float64)])
    low, high = cumulative[legal.offsets[:-1]], cumulative[legal.offsets[1:]]
    where = np.searchsorted(cumulative, low + rng.random(len(low)) * (high - low), side="right") - 1
    return np.asarray(legal.actions[np.clip(where, legal.offsets[:-1], legal.offsets[1:] - 1)])
