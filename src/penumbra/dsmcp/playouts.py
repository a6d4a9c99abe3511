"""Algorithm 3, `ChooseAction`: UCT playouts from samples of the belief.

    B   belief: the opponent's information states      X   states we hold possible      d   search depth in steps
    I   our information state, J the opponent's        K_t the one of the player to act after step t
    a_t action of step t, chosen at K_(t-1); K_(-1) is the root
    π̄   average of π∘σ over drawings of our ℓ-subset of X
    N, Q visits and total values of (K_(t-1), a_t); values are win probabilities of the player who chose

The statistics of a_t live at the node where it was chosen, so that this is a search: reading the paper's index of K
otherwise would credit the node the action leads to. After each step the node of the player to act is evaluated, and the
value goes to every action on the way. Virtual loss makes n_vl visits of each of them until then, of the value ½ that
the paper's visits without value have on this scale, and cancels exactly; `Paths`, which is native, knows the way of
each playout and what is lent to it. A playout that ends before its depth stops there, as in the paper; with
`weigh_ended` it adds its result once for every step left, so that a short win weighs as much as a long hope. What a
player knows beyond the paper comes in through `RootPolicy`.

Playouts advance in batches of b. A batch is a generator that asks for evaluations; `in_flight` of them take turns in a
fixed order, so the kernels of one run while the other waits for the evaluator, and a seed gives the same search for any
number of threads.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from penumbra.core import NodeTable, Paths
from penumbra.dsmcp.bandit import bandit
from penumbra.dsmcp.domain import (
    Domain,
    Evaluator,
    Features,
    Flags,
    Floats,
    Ints,
    L,
    Legal,
    Rows,
    X,
    sharpened,
    take_legal,
)
from penumbra.dsmcp.root_policy import AtRoot, Root, RootPolicy, Scores
from penumbra.dsmcp.settings import Settings


class Request(NamedTuple):
    """What a batch of playouts wants evaluated."""

    features: Features
    legal: Legal
    opponent: bool


Reply = tuple[Floats, Floats]  # priors along the legal actions, values
Playouts = Generator[Request, Reply, None]
Answer = Callable[[], Reply]


class Asker:
    """Puts questions to the evaluator, in a thread of its own where several batches are under way."""

    def __init__(self, evaluator: Evaluator, threaded: bool) -> None:
        self.evaluator = evaluator
        self.executor = ThreadPoolExecutor(1) if threaded else None

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.executor is not None:
            self.executor.shutdown()

    def ask(self, request: Request) -> Answer:
        if self.executor is None:
            return lambda: self.evaluator.evaluate(*request)
        return self.executor.submit(self.evaluator.evaluate, *request).result


class HitRate:
    """How often the node table knows the nodes that playouts meet, by depth (rows) and log2 of set size (columns)."""

    def __init__(self) -> None:
        self.met = np.zeros((64, 8), np.int64)
        self.known = np.zeros((64, 8), np.int64)

    def count(self, depth: int, sizes: Ints, known: Flags) -> None:
        bins = np.minimum(np.log2(sizes).astype(np.int64), 7)
        self.met[min(depth, 63)] += np.bincount(bins, minlength=8)
        self.known[min(depth, 63)] += np.bincount(bins[known], minlength=8)

    def shares(self) -> npt.NDArray[np.float64]:
        """NaN where no node was met."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.known / self.met)


@dataclass
class Counters:
    """What happened in a search."""

    nodes: int = 0  # evaluations
    playouts: int = 0
    ended: int = 0
    wait_seconds: float = 0.0  # waiting for the evaluator
    hit_rate: HitRate | None = None  # None: not counted


@dataclass(frozen=True)
class Budget:
    """When to stop: at a moment of time.monotonic(), or after so many evaluations, the end of a playout being one."""

    deadline: float = math.inf
    nodes: float = math.inf

    def spent(self, counters: Counters) -> bool:
        return counters.nodes + counters.ended >= self.nodes or time.monotonic() >= self.deadline


class Search(Generic[X, L]):
    """One decision's playouts."""

    def __init__(
        self,
        domain: Domain[X, L],
        evaluator: Evaluator,
        table: NodeTable,
        settings: Settings,
        rng: np.random.Generator,
        x: X,
        belief: L | None,  # None where there are to be no playouts
        root_policy: RootPolicy[X, L] | None = None,
    ) -> None:
        self.domain = domain
        self.evaluator = evaluator
        self.table = table
        self.settings = settings
        self.rng = rng
        self.x = x
        self.belief = belief
        self.root_policy: RootPolicy[X, L] = root_policy or RootPolicy()
        self.counters = Counters()
        self.salt = self.seed()  # of keyed cuts: one for the whole decision

    def seed(self) -> int:
        return int(self.rng.integers(1 << 63))

    def prepare_root(self, actions: Ints, rows: int, deadline: float = math.inf) -> Root:
        """π̄ and the average value over drawings of our ℓ-subset; one drawing where X fits into ℓ."""
        rows = 1 if self.domain.size(self.x) <= self.settings.ell else rows
        batch = self.domain.draw(self.x, rows, self.settings.ell, self.seed(), False, None)
        legal = Legal(np.tile(actions, rows), np.arange(rows + 1, dtype=np.int64) * len(actions))
        priors, values = self.evaluator.evaluate(self.domain.sigma(batch), legal, opponent=False)
        self.counters.nodes += rows
        pi = priors.reshape(rows, len(actions)).mean(axis=0, dtype=np.float64).astype(np.float32)
        left = None if math.isinf(deadline) else max(0.0, deadline - time.monotonic())
        judged = self.root_policy.prior(AtRoot(self.x, self.belief, actions, pi, left, self.rng))
        if judged is not pi and judged.any():
            actions, pi = actions[judged > 0], judged[judged > 0]
            pi = (pi / pi.sum(dtype=np.float64)).astype(np.float32)
        return Root(self.seed(), actions, pi, float(values.mean()))

    def run(self, root: Root, budget: Budget) -> None:
        """Playouts until the budget is spent; at least one batch."""
        b = self.settings.b
        with Asker(self.evaluator, self.settings.in_flight > 1) as asker:
            under_way: deque[tuple[Playouts, Answer]] = deque()
            try:
                self.go_on(under_way, asker, self.batch(root, b), None)
                while True:
                    while len(under_way) < self.settings.in_flight and not budget.spent(self.counters):
                        self.go_on(under_way, asker, self.batch(root, b), None)
                    if not under_way:
                        break
                    playouts, answer = under_way.popleft()
                    began = time.perf_counter()
                    reply = answer()
                    self.counters.wait_seconds += time.perf_counter() - began
                    if time.monotonic() >= budget.deadline:
                        playouts.close()
                    else:
                        self.go_on(under_way, asker, playouts, reply)
            finally:
                for playouts, _ in under_way:
                    playouts.close()

    def go_on(
        self, under_way: deque[tuple[Playouts, Answer]], asker: Asker, playouts: Playouts, reply: Reply | None
    ) -> None:
        """Lets one batch go on to its next question, if it has another."""
        try:
            request = next(playouts) if reply is None else playouts.send(reply)
        except StopIteration:
            return
        under_way.append((playouts, asker.ask(request)))

    def batch(self, root: Root, b: int) -> Playouts:
        """Algorithm 3's loop for b playouts at once."""
        s, domain, table, rng = self.settings, self.domain, self.table, self.rng
        kind, ours = domain.kind(self.x), True
        assert self.belief is not None
        keyed = s.cut == "keyed"
        J = self.belief.take(rng.integers(len(self.belief), size=b))
        I = domain.draw(self.x, b, s.ell, self.salt if keyed else self.seed(), keyed, J)
        d = np.full(b, s.d[kind])
        our_ell = np.full(b, s.ell, dtype=np.int32)
        their_ell = np.where(rng.random(b) < s.kappa, s.cautious_ell, s.ell).astype(np.int32)

        path = Paths(table, b, s.n_vl, s.virtual_value)
        rows = np.arange(b)  # the playouts still under way
        root_legal = Legal(np.tile(root.actions, b), np.arange(b + 1, dtype=np.int64) * len(root.actions))
        keys = np.full(b, root.key, dtype=np.uint64)
        value = np.full(b, (1 + root.value) / 2, dtype=np.float32)
        pi = np.tile(root.pi, b)
        a = bandit(table, keys, root_legal, pi, value, s, rng, root=True).actions
        path.append(rows, keys, a, ours)
        self.counters.playouts += b
        try:
            t = 0
            while len(rows):
                # Play a_t on the states where I and J meet.
                seed = self.salt if keyed else self.seed()
                if ours:
                    I, J, results = domain.advance(I, J, a, our_ell[rows], their_ell[rows], seed, keyed)
                else:
                    J, I, results = domain.advance(J, I, a, their_ell[rows], our_ell[rows], seed, keyed)
                over = self.end(path, rows, d[rows] - t, results, ours)
                kind, same = domain.after(kind)
                ours = ours if same else not ours
                if s.static_analysis and not over.all():
                    settled = np.where(over, np.float32(np.nan), domain.settle(I if ours else J, ours))
                    over |= self.end(path, rows, d[rows] - t, settled, ours)
                    if s.exposed_king and not ours:
                        exposed = np.where(over, np.float32(np.nan), domain.exposed(I))
                        over |= self.end(path, rows, d[rows] - t, exposed, True)
                if over.any():
                    rest = np.flatnonzero(~over)
                    I, J, rows = I.take(rest), J.take(rest), rows[rest]
                if not len(rows):
                    break
                K = I if ours else J

                # Evaluate K_t.
                if s.z < math.inf:
                    d[rows] += path.visits(rows) - s.n_vl > s.z
                path.add_virtual_loss(rows)
                legal = domain.legal(K, prune=ours and s.prune_senses)
                mu, q = yield Request(domain.sigma(K), legal, not ours)
                if not ours and s.reply_temperature != 1:
                    mu = sharpened(mu, legal, s.reply_temperature)
                self.counters.nodes += len(rows)

                # Choose a_(t+1), then credit every action on the way.
                going_on = np.flatnonzero(d[rows] > t + 1)
                keys, a = np.empty(0, np.uint64), np.empty(0, np.int32)
                if len(going_on):
                    keys = domain.keys(K, s.memory_in_key)[going_on]
                    node_value = ((1 + q[going_on]) / 2).astype(np.float32)
                    chosen = bandit(table, keys, *take_legal(legal, mu, going_on), node_value, s, rng)
                    if self.counters.hit_rate is not None:
                        self.counters.hit_rate.count(t, K.counts[going_on], chosen.known)
                    a = chosen.actions
                path.credit(rows, q, ours, np.ones(len(rows)))
                if len(going_on) < len(rows):
                    I, J, rows = I.take(going_on), J.take(going_on), rows[going_on]
                path.append(rows, keys, a, ours)
                t += 1
        finally:
            path.cancel()

    def end(self, path: Paths, rows: Rows, steps_left: npt.NDArray[np.int64], results: Floats, ours: bool) -> Flags:
        """Credits the playouts that have a result, which is our player's or the other's, and says which these are."""
        over = ~np.isnan(results)
        ended = rows[over]
        if len(ended):
            weights = np.maximum(steps_left[over], 1) if self.settings.weigh_ended else np.ones(len(ended))
            path.credit(ended, results[over], ours, weights.astype(np.float64))
            self.counters.ended += len(ended)
        return over


def final_choice(
    table: NodeTable,
    root: Root,
    settings: Settings,
    rng: np.random.Generator,
    root_policy: RootPolicy[Any, Any] | None = None,
) -> int:
    """The action to perform, among those visited; π̄ decides where none was, and between equals."""
    statistics = table.statistics(root.key, root.actions)  # [A, 3]: N, Q, least
    n, q = statistics[:, 0], statistics[:, 1]
    visited = n > 0
    if not visited.any():
        return policy_choice(root, settings, rng)
    scores: dict[str, Scores] = {
        "total": q,
        "mean": q / np.maximum(n, 1e-9),
        "visits": n,
        "proportional": n,
    }
    score = scores[settings.choice]
    if root_policy is not None:
        score = root_policy.score(root, n, q, score)
    if settings.choice == "proportional":
        weights = np.where(visited, score, 0)
        return int(rng.choice(root.actions, p=weights / weights.sum()))
    best = np.flatnonzero(visited & (score == score[visited].max()))
    return int(root.actions[best[largest(root.pi[best], rng)]])


def policy_choice(root: Root, settings: Settings, rng: np.random.Generator) -> int:
    """What π̄ says without playouts: its largest, or in proportion to it."""
    if settings.choice == "proportional":
        return int(rng.choice(root.actions, p=root.pi.astype(np.float64) / root.pi.sum(dtype=np.float64)))
    return int(root.actions[largest(root.pi, rng)])


def largest(pi: Floats, rng: np.random.Generator) -> int:
    """Where the largest prior stands; chance decides between equals."""
    return int(rng.choice(np.flatnonzero(pi == pi.max())))
