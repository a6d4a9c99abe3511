"""Sequential halving: every action in the same worlds, the worse half dropped, values of few visits moving little."""

from __future__ import annotations

import numpy as np
from examples.phantom_tic_tac_toe.domain import Batch, PhantomTicTacToe, Side, Situation
from examples.phantom_tic_tac_toe.evaluators import UniformEvaluator

from penumbra.core import NodeTable
from penumbra.dsmcp import Agent, Settings
from penumbra.dsmcp.domain import Legal, sharpened
from penumbra.dsmcp.halving import CANDIDATES, DOUBT, Halving, ranks
from penumbra.dsmcp.root_policy import Root


def root_of(n: int) -> Root:
    pi = np.arange(n, 0, -1, dtype=np.float32)
    return Root(7, np.arange(100, 100 + n, dtype=np.int32), pi / pi.sum(), 0.0)


def test_every_candidate_plays_in_every_world() -> None:
    halving = Halving(root_of(20), 20.0)
    actions, worlds = halving.schedule(64)
    assert len(actions) == 64
    for world in range(8):
        assert actions[worlds == world].tolist() == list(range(100, 100 + CANDIDATES))  # the likeliest


def test_the_worse_half_is_dropped_after_each_part_of_the_budget() -> None:
    root, table = root_of(12), NodeTable(1 << 10)
    halving = Halving(root, 20.0)
    n = np.full(CANDIDATES, 1000.0)
    q = n * np.linspace(0.1, 0.9, CANDIDATES)  # the less likely, the better
    table.add(np.full(CANDIDATES, 7, np.uint64), root.actions[:CANDIDATES], n, q, np.ones(CANDIDATES, np.float32))
    left = []
    for spent in (0.0, 0.3, 0.34, 0.7, 1.0):
        halving.drop(table, spent)
        left.append(len(halving.alive))
    assert left == [8, 8, 4, 2, 2]
    assert set(halving.alive.tolist()) == {6, 7}


def test_values_of_few_visits_move_little() -> None:
    pi = np.array([0.6, 0.4])
    few, many = np.full(2, DOUBT / 50), np.full(2, 100 * DOUBT)
    means = np.array([0.45, 0.5])
    assert ranks(pi, few, few * means, 20.0).argmax() == 0
    assert ranks(pi, many, many * means, 20.0).argmax() == 1
    assert ranks(pi, np.array([0.0, 5.0]), np.array([0.0, 1.0]), 20.0)[0] == -np.inf


def test_a_search_by_halving_finds_the_cell_that_wins() -> None:
    """Our line ends at cell 6; without static analysis only playouts can tell."""
    own, theirs = Side(0b000001001, 0b100000000), Side(0b110000000, 0b000000001)
    settings = Settings(
        b=16, d=(6,), n_particles=8, static_analysis=False, weigh_ended=True, choice="mirror", eta=60.0, seed=1
    ).replace(root_search="halving")
    x = Situation(0, own, frozenset([theirs]))
    particles = Batch([Situation(1, theirs, frozenset([own]))])
    decision = Agent(PhantomTicTacToe(), UniformEvaluator(), settings, x, particles).choose(nodes=800)
    assert decision.action == 6
    assert decision.visits[decision.actions == 6] == decision.visits.max()


def test_sharpened_policies_sum_to_one_and_keep_their_order() -> None:
    legal = Legal(np.arange(5, dtype=np.int32), np.array([0, 2, 5]))
    priors = np.array([0.2, 0.8, 0.5, 0.3, 0.2], np.float32)
    sharp, flat = (sharpened(priors, legal, t) for t in (0.5, 2.0))
    np.testing.assert_allclose(sharp[:2], np.array([0.04, 0.64]) / 0.68, rtol=1e-5)
    for policy in (sharp, flat):
        np.testing.assert_allclose([policy[:2].sum(), policy[2:].sum()], 1, rtol=1e-6)
        assert policy[2:].argsort().tolist() == priors[2:].argsort().tolist()
    assert sharp[1] > priors[1] > flat[1]
