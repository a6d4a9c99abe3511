"""Algorithm 1 chooses as its formulas say, the statistics are kept as they should be, and the final choice is sound."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import numpy.typing as npt
import pytest
from examples.phantom_tic_tac_toe.domain import Batch, PhantomTicTacToe, Side, Situation, start
from examples.phantom_tic_tac_toe.evaluators import LineEvaluator, UniformEvaluator

from penumbra.core import NodeTable, Paths
from penumbra.dsmcp import Agent, Settings
from penumbra.dsmcp.bandit import bandit
from penumbra.dsmcp.domain import Floats, Keys, Legal
from penumbra.dsmcp.playouts import Budget, Search, final_choice
from penumbra.dsmcp.root_policy import AtRoot, Root, RootPolicy, Scores
from penumbra.dsmcp.settings import Choice
from tests.dsmcp import transcription

KEY = 77
DRAWS = 20_000


@dataclass(frozen=True)
class Node:
    """Statistics of one node's actions 10, 11, ..."""

    N: tuple[float, ...]
    Q: tuple[float, ...]
    least: tuple[float, ...]
    pi: tuple[float, ...]
    value: float = 0.5

    @property
    def actions(self) -> npt.NDArray[np.int32]:
        return np.arange(10, 10 + len(self.N), dtype=np.int32)

    def table(self) -> NodeTable:
        table = NodeTable(1 << 10)
        visited = np.flatnonzero(np.array(self.N) > 0)
        keys = np.full(len(visited), KEY, np.uint64)
        N, Q, least = (np.array(column)[visited] for column in (self.N, self.Q, self.least))
        table.add(keys, self.actions[visited], N.astype(float), Q.astype(float), least.astype(np.float32))
        return table

    def frequencies(self, settings: Settings, root: bool = False) -> npt.NDArray[np.float64]:
        """How often each action is chosen."""
        a = len(self.N)
        legal = Legal(np.tile(self.actions, DRAWS), np.arange(DRAWS + 1, dtype=np.int64) * a)
        pi = np.tile(np.array(self.pi, np.float32), DRAWS)
        values = np.full(DRAWS, self.value, np.float32)
        rng = np.random.default_rng(5)
        keys = np.full(DRAWS, KEY, np.uint64)
        chosen = bandit(self.table(), keys, legal, pi, values, settings, rng, root=root, virtual_loss=False)
        return np.asarray(np.bincount(chosen.actions - 10, minlength=a) / DRAWS)

    def probabilities(self, s: Settings, root: bool = False) -> npt.NDArray[np.float64]:
        """The same by the formulas: e^(-mn) of the policy, the rest for whatever has the largest score."""
        N, Q, pi = np.array(self.N), np.array(self.Q), np.array(self.pi, np.float32).astype(np.float64)
        n, visited, value = N.sum(), N > 0, float(np.float32(self.value))
        mean = np.divide(Q, N, out=np.full(len(N), value), where=visited)
        least = np.where(visited, np.array(self.least, np.float32), np.float32(value))
        visits = np.maximum(N, 1)  # an action without visits counts with one
        explore = np.sqrt(np.log(max(n, 1)) / visits) if s.rule == "ucb1" else np.sqrt(n) / (1 + N)
        score = (1 - s.phi) * mean + s.phi * least + s.c / 2 * pi * explore  # c is for values from -1 to 1
        if s.visit_all and not visited.all():
            score = np.where(visited, -1, 0.0)
        best = np.isclose(score, score.max(), rtol=0, atol=1e-12)
        best &= pi == pi[best].max()
        mixing = 0.0 if root else 1.0 if n == 0 else math.exp(-s.m * n)
        policy = pi / pi.sum() if pi.sum() > 0 else np.full(len(N), 1 / len(N))
        return np.asarray(mixing * policy + (1 - mixing) * best / best.sum())

    def check(self, settings: Settings, root: bool = False) -> None:
        seen, expected = self.frequencies(settings, root), self.probabilities(settings, root)
        tolerance = 4.5 * np.sqrt(expected * (1 - expected) / DRAWS) + 1e-12
        assert (np.abs(seen - expected) <= tolerance).all(), (self, settings, seen, expected)


def random_node(seed: int) -> Node:
    rng = np.random.default_rng(seed)
    a = int(rng.integers(2, 7))
    N = rng.integers(0, 3, a).astype(float) if seed % 4 else np.zeros(a)
    means = rng.choice([0.25, 0.5, 0.75], a)
    pi = rng.choice([0.0, 1.0, 1.0, 2.0], a) + (0 if seed % 3 else rng.random(a))
    pi = pi / pi.sum() if pi.sum() else pi
    least = np.minimum(means, rng.choice([0.0, 0.25, 0.5], a))
    N_, Q, worst, priors = (tuple(column.tolist()) for column in (N, N * means, np.where(N > 0, least, 1), pi))
    return Node(N_, Q, worst, priors, value=float(rng.choice([0.25, 0.5, 0.6])))


@pytest.mark.parametrize("rule", ["ucb1", "avop"])
@pytest.mark.parametrize("m", [0.0, 0.3, 1.0, math.inf])
def test_chosen_actions_follow_the_formulas(m: float, rule: str) -> None:
    for seed, (phi, visit_all, root) in enumerate(itertools.product([0.0, 0.4], [False, True], [False, True] * 3)):
        settings = Settings(m=m, phi=phi, visit_all=visit_all, c=1.0).replace(rule=rule)
        random_node(seed).check(settings, root)


def test_every_draw_is_that_of_the_plain_version() -> None:
    rng = np.random.default_rng(0)
    for seed in range(400):
        node, table = random_node(seed), NodeTable(64)
        settings = Settings(m=[0.3, math.inf][seed % 2], phi=0.2 * (seed % 3), c=seed % 5).replace(
            rule=["ucb1", "avop"][seed // 2 % 2], visit_all=seed % 7 == 0
        )
        stats = transcription.Statistics()
        for a, n, q, least in zip(node.actions.tolist(), node.N, node.Q, node.least, strict=True):
            if n:
                stats.N[KEY, a], stats.Q[KEY, a], stats.least[KEY, a] = n, q, float(np.float32(least))
        table, legal = node.table(), Legal(node.actions, np.array([0, len(node.N)], np.int64))
        pi, value = np.array(node.pi, np.float32), np.array([node.value], np.float32)
        for _ in range(10):
            state = rng.bit_generator.state
            chosen = bandit(table, np.array([KEY], np.uint64), legal, pi, value, settings, rng, virtual_loss=False)
            rng.bit_generator.state = state
            chance = rng.random(3).tolist()
            actions = node.actions.tolist()
            plain = transcription.bandit(stats, KEY, actions, pi.tolist(), float(value[0]), chance, settings)
            assert chosen.actions[0] == plain


def test_mixing_fades_with_visits() -> None:
    """With m = 1 a node of n visits draws from its policy with probability e^-n."""
    for n in range(1, 6):
        node = Node((n, 0), (n, 0), (1, 1), (0.0, 1.0), value=0.0)
        assert node.frequencies(Settings(c=0))[1] == pytest.approx(math.exp(-n), abs=0.015)
        assert node.frequencies(Settings(c=0, m=math.inf))[1] == 0
        assert node.frequencies(Settings(c=0, m=0))[1] == 1


@pytest.mark.parametrize("m", [0.0, 1.0])
def test_the_root_never_mixes(m: float) -> None:
    node = Node((1, 1, 1), (0.2, 0.9, 0.5), (0.2, 0.9, 0.5), (0.8, 0.1, 0.1))
    assert node.frequencies(Settings(m=m, c=0.01), root=True).tolist() == [0, 1, 0]
    assert node.frequencies(Settings(m=m, c=0.01))[0] > 0.03


def test_an_unvisited_action_counts_with_the_value_of_its_node_and_one_visit() -> None:
    c, n = 1.0, 9.0  # c on the scale of win probabilities: half of the setting
    other = 0.4 + c * 0.5 * math.sqrt(math.log(n) / n)  # an action visited nine times, with a mean of 0.4
    even = other - c * 0.5 * math.sqrt(math.log(n))  # the value at which an action without visits draws level
    for value, unvisited in ((even + 0.001, 1), (even - 0.001, 0)):
        node = Node((n, 0), (0.4 * n, 0), (0, 1), (0.5, 0.5), value)
        assert node.frequencies(Settings(m=math.inf, c=2 * c)).tolist() == [1 - unvisited, unvisited]
        assert node.frequencies(Settings(m=math.inf, c=2 * c, visit_all=True)).tolist() == [0, 1]


def test_paranoia_prefers_what_has_never_gone_wrong() -> None:
    node = Node((4, 4), (3.0, 2.6), (0.0, 0.6), (0.5, 0.5))
    assert node.frequencies(Settings(m=math.inf)).tolist() == [1, 0]
    assert node.frequencies(Settings(m=math.inf, phi=0.3)).tolist() == [0, 1]


def test_ties_go_to_the_larger_prior_then_to_chance() -> None:
    settings = Settings(m=math.inf, c=0)
    level = Node((2, 4, 1, 3), (1, 2, 0.5, 1.5), (0.5,) * 4, (0.2, 0.3, 0.2, 0.3))
    level.check(settings)
    assert level.frequencies(settings)[[0, 2]].tolist() == [0, 0]
    # Among equals with different histories too: visited once, twice, never.
    mixed = Node((1, 2, 0, 1), (0.5, 1.0, 0, 0.25), (0.5, 0.5, 1, 0.25), (0.25,) * 4, value=0.5)
    mixed.check(settings)
    assert (mixed.frequencies(settings)[:3] > 0.3).all()


def test_an_action_without_prior_is_not_drawn_but_may_be_best() -> None:
    node = Node((0, 0, 0), (0, 0, 0), (1, 1, 1), (0.0, 1.0, 0.0))
    assert node.frequencies(Settings()).tolist() == [0, 1, 0]
    node = Node((3, 3, 0), (2.9, 0.3, 0), (0, 0, 1), (0.0, 1.0, 0.0), value=0.1)
    assert node.frequencies(Settings(m=math.inf, c=0.1)).tolist() == [1, 0, 0]
    nothing = Node((0, 0, 0), (0, 0, 0), (1, 1, 1), (0.0, 0.0, 0.0))
    nothing.check(Settings())


def test_a_row_sees_the_virtual_losses_of_the_rows_before_it() -> None:
    table, legal = NodeTable(64), Legal(np.tile(np.arange(4, dtype=np.int32), 4), np.arange(5, dtype=np.int64) * 4)
    keys, pi, values = np.full(4, KEY, np.uint64), np.full(16, 0.25, np.float32), np.full(4, 0.5, np.float32)
    chosen = bandit(table, keys, legal, pi, values, Settings(n_vl=2, c=4), np.random.default_rng(0), root=True)
    assert sorted(chosen.actions.tolist()) == [0, 1, 2, 3]
    assert chosen.known.tolist() == [False, True, True, True]
    assert table.statistics(KEY, np.arange(4, dtype=np.int32))[:, :2].tolist() == [[2, 1]] * 4  # visits of value ½


# -- virtual losses in playouts


class Witnessed(PhantomTicTacToe):
    """Writes down every node and action that the search can have touched."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, int]] = set()

    def keys(self, batch: Batch, with_context: bool) -> Keys:
        keys = super().keys(batch, with_context)
        for key, row in zip(keys.tolist(), batch.rows, strict=True):
            self.seen |= {(key, cell) for cell in range(9) if not row.own.tried >> cell & 1}
        return keys


FINE = Settings(b=8, d=(7,), n_vl=0.375, n_particles=8, table_entries=1 << 14, weigh_ended=False, seed=3)


def search_from_start(settings: Settings) -> tuple[Search[Situation, Batch], Root, Witnessed]:
    domain = Witnessed()
    x, particles = start(0)
    rng = np.random.default_rng(settings.seed)
    search = Search(domain, LineEvaluator(), NodeTable(settings.table_entries), settings, rng, x, particles)
    return search, search.prepare_root(domain.root(x, True)[0], settings.b), domain


def check_cancelled(search: Search[Situation, Batch], root: Root, domain: Witnessed) -> None:
    """A virtual loss of 0.375 that is left over would make a count of visits that is no whole number."""
    counters = search.counters
    for key, action in domain.seen:
        n, q, _ = search.table.get(key, action)
        assert n == int(n) >= q >= 0
    visits = search.table.statistics(root.key, root.actions)[:, 0]
    # Each evaluation below the root and each end of a playout is one visit of a root action.
    assert visits.sum() == counters.nodes - 1 + counters.ended


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_virtual_losses_have_cancelled_after_a_search(in_flight: int) -> None:
    search, root, domain = search_from_start(FINE.replace(in_flight=in_flight))
    search.run(root, Budget(nodes=400))
    assert search.counters.ended > 0
    check_cancelled(search, root, domain)


@pytest.mark.parametrize("answers", range(8))
def test_virtual_losses_have_cancelled_after_a_stopped_batch(answers: int) -> None:
    search, root, domain = search_from_start(FINE)
    playouts, others = search.batch(root, 8), search.batch(root, 8)
    requests = [next(playouts), next(others)]
    for _ in range(answers):
        for i, batch in enumerate((playouts, others)):
            try:
                requests[i] = batch.send(search.evaluator.evaluate(*requests[i]))
            except StopIteration:
                continue
    playouts.close()
    others.close()
    check_cancelled(search, root, domain)


def test_a_way_is_credited_to_both_players_and_gives_back_what_it_was_lent() -> None:
    table, rows = NodeTable(64), np.array([1], np.int64)
    path = Paths(table, 2, 0.375, 0.5)
    for t, ours in enumerate((True, False, False)):
        legal = Legal(np.array([t], np.int32), np.array([0, 1], np.int64))
        one, key = np.ones(1, np.float32), np.array([KEY + t], np.uint64)
        a = bandit(table, key, legal, one, one, FINE, np.random.default_rng(0)).actions
        path.append(rows, key, a, ours)
        path.add_virtual_loss(rows)
        path.add_virtual_loss(rows)
        assert [table.get(KEY + i, i) for i in range(t + 1)] == [(0.375, 0.1875, 1)] * (t + 1)
    assert path.visits(rows).tolist() == [0.375]
    path.credit(rows, np.array([0.5], np.float32), True, np.array([4.0]))
    assert [table.get(KEY + t, t) for t in range(3)] == [(4, 3, 0.75), (4, 1, 0.25), (4, 1, 0.25)]
    path.add_virtual_loss(rows)
    path.cancel()
    path.cancel()
    assert [table.get(KEY + t, t)[:2] for t in range(3)] == [(4, 3), (4, 1), (4, 1)]
    with pytest.raises(IndexError, match="row 2 is not among 2 playouts"):
        path.add_virtual_loss(np.array([2], np.int64))
    with pytest.raises(ValueError, match="differ in length"):
        path.credit(rows, np.zeros(2, np.float32), True, np.ones(1))


def test_virtual_losses_have_cancelled_when_time_runs_out() -> None:
    search, root, domain = search_from_start(FINE)
    search.run(root, Budget(deadline=-math.inf))
    check_cancelled(search, root, domain)
    assert search.table.statistics(root.key, root.actions)[:, 0].sum() == 0
    assert final_choice(search.table, root, FINE, search.rng) == 4  # the centre, by the policy


def test_a_search_ends_although_no_playout_asks_anything() -> None:
    """Every playout ends at its first step: such a search must count something against its budget."""
    x = Situation(0, Side(0b000001011, 0b110110000), frozenset([Side(0b110110000, 0b000001011)]))
    particles = Batch([Situation(1, side, frozenset([x.own])) for side in x.others])
    for in_flight in (1, 2):
        settings = FINE.replace(static_analysis=False, in_flight=in_flight)
        decision = Agent(PhantomTicTacToe(), UniformEvaluator(), settings, x, particles).choose(nodes=50)
        assert decision.playouts == 56
        assert decision.values.tolist() == [1, 1]


# -- the table


def test_a_full_bucket_gives_up_the_oldest_decision() -> None:
    table = NodeTable(4)
    actions = np.arange(5, dtype=np.int32)

    def visit(action: int) -> None:
        one = np.ones(1)
        table.add(np.array([KEY], np.uint64), actions[action : action + 1], one, one, np.ones(1, np.float32))

    def counts() -> list[float]:
        return list(table.statistics(KEY, actions)[:, 0].tolist())

    for action in range(4):
        visit(action)
    assert table.used == 4
    table.new_decision()
    for action in (0, 1, 3):
        visit(action)
    visit(4)
    assert counts() == [2, 2, 0, 2, 1]
    assert table.used == 4
    table.new_decision()
    for action in (4, 1, 3):
        visit(action)
    visit(2)
    assert counts() == [0, 3, 1, 3, 2]


def test_of_one_decision_the_least_visited_entry_gives_way() -> None:
    """So that the root keeps its statistics where one search fills the whole table."""
    table, actions = NodeTable(4), np.arange(100, dtype=np.int32)
    keys, ones, least = np.full(3, KEY, np.uint64), np.ones(3), np.ones(3, np.float32)
    table.add(keys, actions[:3], 5 * ones, ones, least)
    for action in range(3, 100):
        table.add(keys[:1], actions[action : action + 1], ones[:1], ones[:1], least[:1])
    visits = table.statistics(KEY, actions)[:, 0]
    assert visits[:3].tolist() == [5, 5, 5]
    assert visits[3:].tolist() == [0] * 96 + [1]


def test_threads_may_share_a_table() -> None:
    table, actions = NodeTable(1 << 18), np.arange(64, dtype=np.int32)
    rows, rounds = 50, 100
    legal = Legal(np.tile(actions, rows), np.arange(rows + 1, dtype=np.int64) * 64)
    pi, values, settings = (
        np.full(64 * rows, 1 / 64, np.float32),
        np.full(rows, 0.5, np.float32),
        Settings(virtual_value=0),
    )
    faults: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            rng, keys = np.random.default_rng(seed), np.arange(rows, dtype=np.uint64)
            for _ in range(rounds):
                chosen = bandit(table, keys, legal, pi, values, settings, rng)
                table.add(keys, chosen.actions, np.zeros(rows), np.full(rows, 0.5), np.full(rows, 0.5, np.float32))
                table.new_decision()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    totals = np.sum([table.statistics(key, actions)[:, :2] for key in range(rows)], axis=(0, 1))
    assert totals.tolist() == [4 * rows * rounds, 2 * rows * rounds]


# -- the final choice


def choices(
    N: Sequence[float],
    Q: Sequence[float],
    pi: Sequence[float],
    choice: str,
    times: int = 600,
    root_policy: RootPolicy[Situation, Batch] | None = None,
) -> Counter[int]:
    """How often each action is performed, for a root with these statistics."""
    node = Node(tuple(N), tuple(Q), (0.0,) * len(N), tuple(pi))
    table, rng = node.table(), np.random.default_rng(0)
    root = Root(KEY, node.actions, np.array(pi, np.float32), 0.0)
    settings = Settings().replace(choice=choice)
    return Counter(final_choice(table, root, settings, rng, root_policy) - 10 for _ in range(times))


@pytest.mark.parametrize("choice", get_args(Choice))
def test_the_final_choice_is_never_an_action_without_visits(choice: str) -> None:
    lost = choices([0, 3, 0, 2, 0], [0, 0, 0, 0, 0], [0.6, 0.1, 0.1, 0.1, 0.1], choice)
    assert set(lost) <= {1, 3}
    won = choices([0, 3, 0, 2, 0], [0, 3, 0, 2, 0], [0.6, 0.1, 0.1, 0.1, 0.1], choice)
    assert set(won) <= {1, 3}


def test_the_final_choice_by_each_rule() -> None:
    N, Q, pi = [10, 4, 1], [4, 3.6, 0.95], [0.2, 0.3, 0.5]
    assert choices(N, Q, pi, "total") == {0: 600}
    assert choices(N, Q, pi, "visits") == {0: 600}
    assert choices(N, Q, pi, "mean") == {2: 600}
    drawn = choices(N, Q, pi, "proportional", 6000)
    for action, n in enumerate(N):
        assert drawn[action] == pytest.approx(400 * n, rel=0.15)


class Judging(RootPolicy[Situation, Batch]):
    """Thinks nothing of corners and prefers edges at last."""

    def prior(self, at: AtRoot[Situation, Batch]) -> Floats:
        return np.where(np.isin(at.actions, (0, 2, 6, 8)), np.float32(0), 3 * at.pi)

    def score(self, root: Root, n: Scores, q: Scores, scores: Scores) -> Scores:
        return np.where(root.actions % 2 == 1, scores + 1000, scores)


def test_a_root_policy_changes_what_is_considered_and_what_is_chosen() -> None:
    judged = Agent(PhantomTicTacToe(), UniformEvaluator(), FINE, *start(0), Judging()).choose(nodes=200)
    assert judged.actions.tolist() == [1, 3, 4, 5, 7]
    np.testing.assert_allclose(judged.policy, 0.2, rtol=1e-6)
    assert judged.action in (1, 3, 5, 7)
    plain = Agent(PhantomTicTacToe(), UniformEvaluator(), FINE, *start(0)).choose(nodes=200)
    assert len(plain.actions) == 9
    N, Q, pi = [10, 4, 3], [6, 3.6, 1], [0.2, 0.3, 0.5]
    assert choices(N, Q, pi, "total", root_policy=Judging()) == {1: 600}


@pytest.mark.parametrize("choice", ["total", "mean"])
@pytest.mark.parametrize("worth", [0.0, 1.0])
def test_equals_are_chosen_by_policy_then_by_chance(choice: str, worth: float) -> None:
    """Where all is lost, or all is won, neither the first nor the last action is favoured."""
    N = [2.0] * 4
    by_policy = choices(N, [2 * worth] * 4, [0.1, 0.2, 0.6, 0.1], choice)
    assert by_policy == {2: 600}
    by_chance = choices(N, [2 * worth] * 4, [0.25] * 4, choice, 4000)
    assert all(850 < by_chance[action] < 1150 for action in range(4))


def test_without_visits_the_policy_decides_and_chance_between_equals() -> None:
    assert choices([0] * 4, [0] * 4, [0.1, 0.2, 0.6, 0.1], "total") == {2: 600}
    drawn = choices([0] * 4, [0] * 4, [0.25] * 4, "total", 4000)
    assert all(850 < drawn[action] < 1150 for action in range(4))


@pytest.mark.parametrize("choice", ["total", "mean", "visits"])
def test_won_and_lost_positions_are_played_well(choice: str) -> None:
    """A cell that ends our line is taken; where the opponent is about to end one, the cell it needs is tried."""
    settings = FINE.replace(choice=choice, static_analysis=False, weigh_ended=True, d=(6,), c=0.5)
    theirs = Side(0b110000000, 0b000000001)  # holds 7 and 8 and knows our 0: only 6 ends its line
    for own, cell in ((Side(0b000001001, 0b100000000), 6), (Side(0b000100001, 0b100000000), 6)):
        for seed in range(4):
            x = Situation(0, own, frozenset([theirs]))
            particles = Batch([Situation(1, theirs, frozenset([own]))])
            agent = Agent(PhantomTicTacToe(), UniformEvaluator(), replace(settings, seed=seed), x, particles)
            assert agent.choose(nodes=600).action == cell
