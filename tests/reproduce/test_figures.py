"""What the figures and the ablation compute, in small cases."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from penumbra.reproduce import ablation, accuracy, fig1, fig_synopsis, fig_uncertainty
from penumbra.reproduce.request import Request
from penumbra.training.examples import ExampleSettings, make_examples
from tests.support.training_games import records


def test_buckets_have_inclusive_upper_bounds() -> None:
    sizes = np.array([1, 2, 3, 4, 5, 8, 9, 1024, 1025, 10**6, 10**7])
    assert fig1.buckets(sizes).tolist() == [0, 1, 2, 2, 3, 3, 4, 10, 11, 20, 20]


def test_figure_1_counts_every_step_of_every_player() -> None:
    few = records()[:10]
    sums = fig1.look(few, 500)
    examples = make_examples(few, ExampleSettings(cap=500))
    assert sum(sums["steps"]) == len(examples)
    assert sum(sums["points"]) == pytest.approx(float(((1 + examples.outcomes) / 2).sum()))
    assert sums["most"] == [int(examples.set_sizes[examples.games == i].max()) for i in range(10)]


def test_the_uncertainty_figure_takes_numbers_of_states_together() -> None:
    rows = np.zeros(129)
    rows[[1, 8, 9, 128]] = [1, 3, 2, 4]
    at, won, value = fig_uncertainty.binned({"rows": rows, "points": rows / 2, "values": rows / 4})
    assert at.tolist() == [4.5, 12.5, 124.5]
    assert won.tolist() == [0.5] * 3 and value.tolist() == [0.25] * 3


def test_a_removed_plane_is_clear_and_comes_back() -> None:
    from penumbra.training.data import Table, top_players
    from penumbra.training.recipe import Plan

    table = Table(records()[:4], {"All": Plan("all", multiplicity=1)}, top_players(records()), ExampleSettings(), "cpu")
    table.fill()
    rows = torch.arange(table.tally.kept)
    before = table.take(rows).planes
    with ablation.without(table, 12):
        found = table.take(rows).planes
        assert not found[:, 12].any() and torch.equal(found[:, 13:], before[:, 13:])
    assert torch.equal(table.take(rows).planes, before) and before[:, 12].any()


def test_the_ablation_spreads_over_the_order_of_saliency() -> None:
    assert ablation.chosen_planes(104) == list(range(104))
    few = ablation.chosen_planes(3)
    assert len(few) == 3 and {10, 62} <= set(few)  # the paper's most and least salient planes


def test_the_example_is_the_papers() -> None:
    record = fig_synopsis.example_game()
    examples = make_examples([record], ExampleSettings(cap=10_000))
    white = examples.set_sizes[examples.players]
    assert white.tolist()[:9] == [1, 1, 21, 1, 22, 1, 21, 13, 238]


def test_evaluations_are_kept_and_averaged(request_: Request) -> None:
    judged = accuracy.judge(request_)
    again = accuracy.from_plain(json.loads(json.dumps(accuracy.to_plain(judged.evaluation))))
    for measure, table in judged.evaluation.cross.items():
        np.testing.assert_array_equal(again.cross[measure], table)
    halved = dataclasses.replace(again, cross={name: table / 2 for name, table in again.cross.items()})
    mean = accuracy.mean([again, halved])
    np.testing.assert_allclose(mean.cross["top1"], 0.75 * again.cross["top1"])
