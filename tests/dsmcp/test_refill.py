"""Refilling with the current belief first: enough particles now, whatever is short further back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest
from examples.phantom_tic_tac_toe import domain as phantom
from examples.phantom_tic_tac_toe.domain import Batch, PhantomTicTacToe, Situation
from examples.phantom_tic_tac_toe.evaluators import KnownOpponent, UniformEvaluator
from examples.phantom_tic_tac_toe.exact import attempt, first_nodes, masks, prepared
from examples.phantom_tic_tac_toe.opponents import greedy, spread

from penumbra.core import Game, Infostates, NodeTable
from penumbra.dsmcp import Agent, Settings
from penumbra.dsmcp.belief import Belief, Step, spread_draws
from penumbra.dsmcp.domain import Features, Floats, Legal, Rows
from penumbra.dsmcp.refill import FEWEST, LEAST, RICH
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.rbc import domain as rbc
from penumbra.rbc.domain import ReconBlindChess
from tests.support.agent_games import Observer, peacefully, play_rbc

CURRENT = Settings(belief_bandit="policy", sampling="enumeration", refill="current", seed=0, table_entries=1 << 12)
RBC = CURRENT.replace(b=64, ell=32, k=32, n_particles=2048)
PHANTOM = CURRENT.replace(b=64, d=(6,), ell=512, k=200, n_particles=64)


class FakeClock:
    """Time passes only by evaluations and particles: each costs a fixed number of seconds."""

    EVALUATION, PARTICLE = 0.0002, 0.00005

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Charging(HeuristicEvaluator):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.clock = clock

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        self.clock.now += len(features) * self.clock.EVALUATION
        return super().evaluate(features, legal, opponent)


class ChargingDomain(ReconBlindChess):
    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    def concatenate(self, batches: list[Infostates]) -> Infostates:
        self.clock.now += len(batches[-1]) * self.clock.PARTICLE
        return super().concatenate(batches)


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    fake = FakeClock()
    with mock.patch("time.monotonic", fake):
        yield fake


def particles_of_decisions(settings: Settings, clock: FakeClock) -> list[int]:
    """Ten turns of a quiet game in which every step has a second."""
    x, particles = rbc.start(True)
    agent = Agent(ChargingDomain(clock), Charging(clock), settings, x, particles)
    counts: list[int] = []

    class Deciding(Observer[rbc.Situation]):
        def observe(self, x: rbc.Situation, action: int | None = None, /) -> None:
            agent.observe(x, action)
            if agent.domain.ours(agent.x):
                began = clock.now
                agent.refilled(agent.settings.n_particles, began, 1.0)
                counts.append(agent.belief.current.count)
                assert clock.now - began < 2.5 * agent.settings.refill_share

    play_rbc(Deciding(), agent.x, peacefully(1), peacefully(2), 20, Game(), ell=32)
    assert len(counts) >= 18
    return counts


def test_the_current_belief_comes_first_under_a_clock(clock: FakeClock) -> None:
    counts = particles_of_decisions(RBC, clock)
    assert min(counts) >= LEAST
    assert np.median(counts) > 2 * LEAST


def test_the_paper_s_order_starves_it_under_the_same_clock(clock: FakeClock) -> None:
    """The order that was used before: older beliefs take all the time, and the current one is made in haste."""
    counts = particles_of_decisions(RBC.replace(refill="paper", sampling="rejection"), clock)
    assert np.median(counts[6:]) <= 64


def test_the_way_begins_at_the_youngest_rich_belief() -> None:
    """Older beliefs are left alone as long as the current one wants particles."""
    belief: Belief[Situation, Batch] = Belief(
        PhantomTicTacToe(), UniformEvaluator(), NodeTable(1 << 12), PHANTOM, np.random.default_rng(0)
    )
    belief.start(*phantom.start(0))
    filled: list[tuple[int, int]] = []
    original = belief.refill_step

    def refill_step(i: int, n: int, hurried: object) -> None:
        filled.append((i, n))
        original(i, n, lambda: False)

    for cell in (4, 0):
        belief.advance(phantom.tried(belief.current.x, cell, True), cell)
        belief.advance(phantom.opponent_tried(belief.current.x), None)
        belief.refill(400, math.inf)
    now = len(belief.steps) - 1
    assert belief.steps[now].distinct(belief.domain) >= 20
    belief.advance(phantom.tried(belief.current.x, 1, True), 1)
    with mock.patch.object(belief, "refill_step", refill_step):
        belief.refill(400, math.inf)
    on_the_way = [i for i, n in filled if n < 400]
    assert on_the_way and min(on_the_way) >= now - 1  # the step before is rich enough, or the one before that
    assert filled[0][1] == LEAST
    assert belief.current.count == 400


def test_a_poor_belief_is_not_drawn_from_where_a_richer_one_is_near() -> None:
    belief: Belief[Situation, Batch] = Belief(
        PhantomTicTacToe(), UniformEvaluator(), NodeTable(1 << 12), PHANTOM, np.random.default_rng(0)
    )
    belief.start(*phantom.start(0))
    for cell in (4, 0):
        belief.advance(phantom.tried(belief.current.x, cell, True), cell)
        belief.advance(phantom.opponent_tried(belief.current.x), None)
        belief.refill(2000, math.inf)
    poor: Step[Situation, Batch] = belief.steps[-1]
    distinct = poor.distinct(belief.domain)
    poor.keep(np.zeros(1, np.int64))  # one particle is left of many
    belief.advance(phantom.tried(belief.current.x, 1, True), 1)
    belief.refill(400, math.inf)
    assert poor.distinct(belief.domain) > min(RICH, distinct) / 2
    assert belief.current.distinct(belief.domain) > 5


def test_without_time_there_are_a_few_particles_all_the_same() -> None:
    x, particles = rbc.start(False)
    agent = Agent(ReconBlindChess(), HeuristicEvaluator(), RBC, x, particles)

    class Hasty(Observer[rbc.Situation]):
        def observe(self, x: rbc.Situation, action: int | None = None, /) -> None:
            agent.observe(x, action)
            agent.belief.refill(2048, -math.inf)
            assert agent.belief.current.count >= FEWEST

    play_rbc(Hasty(), agent.x, peacefully(3), peacefully(4), 8, ell=32)


# -- enumeration


def belief_by(sampling: str, seed: int) -> Belief[Situation, Batch]:
    settings = PHANTOM.replace(n_particles=2000, b=500, k=2000, sampling=sampling)
    belief: Belief[Situation, Batch] = Belief(
        PhantomTicTacToe(),
        KnownOpponent(UniformEvaluator(), greedy),
        NodeTable(64),
        settings,
        np.random.default_rng(seed),
    )
    belief.start(*phantom.start(0))
    return belief


@pytest.mark.parametrize("sampling", ["rejection", "enumeration"])
def test_both_ways_of_drawing_follow_the_posterior(sampling: str) -> None:
    """With the opponent's true policy, particles stand in states as often as the rules of probability say."""
    opponent, belief, nodes = prepared(greedy), belief_by(sampling, 0), first_nodes()
    for n, (cell, placed) in enumerate([(0, True), (4, False), (8, True), (2, True)]):
        belief.advance(phantom.tried(belief.current.x, cell, placed), cell)
        free, failed, _ = attempt(nodes, cell, n)
        nodes, _ = opponent.act(free if placed else failed, n)
        belief.advance(phantom.opponent_tried(belief.current.x), None)
        belief.refill(2000, math.inf)
        weights = nodes.weights[0] / nodes.weights.sum()
        posterior = {int(s): float(w) for s, w in zip(masks(n + 1), weights, strict=True) if w}
        assert belief.current.particles is not None
        found = Counter(row.own.tried for row in belief.current.particles.rows)
        distance = sum(abs(found[s] / 2000 - posterior.get(s, 0)) for s in {*found, *posterior}) / 2
        assert distance < 0.08


def test_enumeration_makes_as_many_singletons_as_rejection() -> None:
    """The opponent is thought to try only cell 8, but it holds cell 0: every try of either way fails."""
    never = KnownOpponent(UniformEvaluator(), lambda side: spread((8,)))
    settings = PHANTOM.replace(k=5)
    belief: Belief[Situation, Batch] = Belief(
        PhantomTicTacToe(), never, NodeTable(64), settings, np.random.default_rng(0)
    )
    belief.start(*phantom.start(0))
    belief.advance(phantom.tried(belief.current.x, 4, True), 4)
    belief.advance(phantom.opponent_tried(belief.current.x), None)
    belief.advance(phantom.tried(belief.current.x, 0, False), 0)
    belief.refill(64, math.inf)
    assert belief.steps[2].ignorant.all() and belief.steps[2].count == 64
    health = belief.health()
    assert (health.particles, health.singletons) == (64, 0)  # what comes from singletons is none itself
    assert health.rejections > 1
    again = belief.health()
    assert not again.few  # no more are wanted
    assert (again.rejections, again.inferences, again.seconds) == (0, 0, 0)


def test_a_belief_is_few_below_the_least_but_not_where_nothing_refills_it() -> None:
    belief = belief_by("enumeration", 0)
    assert belief.health().particles == 1 and not belief.health().few
    belief.advance(phantom.tried(belief.current.x, 0, True), 0)
    belief.refill(LEAST - 1, math.inf)
    assert belief.health().few
    belief.refill(LEAST, math.inf)
    assert not belief.health().few


def test_ancestors_are_counted_four_steps_back() -> None:
    belief = belief_by("enumeration", 1)
    cells: list[Rows] = []
    for cell in (0, 4, 1):
        belief.advance(phantom.tried(belief.current.x, cell, True), cell)
        belief.advance(phantom.opponent_tried(belief.current.x), None)
        belief.refill(100, math.inf)
        cells.append(belief.current.lineage)
    assert belief.health().ancestors <= 100
    steps = belief.steps
    assert set(steps[-1].lineage[:, 4]) <= set(steps[-5].lineage[:, 0])
    assert (cells[0][:, 3:] == cells[0][0, 4]).all()  # all come from the one particle of the start


def test_draws_are_spread_evenly() -> None:
    rng = np.random.default_rng(0)
    weights = np.array([0.0, 1.0, 0.0, 2.0, 1.0, 0.0])
    for _ in range(50):
        counts = np.bincount(spread_draws(weights, 40, rng), minlength=6)
        assert counts.tolist() == [0, 10, 0, 20, 10, 0]
    policies = np.tile([0.7, 0.3], 1000)  # a row each: every row is drawn from once, and not all alike
    drawn = spread_draws(policies, 1000, rng)
    assert (drawn // 2 == np.arange(1000)).all()
    assert 250 < (drawn % 2).sum() < 350
    singles = np.bincount(np.concatenate([spread_draws(weights, 1, rng) for _ in range(8000)]), minlength=6)
    np.testing.assert_allclose(singles / 8000, weights / 4, atol=0.02)
    assert len(spread_draws(weights, 0, rng)) == len(spread_draws(np.zeros(3), 5, rng)) == 0
