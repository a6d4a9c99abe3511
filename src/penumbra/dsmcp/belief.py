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
the cost; a J is inferred when it is first tried, once for all its tries; below the memory budget the oldest steps
are forgotten, and the new oldest belief is then only filtered, never refilled. Three are settings:
`belief_bandit = "policy"` draws from τ̂ alone, because Algorithm 1 turns deterministic for a J that the search has
visited; `refill = "current"` refills in another order (refill.py); `sampling = "enumeration"` gives every pair of a J
and an action that leads into X_i the weight τ̂_J(a) and draws the particles among those pairs. Rejection accepts pairs
with just these probabilities, so the distribution is the same; but no try is wasted, and the draws are spread evenly
over the weights, so that no pair is taken twice while another of the same weight is not taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic

import numpy as np
import numpy.typing as npt

from penumbra.core import NodeTable, draw_actions
from penumbra.dsmcp.bandit import bandit
from penumbra.dsmcp.domain import (
    Domain,
    Evaluator,
    Flags,
    Floats,
    Ints,
    L,
    Legal,
    Rows,
    X,
    places,
    sharpened,
    take_legal,
)
from penumbra.dsmcp.refill import LEAST, refill_current_first
from penumbra.dsmcp.settings import Settings

TRIES_AT_ONCE = 4096  # of all particles together
HASTY_STEPS = 4  # that a belief is carried on without looking at the time: the steps of a turn of each player
FEW = 32  # particles that are made in haste
UNMEASURED = 2e-4  # seconds of a particle, until it is known what one takes
REACH = 4  # times as many particles as are wanted may be inferred to draw them from
ANCESTRY = 4  # steps back to which the ancestors of a particle are known: a turn of each player


@dataclass
class BeliefCounters:
    drawn: int = 0
    rejections: float = 0.0  # by enumeration: as many as rejection is expected to have needed
    singletons: int = 0
    pruned_states: int = 0
    dropped_particles: int = 0
    inferences: int = 0
    seconds: float = 0.0  # spent refilling
    distinct_actions: float = 0.0  # different actions per particle moved on, when some were drawn last


@dataclass(frozen=True)
class Health:
    """The current belief at a decision, and what it took to refill it since the decision before."""

    particles: int
    ancestors: int  # different particles of four steps ago that they come from
    singletons: int  # of the particles, those that stand for ignorance
    rejections: float  # for each particle drawn
    inferences: int
    seconds: float
    few: bool  # fewer particles than `LEAST` or than are wanted, unless there was nothing to refill them from


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

    def copy(self) -> Policy:
        return Policy(self.legal, self.tau.copy(), self.values.copy(), self.inferred.copy())

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
    lineage: Rows = field(default_factory=lambda: np.zeros((0, ANCESTRY + 1), np.int64))  # [B, 5]: numbers of the
    # particle and of its ancestors, the nearest first; its own where it has none
    ignorant: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))  # [B]: the singletons
    _distinct: int | None = None

    @property
    def count(self) -> int:
        return 0 if self.particles is None else len(self.particles)

    def distinct(self, domain: Domain[X, L]) -> int:
        """How many different particles there are."""
        if self._distinct is None:
            self._distinct = len(np.unique(domain.keys(self.particles, True))) if self.particles is not None else 0
        return self._distinct

    def keep(self, rows: Rows) -> None:
        """Drops all other particles."""
        assert self.particles is not None
        self.particles = self.particles.take(rows)
        self.policy = None if self.policy is None else self.policy.take(rows)
        self.lineage, self.ignorant, self._distinct = self.lineage[rows], self.ignorant[rows], None

    def add(self, domain: Domain[X, L], particles: L, lineage: Rows, ignorant: bool) -> None:
        self.particles = particles if self.particles is None else domain.concatenate([self.particles, particles])
        if self.policy is not None:
            self.policy = self.policy.followed_by(Policy.unknown(domain.legal(particles, prune=False)))
        self.lineage = np.concatenate([self.lineage, lineage])
        self.ignorant = np.concatenate([self.ignorant, np.full(len(particles), ignorant)])
        self._distinct = None


@dataclass
class Belief(Generic[X, L]):
    domain: Domain[X, L]
    evaluator: Evaluator
    table: NodeTable
    settings: Settings
    rng: np.random.Generator
    steps: list[Step[X, L]] = field(default_factory=list)
    counters: BeliefCounters = field(default_factory=BeliefCounters)
    particle_seconds: float = UNMEASURED  # what a particle took lately (refill.py)
    at_once: int | None = None  # particles drawn or inferred between two looks at the time; None: as many as wanted
    _numbered: int = 0  # particles so far
    _reported: BeliefCounters = field(default_factory=BeliefCounters)  # as they were when health was asked for last

    def start(self, x: X, particles: L) -> None:
        self.steps = [Step(x, given=True)]
        self.current.add(self.domain, particles, self.first_lineage(len(particles)), ignorant=False)

    def copy(self) -> Belief[X, L]:
        """The same belief, to be refilled or advanced while this one stays as it is; the random numbers are shared."""
        steps = [replace(step, policy=None if step.policy is None else step.policy.copy()) for step in self.steps]
        return replace(self, steps=steps, counters=replace(self.counters), _reported=replace(self._reported))

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
            self.current.given = True
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
            step.keep(keep)

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
        """Fills beliefs up to n particles until the deadline, in the order that the settings say.

        The current one is not left empty unless somebody asks to stop.
        """
        began = time.monotonic()
        self.forget(n)
        if self.settings.refill == "paper":
            self.refill_oldest_first(n, lambda: stop() or time.monotonic() >= deadline)
        else:
            refill_current_first(self, n, deadline, stop)
        if not self.current.count and not stop():
            self.fill_current(n)
        self.forget()  # what was asked of the sets may have made them larger
        self.counters.seconds += time.monotonic() - began

    def refill_oldest_first(self, n: int, hurried: Callable[[], bool]) -> None:
        """The paper's order: the smallest i with too few particles."""
        for i in range(1, len(self.steps)):
            if hurried():
                break
            self.refill_step(i, n, hurried)

    def fill_current(self, n: int) -> None:
        """In haste: from the youngest belief that has particles, if that is no more than a turn ago, or singletons."""
        latest = max((i for i, step in enumerate(self.steps) if step.count), default=0)
        if len(self.steps) - 1 - latest <= HASTY_STEPS:
            for i in range(latest + 1, len(self.steps)):
                self.refill_step(i, min(n, FEW), lambda: False)
        if not self.current.count:
            self.add_singletons(len(self.steps) - 1, min(n, FEW))

    def refill_step(self, i: int, n: int, hurried: Callable[[], bool]) -> None:
        """`DrawSample` for all missing particles of step i."""
        step, before = self.steps[i], self.steps[i - 1]
        while step.count < n and not hurried():
            wanted = min(n - step.count, self.at_once or n)
            if not before.count:
                self.add_singletons(i, wanted)
            elif self.settings.sampling == "rejection":
                self.draw_by_rejection(i, min(wanted, self.settings.b), hurried)
            else:
                self.draw_by_enumeration(i, wanted, hurried)

    def draw_by_rejection(self, i: int, wanted: int, hurried: Callable[[], bool]) -> None:
        """A round of tries after the other, for all particles wanted at once."""
        source, actions = self.try_actions(i, wanted, hurried)
        accepted = np.flatnonzero(source >= 0)
        self.add_moved(i, source[accepted], actions[accepted])
        if len(accepted) < wanted and not hurried():
            self.add_singletons(i, wanted - len(accepted))

    def draw_by_enumeration(self, i: int, wanted: int, hurried: Callable[[], bool]) -> None:
        """Pairs of a J and an action that lead into X_i, in proportion to τ̂; fewer than wanted where time runs out."""
        before = self.steps[i - 1]
        if self.domain.ours(before.x):
            assert before.action is not None
            rows = np.arange(before.count)
            legal = Legal(np.full(before.count, before.action, np.int32), np.arange(before.count + 1))
            weights = self.weights(i, rows, legal, np.ones(before.count, np.float32))
        else:
            order = self.unused_first(before)
            n = min(wanted, before.count)
            while True:
                rows = self.inferred(before, order[:n], hurried)
                assert before.policy is not None
                legal, tau = take_legal(before.policy.legal, before.policy.tau, rows)
                weights = self.weights(i, rows, legal, tau)
                if len(rows) < n:
                    wanted = -(-wanted * len(rows) // n)
                # Rejection would go on to other particles until as many were accepted as are wanted.
                accepted, most = float(weights.sum()), min(before.count, REACH * wanted)
                if accepted >= wanted or n >= most or hurried():
                    break
                n = min(most, 2 * n)
        chance = min(1.0, float(weights.sum()) / len(rows))  # of one try to be accepted
        singletons = int(self.rng.binomial(wanted, (1 - chance) ** self.settings.k))
        drawn = spread_draws(weights, wanted - singletons, self.rng)
        self.counters.rejections += len(drawn) * (1 - chance) / max(chance, 1e-9) + singletons * self.settings.k
        self.add_moved(i, np.repeat(rows, np.diff(legal.offsets))[drawn], legal.actions[drawn])
        if singletons:
            self.add_singletons(i, singletons)

    def weights(self, i: int, rows: Rows, legal: Legal, tau: Floats) -> npt.NDArray[np.float64]:
        """τ̂ of each action of these particles of the step before that leads into X_i, 0 of the others."""
        before = self.steps[i - 1]
        assert before.particles is not None
        owners = np.repeat(rows, np.diff(legal.offsets))
        leads = self.domain.leads_into(before.particles, before.x, self.steps[i].x, legal.actions, owners)
        return np.where(leads, tau, 0).astype(np.float64)

    def unused_first(self, step: Step[X, L]) -> Rows:
        """The particles in random order, those before others that have not been inferred: nothing was drawn yet from
        them."""
        order = self.rng.permutation(step.count)
        if step.policy is not None:
            order = order[np.argsort(step.policy.inferred[order], kind="stable")]
        return order

    def inferred(self, step: Step[X, L], rows: Rows, hurried: Callable[[], bool]) -> Rows:
        """Infers these particles, b at a time; those for which there was time."""
        b = min(self.settings.b, self.at_once or self.settings.b)
        for first in range(0, len(rows), b):
            some = rows[: first + b]
            self.policy(step, some)
            if hurried():
                break
        return np.sort(some)

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
            each = tries_of_round(rounds, self.settings.k - tries, len(missing), self.at_once)
            drawn = self.rng.integers(before.count, size=len(missing) * each)
            if ours:
                assert before.action is not None
                a = np.full(len(drawn), before.action, dtype=np.int32)
            else:
                a = self.opponent_actions(before, drawn, rounds)
            good = self.domain.leads_into(before.particles, before.x, after.x, a, drawn).reshape(-1, each)
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
        if self.settings.belief_bandit == "policy":
            return draw_actions(*policy.legal, policy.tau, drawn, self.rng.random(len(drawn)))
        assert before.particles is not None
        part, tau = take_legal(policy.legal, policy.tau, drawn)
        keys = self.domain.keys(before.particles, self.settings.memory_in_key)[drawn]
        node_values = ((1 + policy.values[drawn]) / 2).astype(np.float32)
        return bandit(self.table, keys, part, tau, node_values, self.settings, self.rng, virtual_loss=False).actions

    def policy(self, step: Step[X, L], drawn: Rows, rounds: int = 0) -> Policy:
        """τ̂ of these particles at least. With each round of tries, twice as many are inferred at once, up to b: more
        tries will come, and should not each ask for a handful."""
        assert step.particles is not None
        policy = step.policy or Policy.unknown(self.domain.legal(step.particles, prune=False))
        step.policy = policy
        asked = np.zeros(step.count, np.bool_)
        asked[drawn] = True
        missing = np.flatnonzero(asked & ~policy.inferred)
        if len(missing):
            more = max(0, min(2**rounds - 1, self.at_once or self.settings.b) - len(missing))
            missing = np.concatenate([missing, np.flatnonzero(~asked & ~policy.inferred)[:more]])
        for first in range(0, len(missing), self.settings.b):
            rows = missing[first : first + self.settings.b]
            offsets, where = places(policy.legal, rows)
            features = self.domain.sigma(step.particles, rows)
            legal = Legal(policy.legal.actions[where], offsets)
            tau, policy.values[rows] = self.evaluator.evaluate(features, legal, opponent=True)
            temperature = self.settings.belief_temperature
            policy.tau[where] = tau if temperature == 1 else sharpened(tau, legal, temperature)
            policy.inferred[rows] = True
        self.counters.inferences += len(missing)
        return policy

    def add_moved(self, i: int, source: Rows, actions: Ints) -> None:
        """Particles of step i: these of the step before after these actions."""
        if not len(source):
            return
        self.counters.drawn += len(source)
        before, step = self.steps[i - 1], self.steps[i]
        assert before.particles is not None
        if not self.domain.ours(before.x):
            self.count_distinct(source, actions)
        seed = int(self.rng.integers(1 << 63))
        moved = self.domain.advance_particles(before.particles, source, before.x, actions, self.settings.ell, seed)
        lineage = np.concatenate([self.first_lineage(len(source))[:, :1], before.lineage[source, :-1]], axis=1)
        step.add(self.domain, moved, lineage, ignorant=False)

    def first_lineage(self, n: int) -> Rows:
        """Of n new particles without ancestors."""
        numbers = np.arange(self._numbered, self._numbered + n)
        self._numbered += n
        return np.repeat(numbers[:, None], ANCESTRY + 1, axis=1)

    def add_singletons(self, i: int, wanted: int) -> None:
        self.counters.drawn += wanted
        before = self.steps[i - 1].x if i > 0 else None
        seed = int(self.rng.integers(1 << 63))
        particles = self.domain.singletons(before, self.steps[i].x, wanted, self.settings.ell, seed)
        self.steps[i].add(self.domain, particles, self.first_lineage(wanted), ignorant=True)
        self.counters.singletons += wanted

    # -- how it stands

    def health(self) -> Health:
        """Of the current belief, with what was done since this was asked last."""
        step, now, then = self.current, self.counters, self._reported
        self._reported = replace(now)
        return Health(
            step.count,
            len(np.unique(step.lineage[:, -1])),
            int(step.ignorant.sum()),
            (now.rejections - then.rejections) / max(1, now.drawn - then.drawn),
            now.inferences - then.inferences,
            now.seconds - then.seconds,
            step.count < min(LEAST, self.settings.n_particles) and not step.given,
        )


def tries_of_round(rounds: int, left: int, missing: int, at_once: int | None = None) -> int:
    """How often each missing particle is tried at once, after so many rounds and with so many tries left."""
    return int(min(2**rounds, left, max(1, (at_once or TRIES_AT_ONCE) // missing)))


def spread_draws(weights: npt.NDArray[np.float64], n: int, rng: np.random.Generator) -> Rows:
    """n positions, each drawn with a chance in proportion to its weight: one from each nth part of the total.

    One random number for all draws would spread them more evenly still, but then rows of equal weight, as policies
    are, would all be asked for the same quantile.
    """
    total = float(weights.sum())
    if n <= 0 or total <= 0:
        return np.zeros(0, np.int64)
    cumulative = np.cumsum(weights)
    where = np.searchsorted(cumulative, (rng.random(n) + np.arange(n)) * (cumulative[-1] / n), side="right")
    return np.asarray(np.minimum(where, int(np.flatnonzero(weights)[-1])))
