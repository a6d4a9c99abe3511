"""Algorithms 1 to 4 of the paper, as `penumbra.dsmcp` reads them, in plain loops: the oracle of the fast path.

N, Q and the least values are dictionaries, playouts are followed one by one, virtual losses are added and taken back
one by one. What chance decides comes from the same generator in the same order, and the domain is asked about batches
of the same size, because its kernels draw by row; so every number must come out the same.

The letters are the paper's; see the modules of `penumbra.dsmcp`.
"""

# ruff: noqa: E741  (I is the paper's letter)

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from penumbra.dsmcp.domain import Domain, Evaluator, Features, Floats, Ints, L, Legal, X
from penumbra.dsmcp.settings import Settings

Node = int  # the key of an information state
Question = tuple[Features, Legal, bool]
Answer = tuple[Floats, Floats]


class Statistics:
    """N, Q and the least value of (node, action)."""

    def __init__(self) -> None:
        self.N: defaultdict[tuple[Node, int], float] = defaultdict(float)
        self.Q: defaultdict[tuple[Node, int], float] = defaultdict(float)
        self.least: defaultdict[tuple[Node, int], float] = defaultdict(lambda: 1.0)


def bandit(
    stats: Statistics,
    node: Node,
    actions: Sequence[int],
    pi: Sequence[float],
    value: float,
    chance: Sequence[float],
    s: Settings,
    root: bool = False,
) -> int:
    """Algorithm 1. `value` is the node's own; `chance` has three uniform numbers: to mix, to draw, to break ties."""
    N = [stats.N.get((node, a), 0.0) for a in actions]
    Q = [stats.Q.get((node, a), 0.0) for a in actions]
    least = [stats.least.get((node, a), 1.0) for a in actions]
    n = sum(N)
    mixing = math.exp(-s.m * n) if n > 0 else 1.0
    if not root and mixing > chance[0]:
        return actions[drawn(pi, chance[1])]
    if s.visit_all and 0 in N:
        scores = [math.inf if n_a == 0 else 0.0 for n_a in N]
    else:
        scores = []
        for a in range(len(actions)):
            mean, worst = (Q[a] / N[a], least[a]) if N[a] > 0 else (value, value)
            if s.rule == "ucb1":
                explore = math.sqrt(math.log(max(n, 1.0)) / max(N[a], 1.0))
            else:
                explore = math.sqrt(n) / (1 + N[a])
            scores.append((1 - s.phi) * mean + s.phi * worst + s.c / 2 * pi[a] * explore)
    best = [a for a in range(len(actions)) if scores[a] == max(scores)]
    best = [a for a in best if pi[a] == max(pi[b] for b in best)]
    return actions[best[int(chance[2] * len(best))]]


def drawn(pi: Sequence[float], uniform: float) -> int:
    """A position drawn with these probabilities; any, where all are zero."""
    total = sum(pi)
    if total == 0:
        return int(uniform * len(pi))
    left, last = uniform * total, 0
    for i, p in enumerate(pi):
        if p > 0:
            last = i
            left -= p
            if left < 0:
                break
    return last


@dataclass
class Playout:
    """One of a batch: how deep it goes, and the nodes, actions and players of its way."""

    d: float
    their_ell: int
    nodes: list[Node] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    ours: list[bool] = field(default_factory=list)

    def append(self, node: Node, action: int, ours: bool) -> None:
        self.nodes.append(node)
        self.actions.append(action)
        self.ours.append(ours)


@dataclass
class Step(Generic[X, L]):
    x: X
    particles: L | None = None
    action: int | None = None


class Transcription(Generic[X, L]):
    """Plays one game: `observe` and `choose` as `penumbra.dsmcp.Agent` has them, with a budget of evaluations."""

    def __init__(self, domain: Domain[X, L], evaluator: Evaluator, settings: Settings, x: X, particles: L) -> None:
        self.domain = domain
        self.evaluator = evaluator
        self.s = settings
        self.rng = np.random.default_rng(settings.seed)
        self.stats = Statistics()
        self.steps: list[Step[X, L]] = [Step(x, particles)]
        self.spent = 0

    def seed(self) -> int:
        return int(self.rng.integers(1 << 63))

    # -- Algorithm 4, PlayGame

    def observe(self, x: X, action: int | None = None) -> None:
        self.steps[-1].action = action
        self.steps.append(Step(x))
        for i in range(len(self.steps) - 2, -1, -1):
            self.steps[i].x = self.domain.parents(self.steps[i].x, self.steps[i + 1].x)
        for step in self.steps:
            if step.particles is not None:
                meets = self.domain.meets(step.particles, step.x)
                step.particles = step.particles.take(np.array([r for r, met in enumerate(meets) if met], np.int64))

    def choose(self, nodes: int) -> int:
        x = self.steps[-1].x
        actions, sure = self.domain.root(x, self.s.static_analysis)
        if sure is not None or len(actions) == 1:
            return int(actions[0]) if sure is None else sure
        for i in range(1, len(self.steps)):
            while self.count(i) < self.s.n_particles:
                self.draw_samples(i, min(self.s.n_particles - self.count(i), self.s.b))
        return self.choose_action(x, actions, nodes)

    def count(self, i: int) -> int:
        particles = self.steps[i].particles
        return 0 if particles is None else len(particles)

    # -- Algorithm 2, DrawSample, for some particles of one step

    def draw_samples(self, i: int, wanted: int) -> None:
        before, after = self.steps[i - 1], self.steps[i]
        if not self.count(i - 1):
            return self.add(after, self.singletons(i, wanted))
        assert before.particles is not None
        found: dict[int, tuple[int, int]] = {}  # the particle moved on and its action, for each one wanted
        tau = None if self.domain.ours(before.x) else self.tau(before)
        tries = rounds = 0
        while tries < self.s.k and (missing := [w for w in range(wanted) if w not in found]):
            each = min(2**rounds, self.s.k - tries, max(1, 4096 // len(missing)))  # tries at once
            tries, rounds = tries + each, rounds + 1
            js = self.rng.integers(self.count(i - 1), size=len(missing) * each)
            if tau is None:
                assert before.action is not None
                actions = [before.action] * len(js)
            else:
                actions = self.opponent_actions(before.particles, tau, js.tolist())
            led = self.domain.leads_into(before.particles.take(js), before.x, after.x, np.array(actions, np.int32))
            for n, (j, a, good) in enumerate(zip(js.tolist(), actions, led, strict=True)):
                if good:
                    found.setdefault(missing[n // each], (j, a))
        accepted = [found[w] for w in range(wanted) if w in found]
        if accepted:
            J = before.particles.take(np.array([j for j, _ in accepted]))
            self.add(after, self.moved_on(J, before.x, np.array([a for _, a in accepted], np.int32)))
        if len(accepted) < wanted:
            self.add(after, self.singletons(i, wanted - len(accepted)))
        return None

    def tau(self, step: Step[X, L]) -> list[tuple[list[int], list[float], float]]:
        """For each particle its actions, τ̂ and value."""
        assert step.particles is not None
        rows: list[tuple[list[int], list[float], float]] = []
        for first in range(0, len(step.particles), self.s.b):
            part = step.particles.take(np.arange(first, min(first + self.s.b, len(step.particles))))
            legal = self.domain.legal(part, prune=False)
            priors, values = self.evaluator.evaluate(self.domain.sigma(part), legal, opponent=True)
            rows += split(legal, priors, values)
        return rows

    def opponent_actions(
        self, particles: L, tau: list[tuple[list[int], list[float], float]], js: list[int]
    ) -> list[int]:
        if self.s.belief_bandit == "policy":
            uniforms = self.rng.random(len(js)).tolist()
            return [tau[j][0][drawn(tau[j][1], u)] for j, u in zip(js, uniforms, strict=True)]
        keys = self.domain.keys(particles, self.s.memory_in_key).tolist()
        chances = self.rng.random((len(js), 3)).tolist()
        chosen = []
        for j, chance in zip(js, chances, strict=True):
            actions, priors, q = tau[j]
            chosen.append(bandit(self.stats, keys[j], actions, priors, as_value(q), chance, self.s))
        return chosen

    def moved_on(self, J: L, x: X, actions: Ints) -> L:
        one, ell = np.full(len(J), 1, np.int32), np.full(len(J), self.s.ell, np.int32)
        truth = self.domain.draw(x, len(J), 1, 0, False, J)
        seed = self.seed()
        if self.domain.ours(x):
            return self.domain.advance(truth, J, actions, one, ell, seed, False)[1]
        return self.domain.advance(J, truth, actions, ell, one, seed, False)[0]

    def singletons(self, i: int, n: int) -> L:
        return self.domain.singletons(self.steps[i - 1].x, self.steps[i].x, n, self.s.ell, self.seed())

    def add(self, step: Step[X, L], particles: L) -> None:
        old = step.particles
        step.particles = particles if old is None else self.domain.concatenate([old, particles])

    # -- Algorithm 3, ChooseAction

    def choose_action(self, x: X, actions: Ints, nodes: int) -> int:
        s = self.s
        salt = self.seed()
        samples = 1 if self.domain.size(x) <= s.ell else s.b
        batch = self.domain.draw(x, samples, s.ell, self.seed(), False, None)
        legal = Legal(np.tile(actions, samples), np.arange(samples + 1, dtype=np.int64) * len(actions))
        priors, values = self.evaluator.evaluate(self.domain.sigma(batch), legal, opponent=False)
        self.spent = samples
        mean = priors.reshape(samples, -1).mean(axis=0, dtype=np.float64)
        key = self.seed()
        pi = mean.astype(np.float32)
        root = key, [int(a) for a in actions], pi.tolist(), float(np.float32((1 + float(values.mean())) / 2))

        under_way: deque[tuple[Generator[Question, Answer, None], Question]] = deque()
        launched = 0
        while True:
            while len(under_way) < s.in_flight and (launched == 0 or self.spent < nodes):
                launched += 1
                playouts = self.playouts(x, root, salt)
                for question in playouts:
                    under_way.append((playouts, question))
                    break
            if not under_way:
                break
            playouts, question = under_way.popleft()
            try:
                under_way.append((playouts, playouts.send(self.evaluator.evaluate(*question))))
            except StopIteration:
                continue
        return self.final_choice(root[0], root[1], pi.tolist())

    def playouts(
        self, x: X, root: tuple[Node, list[int], list[float], float], salt: int
    ) -> Generator[Question, Answer, None]:
        s, domain, stats, keyed = self.s, self.domain, self.stats, self.s.cut == "keyed"
        kind, ours = domain.kind(x), True
        belief = self.steps[-1].particles
        assert belief is not None
        J = belief.take(self.rng.integers(len(belief), size=s.b))
        I = domain.draw(x, s.b, s.ell, salt if keyed else self.seed(), keyed, J)
        cautious = self.rng.random(s.b) < s.kappa
        batch = [Playout(s.d[kind], s.cautious_ell if c else s.ell) for c in cautious]
        chances = self.rng.random((s.b, 3)).tolist()
        for playout, chance in zip(batch, chances, strict=True):
            self.select(playout, *root, chance, ours, is_root=True)

        t = 0
        while batch:
            seed = salt if keyed else self.seed()
            a = np.array([playout.actions[t] for playout in batch], np.int32)
            our_ell = np.full(len(batch), s.ell, np.int32)
            their_ell = np.array([playout.their_ell for playout in batch], np.int32)
            if ours:
                I, J, results = domain.advance(I, J, a, our_ell, their_ell, seed, keyed)
            else:
                J, I, results = domain.advance(J, I, a, their_ell, our_ell, seed, keyed)
            batch, I, J = self.ended(batch, t, results, ours, I, J)
            kind, same = domain.after(kind)
            ours = ours == same
            if s.static_analysis and batch:
                batch, I, J = self.ended(batch, t, domain.settle(I if ours else J, ours), ours, I, J)
                if s.exposed_king and not ours and batch:
                    batch, I, J = self.ended(batch, t, domain.exposed(I), True, I, J)
            if not batch:
                return
            K = I if ours else J

            for playout in batch:
                # The virtual loss of a_t was added when it was chosen; the playout's own does not deepen it.
                playout.d += stats.N[playout.nodes[t], playout.actions[t]] - s.n_vl > s.z
            for playout in batch:
                for i in range(t):
                    self.lend(playout.nodes[i], playout.actions[i])
            legal = domain.legal(K, prune=ours and s.prune_senses)
            mu, q = yield domain.sigma(K), legal, not ours
            self.spent += len(batch)

            rows = split(legal, mu, q)
            keys = domain.keys(K, s.memory_in_key).tolist()
            deeper = [r for r, playout in enumerate(batch) if playout.d > t + 1]
            chances = self.rng.random((len(deeper), 3)).tolist() if deeper else []
            for r, chance in zip(deeper, chances, strict=True):
                actions, priors, value = rows[r]
                self.select(batch[r], keys[r], actions, priors, as_value(value), chance, ours)
            for playout, (_, _, value) in zip(batch, rows, strict=True):
                self.credit(playout, t, value, ours, 1, lent_from=0)
            batch = [batch[r] for r in deeper]
            I, J = I.take(np.array(deeper, np.int64)), J.take(np.array(deeper, np.int64))
            t += 1

    def select(
        self,
        playout: Playout,
        node: Node,
        actions: list[int],
        pi: list[float],
        value: float,
        chance: list[float],
        ours: bool,
        is_root: bool = False,
    ) -> None:
        """Chooses the playout's next action and adds the virtual loss to it."""
        a = bandit(self.stats, node, actions, pi, value, chance, self.s, is_root)
        playout.append(node, a, ours)
        self.lend(node, a)

    def lend(self, node: Node, action: int) -> None:
        """The virtual loss: visits of a value of their own, until the playout is credited."""
        self.stats.N[node, action] += self.s.n_vl
        self.stats.Q[node, action] += self.s.n_vl * self.s.virtual_value

    def ended(
        self, batch: list[Playout], t: int, results: Floats, ours: bool, I: L, J: L
    ) -> tuple[list[Playout], L, L]:
        """Credits what has a result, and keeps the rest."""
        rest = []
        for r, playout in enumerate(batch):
            if math.isnan(results[r]):
                rest.append(r)
                continue
            weight = max(playout.d - t, 1) if self.s.weigh_ended else 1
            self.credit(playout, t, float(results[r]), ours, weight, lent_from=t)
            self.spent += 1
        kept = np.array(rest, np.int64)
        return [batch[r] for r in rest], I.take(kept), J.take(kept)

    def credit(self, playout: Playout, t: int, q: float, ours: bool, weight: float, lent_from: int) -> None:
        """To every action on the way; what was lent to those from `lent_from` on is taken back."""
        for i in range(t + 1):
            at = playout.nodes[i], playout.actions[i]
            value = (1 + q) / 2 if playout.ours[i] == ours else (1 - q) / 2
            back = self.s.n_vl if i >= lent_from else 0
            self.stats.Q[at] += weight * value - back * self.s.virtual_value
            self.stats.N[at] += weight - back
            self.stats.least[at] = min(self.stats.least[at], float(np.float32(value)))

    def final_choice(self, node: Node, actions: list[int], pi: list[float]) -> int:
        N = [self.stats.N.get((node, a), 0.0) for a in actions]
        Q = [self.stats.Q.get((node, a), 0.0) for a in actions]
        visited = [i for i in range(len(actions)) if N[i] > 0]
        if self.s.choice == "proportional":
            return int(self.rng.choice(actions, p=np.array(N) / sum(N)))
        means = [q / n if n else 0.0 for q, n in zip(Q, N, strict=True)]
        score = {"total": Q, "visits": N, "mean": means}[self.s.choice]
        best = [i for i in visited if score[i] == max(score[v] for v in visited)]
        best = [i for i in best if pi[i] == max(pi[b] for b in best)]
        return actions[int(self.rng.choice(best))]


def as_value(q: float) -> float:
    """A win probability, as precise as the table keeps a node's own."""
    return float(np.float32((1 + np.float32(q)) / 2))


def split(legal: Legal, priors: Floats, values: Floats) -> list[tuple[list[int], list[float], float]]:
    """Actions, priors and value of each row."""
    bounds = list(zip(legal.offsets[:-1], legal.offsets[1:], strict=True))
    return [
        (legal.actions[low:high].tolist(), priors[low:high].tolist(), float(value))
        for (low, high), value in zip(bounds, values, strict=True)
    ]
