"""Cross-validation by game: nothing leaks from a fold into what predicts it, and intervals are drawn by game."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, from_weights, network_input, to_weights
from penumbra.network.weights import Weights, WeightsError, for_play
from penumbra.training import folds as cross_validation
from penumbra.training.data import Table
from penumbra.training.examples import ExampleSettings
from penumbra.training.folds import NO_FOLD, CrossValidation, Limits, OtherFolds, deal
from penumbra.training.game_counts import MEASURES, GameCounts, count, differences, shares
from penumbra.training.loss import losses
from penumbra.training.recipe import LossWeights, Plan, Recipe, Training
from tests.support.training_games import records

FOLDS = 3
GAMES = records(12)


@pytest.fixture(scope="module")
def weights() -> Weights:
    torch.manual_seed(1)
    return for_play(to_weights(Network(Architecture(8, 1, ("All", "Wild")))))


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    plans = {"All": Plan("all", 3, 2), "Wild": Plan(("Wild",), 1, 1), "Hasty": Plan(("Hasty",), 1, 1)}
    training = Training(optimizer="adamw", learning_rate=0.01, batch=32, steps=3)
    settings = ExampleSettings(cap=200, multiplicity=2)
    return Recipe(Architecture(), plans, training, LossWeights(1, 0.1, 0, 0), settings, any_size=True)


def test_folds_are_disjoint_and_cover_all_games() -> None:
    dealt = deal(GAMES, 5)
    assert sorted(Counter(dealt.tolist()).values()) == [2, 2, 2, 3, 3]
    order = np.random.default_rng(1).permutation(len(GAMES))
    again = deal([GAMES[i] for i in order], 5)
    assert (again == dealt[order]).all()  # by the games, not by their order
    with pytest.raises(ValueError, match="1 folds leave no games"):
        deal(GAMES, 1)
    with pytest.raises(ValueError, match="12 games cannot be dealt into 13 folds"):
        deal(GAMES, 13)


def test_a_copy_draws_every_row_but_those_of_its_fold_while_the_table_is_filled(recipe: Recipe) -> None:
    table = Table(GAMES, recipe.plans, ["Trout"], recipe.examples, "cpu", passes=2)
    dealt = dict(zip((record.hash for record in GAMES), deal(GAMES, FOLDS).tolist(), strict=True))
    folds = torch.tensor([dealt[record.hash] for record in table.records])
    views = [OtherFolds(table, folds, fold) for fold in range(FOLDS)]
    looks: list[int] = []

    def look(tally: object) -> None:
        looks.append(sum(view.counts["All"] for view in views))
        assert looks[-1] == (FOLDS - 1) * table.counts["All"]

    table.fill(look, chunk=5)
    assert len(looks) == 5 and len(set(looks)) == 5
    for fold, view in enumerate(views):
        for name in recipe.plans:
            rows = table.rows[name][: table.counts[name]].long()
            others = rows[folds[table.columns["game"][rows].long()] != fold]
            assert view.counts[name] == len(others)
            allowed = {planes.tobytes() for planes in table.columns["planes"][others].numpy()}
            drawn = view.draw(name, 64, torch.Generator().manual_seed(1)).planes.numpy()
            assert {planes.tobytes() for planes in drawn} <= allowed
    for record, game in zip(table.records, range(len(table.records)), strict=True):
        names = (record.white_name, record.black_name)
        rows = table.rows["Wild"][: table.counts["Wild"]].long()
        assert bool((table.columns["game"][rows] == game).any()) == ("Wild" in names)


def test_a_fold_is_predicted_by_a_copy_that_has_not_learned_it_by_heart(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every game's actions are replaced by choices at random that only memory can predict."""
    plans = {"All": Plan("all", multiplicity=1)}
    training = Training(optimizer="adamw", learning_rate=0.02, batch=64, steps=60)
    loss = LossWeights(1, 0, 0, 0)
    recipe = Recipe(Architecture(), plans, training, loss, ExampleSettings(cap=100), any_size=True)

    def fill_at_random(table: Table, *rest: object, **more: object) -> None:
        table.fill()
        kept = table.tally.kept
        legal = (table.columns["legal"][:kept] >= 0).sum(1)
        random = torch.rand(kept, generator=torch.Generator().manual_seed(3))
        table.columns["target"][:kept] = (random * legal).to(torch.uint8)

    monkeypatch.setattr(cross_validation, "fill", fill_at_random)
    run = CrossValidation(weights, recipe, GAMES[:6], FOLDS, "cpu", limits=Limits(passes=1), say=lambda line: None)
    result = run.run()
    assert result.rows[0].after is not None
    unseen = result.rows[0].after["top1"].value
    rows = run._first_draws("All")
    fold = run.folds[run.table.columns["game"][rows].long()]
    learned = count(run.copies[0].network, "All", run.table, rows[fold != 0], run.games)
    by_heart = learned.sums[:, 0].sum() / learned.of[:, 0].sum()
    chance = float((1 / (run.table.columns["legal"][: run.table.tally.kept] >= 0).sum(1)).mean())
    assert by_heart > 2 * chance
    assert unseen < chance + 0.5 * (by_heart - chance)


def test_a_cross_validation_from_end_to_end(weights: Weights, recipe: Recipe) -> None:
    said: list[str] = []
    extra = records(14)[10:]  # two of which are predicted
    run = CrossValidation(weights, recipe, GAMES, FOLDS, "cpu", extra=extra, limits=Limits(2), say=said.append)
    assert (run.folds == NO_FOLD).sum() == 2 * 2
    result = run.run()
    assert [row.name for row in result.rows] == ["All", "Wild", "Hasty"]
    everybody, wild, hasty = result.rows

    assert (everybody.games, everybody.seats, result.games, result.steps) == (12, 24, 12, 3)
    for row in result.rows:
        assert row.after is not None and set(row.after) == set(MEASURES)
        assert all(share.low <= share.value <= share.high for share in row.before.values())
    assert wild.seats == sum("Wild" in (r.white_name, r.black_name) for r in GAMES)
    assert len(result.calibration) == 2 and result.calibration[0][:, 0].sum() == result.calibration[1][:, 0].sum()
    # As the weights are, Hasty's headset is a copy of All's.
    as_all = run._predict([run.network])
    own = run._first_draws("Hasty")
    assert hasty.before["top1"].value == pytest.approx(
        count(run.network, "All", run.table, own, run.games).sums[:, 0].sum() / len(own)
    )
    assert as_all["Hasty"].of[:, 0].sum() == len(own) == hasty.examples


def test_without_folds_nothing_is_learned(weights: Weights, recipe: Recipe) -> None:
    run = CrossValidation(weights, recipe, GAMES[:4], 0, "cpu", say=lambda line: None)
    result = run.run()
    assert not run.copies and result.steps == 0 and len(result.calibration) == 1
    assert all(row.after is None for row in result.rows)
    assert run.table.tally.kept == result.rows[0].examples


def test_it_ends_in_time_with_figures_of_what_was_made(weights: Weights, recipe: Recipe) -> None:
    endless = replace(recipe, training=replace(recipe.training, steps=10**9))
    limits = Limits(passes=1, ends=time.monotonic() + 1.0)
    result = CrossValidation(weights, endless, GAMES, 2, "cpu", limits=limits, say=lambda line: None).run()
    assert result.steps > 0 and result.rows[0].after is not None


def test_weights_that_do_not_fit_are_refused(weights: Weights, recipe: Recipe) -> None:
    soon = replace(recipe, loss=LossWeights())
    with pytest.raises(WeightsError, match="has no auxiliary heads; the recipe needs them"):
        CrossValidation(weights, soon, GAMES, 2, "cpu")
    alone = {n.replace("All", "Some"): t for n, t in weights.tensors.items()}
    others = Weights(Architecture(8, 1, ("Some", "Wild")), alone, {})
    with pytest.raises(WeightsError, match=r"has no headset All, of which the recipe's All, Hasty would be copies"):
        CrossValidation(others, recipe, GAMES, 2, "cpu")


def test_intervals_are_drawn_by_game() -> None:
    """100 games of 50 examples: where all examples of a game are alike, they say no more than 100 examples would."""
    rng = np.random.default_rng(1)
    hits = rng.integers(0, 2, 100) * 50.0
    alike = GameCounts.nothing(100)
    alike.sums[:, 0], alike.of[:] = hits, 50.0
    share = shares(alike, np.ones(100, bool))["top1"]
    assert share.value == pytest.approx(hits.mean() / 50)
    assert (share.high - share.low) / 2 == pytest.approx(1.96 * 0.5 / 100**0.5, rel=0.15)
    independent = GameCounts.nothing(100)
    independent.sums[:, 0], independent.of[:] = rng.binomial(50, 0.5, 100), 50.0
    narrow = shares(independent, np.ones(100, bool))["top1"]
    assert (narrow.high - narrow.low) / 2 == pytest.approx(1.96 * 0.5 / 5000**0.5, rel=0.25)
    some = np.arange(100) < 10
    assert shares(alike, some)["top1"].value == pytest.approx(hits[:10].mean() / 50)
    assert np.isnan(shares(alike, np.zeros(100, bool))["top1"].value)


def test_differences_are_of_the_same_games() -> None:
    """Games that are hard for both do not blur which of the two is better."""
    rng = np.random.default_rng(1)
    one, other = GameCounts.nothing(100), GameCounts.nothing(100)
    one.of[:] = other.of[:] = 50.0
    other.sums[:, 0] = rng.integers(0, 2, 100) * 40.0
    one.sums[:, 0] = other.sums[:, 0] + rng.integers(0, 4, 100)
    found = differences(one, other)["top1"]
    assert found.value == pytest.approx((one.sums - other.sums)[:, 0].sum() / 5000)
    assert found.low < found.value < found.high
    alone = shares(one, np.ones(100, bool))["top1"]
    assert found.high - found.low < 0.1 * (alone.high - alone.low)
    assert np.isnan(differences(one, GameCounts.nothing(100))["top1"].value)


def test_losses_are_those_of_what_was_said(weights: Weights, recipe: Recipe) -> None:
    table = Table(GAMES, recipe.plans, ["Trout"], recipe.examples, "cpu")
    table.fill()
    network = from_weights(weights)
    rows = table.rows["All"][: table.counts["All"]].long()
    counts = count(network, "All", table, rows, len(GAMES))
    batch = table.take(rows)
    with torch.no_grad():
        heads = network(network_input(batch.planes), "All")
    said = {name: float(value) for name, value in losses(heads, batch).items()}
    sums, of = counts.sums.sum(axis=0), counts.of.sum(axis=0)
    at = {measure: i for i, measure in enumerate(MEASURES)}
    assert sums[at["policy_loss"]] / of[at["policy_loss"]] == pytest.approx(said["policy"], rel=1e-4)
    decided = batch.outcome != 0
    won = (1 + heads.value[decided] * batch.outcome[decided]) / 2
    assert sums[at["value_loss"]] == pytest.approx(-float(won.log().sum()), rel=1e-4)
    assert of[at["value_loss"]] == int(decided.sum())


def test_values_learn_at_a_rate_of_their_own(weights: Weights, recipe: Recipe) -> None:
    """At none they stay as they are, whatever the weight of their loss and whatever decays."""
    still = replace(recipe, training=replace(recipe.training, value_rate=0.0, weight_decay=0.1))
    run = CrossValidation(weights, still, GAMES[:4], 2, "cpu", say=lambda line: None)
    before = {name: tensor.clone() for name, tensor in run.network.state_dict().items()}
    run.run()
    after = run.copies[0].network.state_dict()
    changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert "headsets.All.policy.weight" in changed
    assert not any(".value." in name for name in changed)


def test_examples_are_of_the_sort_that_the_weights_read() -> None:
    graded = for_play(to_weights(Network(Architecture(8, 1, ("All", "Wild"), "graded"))))
    recipe = Recipe(Architecture(), {"All": Plan("all")}, loss=LossWeights(1, 0, 0, 0), any_size=True)
    found = CrossValidation(graded, recipe, records()[:4], 0, "cpu").run()
    assert found.rows[0].before["top1"].value >= 0
