"""Particles: consistent with what is learnt, never cut by it, refilled in order, within memory, well distributed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from examples.phantom_tic_tac_toe import domain as phantom
from examples.phantom_tic_tac_toe.domain import Batch, PhantomTicTacToe, Side, Situation
from examples.phantom_tic_tac_toe.evaluators import KnownOpponent, UniformEvaluator
from examples.phantom_tic_tac_toe.exact import attempt, first_nodes, masks, prepared
from examples.phantom_tic_tac_toe.opponents import greedy, spread

from penumbra.core import SENSE, START_FEN, Game, Infostates, NodeTable, StateSet
from penumbra.dsmcp import Agent, Domain, Evaluator, Settings
from penumbra.dsmcp.belief import Belief, Step
from penumbra.dsmcp.domain import Features, Floats, Ints, L, Legal, Rows, X, sharpened
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.rbc import domain as rbc
from penumbra.rbc.domain import ReconBlindChess
from tests.support.agent_games import Observer, at_random, peacefully, play_phantom, play_rbc

POLICY = Settings(belief_bandit="policy", seed=0)
RBC = POLICY.replace(b=16, ell=16, k=32, n_particles=24, table_entries=1 << 12)
PHANTOM = POLICY.replace(b=64, d=(6,), ell=512, k=200, n_particles=64, table_entries=1 << 12)


def belief_of(domain: Domain[X, L], evaluator: Evaluator, settings: Settings, start: tuple[X, L]) -> Belief[X, L]:
    rng = np.random.default_rng(settings.seed)
    belief: Belief[X, L] = Belief(domain, evaluator, NodeTable(settings.table_entries), settings, rng)
    belief.start(*start)
    return belief


@dataclass
class Refilling(Observer[X]):
    """Tells a belief what happens, refills it each time, and lets somebody look."""

    belief: Belief[X, Infostates] | Belief[X, Batch]
    look: Callable[[], None]
    before_refilling: Callable[[], None] = field(default=lambda: None)

    def observe(self, x: X, action: int | None = None, /) -> None:
        self.belief.advance(x, action)
        self.before_refilling()
        self.belief.refill(self.belief.settings.n_particles, math.inf)
        self.look()


def check_consistent(belief: Belief[X, L]) -> None:
    """Every state leads on into the next set, and every particle meets its set."""
    domain, steps = belief.domain, belief.steps
    for step, after in pairwise(steps):
        assert domain.parents(step.x, after.x) is step.x
    for step in steps:
        if step.particles is not None and step.count:
            assert domain.meets(step.particles, step.x).all()


def rbc_game(look: Callable[[Belief[rbc.Situation, Infostates]], None], settings: Settings, turns: int) -> None:
    belief = belief_of(ReconBlindChess(), HeuristicEvaluator(), settings, rbc.start(True))
    observer = Refilling(belief, lambda: look(belief), lambda: check_consistent(belief))
    play_rbc(observer, belief.current.x, at_random(1), at_random(2), turns, ell=settings.ell)


def test_particles_meet_their_sets_and_are_never_cut_by_them() -> None:
    """Nothing that we have learnt since takes a state from a particle: it keeps what the opponent holds possible."""
    outside = 0

    def look(belief: Belief[rbc.Situation, Infostates]) -> None:
        nonlocal outside
        check_consistent(belief)
        for step in belief.steps:
            assert step.given or step.count == belief.settings.n_particles
            assert step.particles is not None
            # A set of ours holds one placement of our own pieces. Any other in a particle is a state outside of it.
            outside += int((step.particles.counts - 1).sum())

    rbc_game(look, RBC, turns=8)
    assert outside > 1000


def opponents_after(events: list[int | None], own: list[Side]) -> set[tuple[Side, frozenset[Side]]]:
    """Every information state of the opponent, if we tried these cells (None: its own turn) and had these sides."""
    reached = {(Side(), frozenset([Side()]))}
    for cell, side in zip(events, own, strict=True):
        if cell is not None:
            reached = {(their, phantom.expand(their, others)) for their, others in reached}
            continue
        acted = set()
        for their, others in reached:
            for after in phantom.successors(their, side):
                acted.add((after, phantom.answering(their, after, others)))
        reached = acted
    return reached


@dataclass
class Enumerating(Observer[Situation]):
    """Compares the current belief with all information states that the opponent may have come to."""

    belief: Belief[Situation, Batch]
    events: list[int | None] = field(default_factory=list)
    own: list[Side] = field(default_factory=lambda: [Side()])

    def observe(self, x: Situation, action: int | None = None, /) -> None:
        self.belief.advance(x, action)
        self.belief.refill(64, math.inf)
        self.events.append(action)
        possible = opponents_after(self.events, self.own)
        assert self.belief.current.particles is not None
        particles = {(row.own, row.others) for row in self.belief.current.particles.rows}
        assert particles <= {(their, others) for their, others in possible if their in x.others}
        self.own.append(x.own)


def test_particles_are_what_the_opponent_could_really_know() -> None:
    """With room for all states, every particle is an information state that some play of the opponent leads to."""
    for seed in range(2):
        belief = belief_of(PhantomTicTacToe(), UniformEvaluator(), PHANTOM, phantom.start(0))
        cells = iter(np.random.default_rng(seed).permutation(9).tolist())
        play_phantom(Enumerating(belief), belief.current.x, cells.__next__, seed)
        assert belief.counters.singletons == 0


def test_beliefs_follow_the_posterior() -> None:
    """With the opponent's true policy, particles stand in states as often as the rules of probability say."""
    opponent = prepared(greedy)
    evaluator = KnownOpponent(UniformEvaluator(), greedy)
    settings = PHANTOM.replace(n_particles=2000, b=1000, k=2000)
    belief = belief_of(PhantomTicTacToe(), evaluator, settings, phantom.start(0))
    nodes = first_nodes()
    for n, (cell, placed) in enumerate([(0, True), (4, False), (8, True), (2, True)]):
        belief.advance(phantom.tried(belief.current.x, cell, placed), cell)
        free, failed, _ = attempt(nodes, cell, n)
        nodes, _ = opponent.act(free if placed else failed, n)
        belief.advance(phantom.opponent_tried(belief.current.x), None)
        belief.refill(settings.n_particles, math.inf)
        weights = nodes.weights[0] / nodes.weights.sum()
        posterior = {int(s): float(w) for s, w in zip(masks(n + 1), weights, strict=True) if w}
        assert belief.current.particles is not None
        found = Counter(row.own.tried for row in belief.current.particles.rows)
        distance = sum(abs(found[s] / 2000 - posterior.get(s, 0)) for s in {*found, *posterior}) / 2
        assert distance < 0.08
    assert belief.counters.dropped_particles > 0


def test_the_oldest_belief_is_refilled_first() -> None:
    counts: list[list[int]] = []
    belief = belief_of(ReconBlindChess(), HeuristicEvaluator(), RBC.replace(b=4), rbc.start(True))

    class Waiting(Observer[rbc.Situation]):
        def observe(self, x: rbc.Situation, action: int | None = None, /) -> None:
            belief.advance(x, action)

    play_rbc(Waiting(), belief.current.x, at_random(5), at_random(6), 6, ell=16)

    def watched() -> bool:
        counts.append([step.count for step in belief.steps])
        return False

    belief.refill(24, math.inf, watched)
    assert len(counts) > 24
    for earlier, later in pairwise(counts):
        grown = [i for i, (a, b) in enumerate(zip(earlier, later, strict=True)) if b > a]
        assert all(earlier[i] == 24 for grew in grown for i in range(1, grew))
    assert [step.count for step in belief.steps[1:]] == [24] * (len(belief.steps) - 1)


def test_the_current_belief_is_never_empty() -> None:
    """Not even where there was no time to refill any."""
    belief = belief_of(ReconBlindChess(), HeuristicEvaluator(), RBC, rbc.start(False))

    class Hasty(Observer[rbc.Situation]):
        def observe(self, x: rbc.Situation, action: int | None = None, /) -> None:
            belief.advance(x, action)
            belief.refill(24, -math.inf)
            assert belief.current.count > 0
            check_consistent(belief)

    play_rbc(Hasty(), belief.current.x, at_random(3), at_random(4), 8, ell=16)


@pytest.mark.parametrize(
    ("fen", "budget", "particles"),
    [
        ("4k3/1n6/8/8/8/8/6N1/4K3 w - - 0 1", 1_500_000, 200),  # beliefs fill the memory
        ("4k3/1n4p1/8/8/8/8/1P4N1/4K3 w - - 0 1", 24_000_000, 32),  # sets do
    ],
)
def test_memory_stays_within_its_budget_for_200_moves(fen: str, budget: int, particles: int) -> None:
    settings = RBC.replace(memory_budget=budget, n_particles=particles, k=8, b=64)
    belief = belief_of(ReconBlindChess(), HeuristicEvaluator(), settings, rbc.start(True, fen))
    seen: list[int] = []

    class Watching(Observer[rbc.Situation]):
        def observe(self, x: rbc.Situation, action: int | None = None, /) -> None:
            belief.advance(x, action)
            belief.refill(particles, math.inf)
            seen.append(belief.nbytes())
            assert belief.current.count > 0

    game = Game(fen, reversible_moves_limit=None)
    play_rbc(Watching(), belief.current.x, peacefully(1), peacefully(2), 200, game, ell=16, cap=0)
    assert (game.plies, len(seen)) == (200, 400)
    assert 0.8 * budget < max(seen) <= budget
    assert 2 < len(belief.steps) < 400


def test_memory_stays_within_its_budget_while_beliefs_are_refilled() -> None:
    settings = RBC.replace(n_particles=200, k=8)
    belief = belief_of(ReconBlindChess(), HeuristicEvaluator(), settings, rbc.start(True))

    class Waiting(Observer[rbc.Situation]):
        def observe(self, x: rbc.Situation, action: int | None = None, /) -> None:
            belief.advance(x, action)

    play_rbc(Waiting(), belief.current.x, at_random(5), at_random(6), 6, ell=16)
    empty, each = belief.nbytes(), belief.domain.particle_nbytes(16)
    belief.settings = settings.replace(memory_budget=empty + 5 * 200 * each)  # beliefs of five steps, of twelve
    most = 0

    def watched() -> bool:
        nonlocal most
        most = max(most, sum(step.count for step in belief.steps))
        return False

    belief.refill(200, math.inf, watched)
    assert 200 <= most <= 5 * 200
    assert belief.nbytes() <= belief.settings.memory_budget
    assert belief.current.count == 200


# -- an opponent whose policy is known


class Stubborn:
    """Puts all mass on one action, which depends on what the player itself has and may do, and on nothing else."""

    def __init__(self, pick: Callable[[npt.NDArray[np.int32], npt.NDArray[np.uint64]], int]) -> None:
        self.pick = pick

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        priors = np.zeros(len(legal.actions), np.float32)
        for planes, low, high in zip(features, legal.offsets[:-1], legal.offsets[1:], strict=True):
            priors[low + self.pick(legal.actions[low:high], planes[12:18])] = 1
        return priors, np.zeros(len(features), np.float32)


def by_pieces(actions: npt.NDArray[np.int32], own: npt.NDArray[np.uint64]) -> int:
    """Any action, the same for the same pieces."""
    return hash(tuple(own.tolist())) % len(actions)


def test_the_belief_stands_in_the_truth_where_the_opponent_is_known_for_sure() -> None:
    """Reconnaissance blind chess: after each step all particles stand in the true state, whatever we do not know."""
    stubborn = Stubborn(by_pieces)
    belief = belief_of(ReconBlindChess(), stubborn, RBC, rbc.start(True))
    game = Game(START_FEN)
    sizes: list[int] = []

    def opponent(game: Game) -> int:
        row = Infostates.draw(StateSet(game.fen(), game.turn), 1, game.step)
        legal = Legal(*row.legal())
        return int(legal.actions[by_pieces(legal.actions, row.synopsis()[0, 12:18])])

    def look() -> None:
        truth = StateSet(game.fen(), owner=True)
        kind = game.step if game.turn else belief.current.x.kind
        assert belief.current.particles is not None
        here = rbc.Situation(truth, kind, belief.current.x.context)
        assert belief.domain.meets(belief.current.particles, here).all()
        sizes.append(len(belief.current.x.states))

    def quietly(game: Game) -> int:
        if game.step == SENSE:
            return 0  # shows nothing but our own pieces
        return peacefully(game.plies)(game)

    play_rbc(Refilling(belief, look), belief.current.x, quietly, opponent, 10, game, ell=16, cap=0)
    assert max(sizes) > 10_000
    assert belief.counters.singletons == 0


def test_the_belief_stands_in_the_truth_at_phantom_tic_tac_toe() -> None:
    def in_turn(side: Side) -> Floats:
        return spread(next((cell,) for cell in (8, 3, 2, 7, 1) if not side.tried >> cell & 1))

    belief = belief_of(PhantomTicTacToe(), KnownOpponent(UniformEvaluator(), in_turn), PHANTOM, phantom.start(0))
    their = Side()
    for cell in (0, 4, 8):
        own = belief.current.x.own
        after = phantom.attempt(own, their, cell)
        belief.advance(phantom.tried(belief.current.x, cell, after.marks != own.marks), cell)
        their = phantom.attempt(their, after, int(in_turn(their).argmax()))
        belief.advance(phantom.opponent_tried(belief.current.x), None)
        belief.refill(64, math.inf)
        assert belief.current.particles is not None
        assert {row.own for row in belief.current.particles.rows} == {their}
    assert len(belief.current.x.others) > 20


# -- counters


def test_counters_move() -> None:
    belief = belief_of(PhantomTicTacToe(), UniformEvaluator(), PHANTOM, phantom.start(0))
    counters = belief.counters
    belief.advance(phantom.tried(belief.current.x, 4, True), 4)
    belief.advance(phantom.opponent_tried(belief.current.x), None)
    belief.refill(64, math.inf)
    assert (counters.drawn, counters.singletons, counters.rejections) == (128, 0, 0)
    assert 0 < counters.inferences < 64  # drawn with replacement, some particles of 64 are not tried
    assert 1 < counters.distinct_actions <= 9
    belief.advance(phantom.tried(belief.current.x, 0, False), 0)
    assert counters.pruned_states == 8
    assert counters.dropped_particles > 40
    belief.refill(64, math.inf)
    assert counters.rejections > 100
    assert counters.singletons == 0


class Asked(UniformEvaluator):
    """Counts the rows of each inference."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        self.batches.append(len(features))
        return super().evaluate(features, legal, opponent)


def test_only_particles_that_are_tried_are_inferred_and_each_of_them_once() -> None:
    evaluator = Asked()
    belief = belief_of(PhantomTicTacToe(), evaluator, PHANTOM.replace(b=50, k=2000), phantom.start(0))
    belief.advance(phantom.tried(belief.current.x, 4, True), 4)
    belief.refill(400, math.inf)
    belief.advance(phantom.opponent_tried(belief.current.x), None)
    acting, current = belief.steps[1], belief.current
    tried: set[int] = set()
    original = belief.opponent_actions

    def opponent_actions(before: Step[Situation, Batch], drawn: Rows, tries: int) -> Ints:
        tried.update(drawn.tolist())
        return original(before, drawn, tries)

    with mock.patch.object(belief, "opponent_actions", opponent_actions):
        belief.refill_step(2, 10, lambda: False)
        assert evaluator.batches == [len(tried)]
        belief.refill_step(2, 30, lambda: False)
        assert sum(evaluator.batches) == len(tried) <= 30
        assert acting.policy is not None
        assert set(np.flatnonzero(acting.policy.inferred).tolist()) == tried

        # Nearly all tries fail now, so that nearly all particles are tried; some are inferred before they are.
        belief.advance(phantom.tried(current.x, 0, False), 0)
        belief.refill_step(2, 300, lambda: False)
        assert belief.counters.rejections > 1500
        assert len(tried) <= sum(evaluator.batches) == belief.counters.inferences <= 400
        assert len(evaluator.batches) < 40


def test_what_is_known_of_a_particle_stays_with_it_when_others_go_or_come() -> None:
    evaluator = Asked()
    belief = belief_of(PhantomTicTacToe(), evaluator, PHANTOM.replace(b=50), phantom.start(0))
    belief.advance(phantom.tried(belief.current.x, 4, True), 4)
    belief.advance(phantom.opponent_tried(belief.current.x), None)
    belief.advance(phantom.tried(belief.current.x, 0, True), 0)
    belief.refill(100, math.inf)
    acting = belief.current
    belief.policy(acting, np.arange(0, 100, 2))
    known = sum(evaluator.batches)
    acting.x = acting.x._replace(others=frozenset(sorted(acting.x.others)[::2]))
    belief.filter(acting)
    left = acting.count
    assert 20 < left < 80
    belief.refill_step(3, 100, lambda: False)
    policy = belief.policy(acting, np.arange(100))
    assert acting.particles is not None
    for stored, fresh in zip(policy.legal, belief.domain.legal(acting.particles, prune=False), strict=True):
        np.testing.assert_array_equal(stored, fresh)
    sizes = np.diff(policy.legal.offsets)
    np.testing.assert_allclose(policy.tau, np.repeat(1 / sizes, sizes), rtol=1e-6)
    assert policy.inferred.all()
    assert known + 100 - left < sum(evaluator.batches) < known + 100


def test_after_k_rejections_comes_a_singleton() -> None:
    """The opponent is thought to try only cell 8, but it holds cell 0."""
    never = KnownOpponent(UniformEvaluator(), lambda side: spread((8,)))
    belief = belief_of(PhantomTicTacToe(), never, PHANTOM.replace(k=5), phantom.start(0))
    belief.advance(phantom.tried(belief.current.x, 4, True), 4)
    belief.advance(phantom.opponent_tried(belief.current.x), None)
    belief.advance(phantom.tried(belief.current.x, 0, False), 0)
    belief.refill(64, math.inf)
    assert belief.counters.singletons == 64
    assert belief.counters.rejections == 5 * 64
    assert belief.steps[2].particles is not None
    x = belief.steps[2].x
    assert {(row.own, row.others) for row in belief.steps[2].particles.rows} == {(Side(1, 0), frozenset([x.own]))}


@pytest.mark.parametrize("player", [0, 1])
def test_refilling_in_the_background_stops_cleanly(player: int) -> None:
    x, particles = phantom.start(player)
    settings = PHANTOM.replace(n_particles=20_000, in_flight=1)
    agent = Agent(PhantomTicTacToe(), UniformEvaluator(), settings, x, particles)
    agent.ponder()
    agent.ponder()
    if player == 1:
        agent.observe(phantom.opponent_tried(agent.x))
    agent.observe(phantom.tried(agent.x, 4, True), 4)
    agent.ponder()
    agent.observe(phantom.opponent_tried(agent.x))
    agent.stop_pondering()
    check_consistent(agent.belief)
    agent.close()


def test_without_playouts_the_only_step_kept_is_never_refilled_from_itself() -> None:
    belief = belief_of(PhantomTicTacToe(), UniformEvaluator(), PHANTOM.replace(playouts=False), phantom.start(1))
    belief.advance(phantom.opponent_tried(belief.current.x), None)
    belief.refill(64, math.inf)
    assert len(belief.steps) == 1 and belief.current.given
    assert belief.current.ignorant.all()


def test_a_belief_looks_at_the_time_after_so_many_particles() -> None:
    belief = belief_of(PhantomTicTacToe(), UniformEvaluator(), PHANTOM, phantom.start(1))
    belief.advance(phantom.opponent_tried(belief.current.x), None)
    counts = [0]

    def look() -> bool:
        counts.append(belief.current.count)
        return False

    belief.at_once = 5
    belief.refill(64, math.inf, look)
    assert belief.current.count == 64
    assert all(later - earlier <= 5 for earlier, later in pairwise([*counts, 64]))


def test_sharpened_policies_sum_to_one_and_keep_their_order() -> None:
    legal = Legal(np.arange(5, dtype=np.int32), np.array([0, 2, 5]))
    priors = np.array([0.2, 0.8, 0.5, 0.3, 0.2], np.float32)
    sharp, flat = (sharpened(priors, legal, t) for t in (0.5, 2.0))
    np.testing.assert_allclose(sharp[:2], np.array([0.04, 0.64]) / 0.68, rtol=1e-5)
    for policy in (sharp, flat):
        np.testing.assert_allclose([policy[:2].sum(), policy[2:].sum()], 1, rtol=1e-6)
        assert policy[2:].argsort().tolist() == priors[2:].argsort().tolist()
    assert sharp[1] > priors[1] > flat[1]
