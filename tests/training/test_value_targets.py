"""What the value learns beside results: softened ones, the engine's chance to win, and a head that learns it too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from penumbra.configs.reader import ConfigurationError
from penumbra.network import weights
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, from_weights, network_input, to_weights
from penumbra.training.data import Batch, Table
from penumbra.training.examples import split
from penumbra.training.loss import losses, value_target
from penumbra.training.recipe import LossWeights, Plan, Recipe, Training, read_recipe
from penumbra.training.trainer import Trainer
from tests.support.command_line import penumbra
from tests.support.training_games import make_archive, records, write_recipe

PLANS = {"All": Plan("all", multiplicity=1)}


def recipe_with(loss: LossWeights, steps: int = 1) -> Recipe:
    network = Architecture(8, 1, ("All",))
    given = Training(optimizer="adamw", learning_rate=0.006, batch=32, steps=steps)
    recipe = Recipe(network, PLANS, given)
    return replace(
        recipe,
        loss=loss,
        examples=replace(recipe.examples, cap=200, multiplicity=1, engine_states=4, engine_scale=250.0),
    )


@pytest.fixture(scope="module")
def table() -> Table:
    settings = recipe_with(LossWeights()).examples
    table = Table(split(records())[0], PLANS, [], settings, "cpu")
    table.fill()
    return table


@pytest.fixture
def batch(table: Table) -> Batch:
    return table.draw("All", 200, torch.Generator().manual_seed(2))


def rows(batch: Batch) -> Iterator[tuple[int, float, float, float, float]]:
    """(row, result, own steps left, the engine's chance over the set, in truth)."""
    assert batch.engine is not None
    numbers = zip(batch.outcome.tolist(), batch.left.tolist(), *batch.engine.T.tolist(), strict=True)
    for i, (result, left, of_set, truth) in enumerate(numbers):
        yield i, result, left, of_set, truth


@pytest.mark.parametrize(
    "weights",
    [
        LossWeights(),
        LossWeights(softening=0.25),
        LossWeights(mixing=0.3),
        LossWeights(mixing=0.6, engine_of="truth", softening=0.1),
        LossWeights(mixing=0.6, mixing_half=10),
    ],
)
def test_the_target_is_the_result_softened_and_mixed(batch: Batch, weights: LossWeights) -> None:
    found = value_target(batch, weights).tolist()
    assert batch.left.min() <= 3 and batch.left.max() > 20
    for i, result, left, of_set, truth in rows(batch):
        share = weights.mixing
        if weights.mixing_half:
            share *= 1 - 0.5 ** ((left - 1) / weights.mixing_half)
        engine = 2 * (truth if weights.engine_of == "truth" else of_set) - 1
        assert found[i] == pytest.approx((1 - share) * (1 - weights.softening) * result + share * engine, abs=1e-6)


def test_at_the_last_step_only_the_result_counts_and_far_from_it_all_of_the_share(batch: Batch) -> None:
    weights = LossWeights(mixing=0.5, mixing_half=4)
    for left, share in ((1.0, 0.0), (5.0, 0.25), (400.0, 0.5)):
        at = replace(batch, left=torch.full_like(batch.left, left))
        assert batch.engine is not None
        expected = (1 - share) * batch.outcome + share * (2 * batch.engine[:, 0] - 1)
        assert torch.allclose(value_target(at, weights), expected, atol=1e-6)


def test_rows_keep_what_the_engine_said(table: Table) -> None:
    """To half precision; the engine knows something of who wins."""
    batch = table.take(torch.arange(table.tally.kept))
    assert batch.engine is not None and batch.engine.shape == (table.tally.kept, 2)
    assert ((batch.engine >= 0) & (batch.engine <= 1)).all()
    decided = batch.outcome != 0
    for opinion in batch.engine.T:
        assert np.corrcoef(opinion[decided].numpy(), batch.outcome[decided].numpy())[0, 1] > 0.1


def test_a_mixed_value_learns_the_mixture(table: Table) -> None:
    """With all of the share the value comes to say what the engine does, whoever won."""
    trainer = Trainer(recipe_with(LossWeights(policy=0, soon=0, pieces=0, mixing=1.0), steps=100), "cpu")
    trainer.train(table, lambda entry: None, 100)
    batch = table.take(torch.arange(400))
    assert batch.engine is not None
    trainer.network.eval()
    with torch.no_grad():
        said = trainer.heads(batch, "All", stop_gradient=True).value
    of_engine, of_results = ((said - t).square().mean() for t in (2 * batch.engine[:, 0] - 1, batch.outcome))
    assert of_engine < 0.4 * of_results


def test_the_engine_head_learns_the_engine_and_leaves_play_alone(table: Table, tmp_path: Path) -> None:
    recipe = recipe_with(LossWeights(policy=0.1, value=0.1, engine=1.0), steps=80)
    trainer = Trainer(recipe, "cpu")
    batch = table.take(torch.arange(400))

    def error() -> float:
        with torch.no_grad():
            return float(losses(trainer.heads(batch, "All", stop_gradient=True), batch, recipe.loss)["engine"])

    before = error()
    trainer.train(table, lambda entry: None, 40)
    trainer.recalibrate(table, 20)
    assert error() < 0.8 * before
    weights.save(to_weights(trainer.network), tmp_path / "whole.safetensors")
    whole = weights.load(tmp_path / "whole.safetensors")
    assert whole.has_engine_heads and whole.has_auxiliary_heads
    lean = weights.for_play(whole)
    assert not lean.has_engine_heads and not any(".engine." in name for name in lean.tensors)
    x = network_input(batch.planes)
    one, other = (from_weights(w)(x, "All") for w in (whole, lean))
    assert torch.equal(one.policy, other.policy) and torch.equal(one.value, other.value)
    assert one.engine is not None and other.engine is None


def test_an_engine_head_that_weights_lack_begins_as_their_value(tmp_path: Path) -> None:
    given = to_weights(Network(Architecture(8, 1, ("All",))))
    trainer = Trainer(recipe_with(LossWeights(engine=0.5)), "cpu", given)
    x = torch.rand(3, 104, 8, 8)
    trainer.network.eval()
    heads = trainer.network(x, "All")
    assert torch.equal(heads.engine, heads.value)
    onwards = Trainer(recipe_with(LossWeights()), "cpu", to_weights(trainer.network))  # which trains no such head
    assert onwards.network(x, "All").engine is not None


def test_a_run_with_all_of_it_is_trained_and_exported(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path)
    text = recipe.read_text().replace("[examples]", "[examples]\nengine_states = 4")
    recipe.write_text(text + "[loss]\nengine = 0.3\nmixing = 0.3\nmixing_half = 20\nsoftening = 0.1\n")
    archive = make_archive(tmp_path / "games.db", games=16)
    penumbra("train", recipe, "--archive", archive, "--out", tmp_path / "run", "--device", "cpu")
    assert '"engine": ' in (tmp_path / "run/log.jsonl").read_text()
    penumbra("export", tmp_path / "run/weights.safetensors", tmp_path / "play.safetensors")
    assert not weights.load(tmp_path / "play.safetensors").has_engine_heads


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("engine = 0.3", "needs engine_states above 0"),
        ("mixing = 0.3", "needs engine_states above 0"),
        ("mixing = 1.5", "mixing = 1.5: it must be a number from 0 to 1"),
        ("softening = -0.1", "softening = -0.1: it must be a number from 0 to 1"),
        ("engine_of = 'moves'", "it is one of set, truth"),
    ],
)
def test_losses_that_cannot_be(tmp_path: Path, loss: str, message: str) -> None:
    path = write_recipe(tmp_path)
    path.write_text(path.read_text() + f"[loss]\n{loss}\n")
    with pytest.raises(ConfigurationError) as error:
        read_recipe(path)
    assert message in str(error.value) and str(path) in str(error.value)
