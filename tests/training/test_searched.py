"""Learning from searched games: the policy towards the visits of the root, from weights that are there already."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from penumbra.arena.generate import run
from penumbra.arena.population import Member, Population
from penumbra.games.archive import Archive
from penumbra.games.visits import Searched, pack, unpack
from penumbra.network import weights as weights_file
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, to_weights
from penumbra.network.weights import WeightsError
from penumbra.rbc.synopsis import Synopsis
from penumbra.training import run as training
from penumbra.training.data import Table, visit_shares
from penumbra.training.evaluation import evaluate
from penumbra.training.examples import ExampleSettings, make_examples, split
from penumbra.training.loss import legal_logits
from penumbra.training.recipe import Recipe, read_recipe
from penumbra.training.trainer import Trainer
from tests.support.command_line import penumbra
from tests.support.training_games import make_archive, records, write_recipe


def one_search_a_game() -> dict[int, bytes]:
    """In every game of the little archive the first sense was searched: two windows, three visits to one."""
    shares = np.array([0.25, 0.75], np.float32)
    return {record.hash: pack([Searched(0, np.array([9, 54], np.int32), shares)]) for record in records()}


def test_searched_steps_have_their_visits_and_others_what_was_chosen() -> None:
    some = records()[:4]
    examples = make_examples(some, ExampleSettings(cap=200))
    shares = visit_shares(examples, some, {some[1].hash: one_search_a_game()[some[1].hash]})
    assert np.allclose(shares.sum(axis=1), 1)
    for row in range(len(examples)):
        legal = examples.legal_of(row).tolist()
        found = {action: float(share) for action, share in zip(legal, shares[row], strict=False) if share}
        if (examples.games[row], examples.plies[row]) == (1, 0) and examples.actions[row] < 64:
            assert found == {9: 0.25, 54: 0.75}
        else:
            assert found == {int(examples.actions[row]): 1.0}


def test_the_policy_goes_where_the_visits_went(recipe: Recipe) -> None:
    """A network that learns first senses alone, all searched with the same visits, comes to predict their shares."""
    trainer = Trainer(replace(recipe, training=replace(recipe.training, learning_rate=0.01)), "cpu")
    learned, _ = split(records())
    table = Table(learned, recipe.plans, [], recipe.examples, "cpu", one_search_a_game())
    table.fill()
    shared = torch.nonzero((table.columns["shares"][: table.tally.kept] == 0.75).any(dim=1)).squeeze(1)
    assert len(shared) >= len(learned) / 2
    batch = table.take(shared[:32])
    for _ in range(60):
        trainer.update(batch, "All")
    heads = trainer.heads(batch, "All", stop_gradient=True)
    policy = legal_logits(heads.policy, batch.legal).softmax(dim=1)
    assert batch.shares is not None
    assert torch.allclose(policy[batch.shares == 0.75], torch.tensor(0.75), atol=0.1)
    assert torch.allclose(policy[batch.shares == 0.25], torch.tensor(0.25), atol=0.1)


def test_training_begins_from_weights_that_are_there(recipe: Recipe, tmp_path: Path) -> None:
    short = replace(recipe, training=replace(recipe.training, steps=3))
    training.train(short, records(), tmp_path / "first", "cpu")
    first = tmp_path / "first" / "weights.safetensors"
    still = replace(recipe, training=replace(recipe.training, steps=1, learning_rate=0.0))
    training.train(still, records(), tmp_path / "second", "cpu", start=first, searched=one_search_a_game())
    before, after = weights_file.load(first), weights_file.load(tmp_path / "second" / "weights.safetensors")
    for name, tensor in before.tensors.items():
        if "running" not in name and "num_batches" not in name:
            assert np.array_equal(tensor, after.tensors[name]), name
    assert after.about["steps"] == before.about["steps"] and after.about["then steps"].startswith("1 of")


def test_heads_can_learn_while_the_tower_and_the_values_stay(recipe: Recipe, tmp_path: Path) -> None:
    """What the recipe `heads` asks for."""
    heads = read_recipe("heads")
    assert all(plan.stop_gradient for plan in heads.plans.values()) and heads.plans["Penumbra"].weight == 0
    assert heads.training.weight_decay == heads.loss.value == 0
    training.train(replace(recipe, training=replace(recipe.training, steps=3)), records(), tmp_path / "a", "cpu")
    first = tmp_path / "a" / "weights.safetensors"
    plans = {
        name: replace(plan, stop_gradient=True, weight=float(name == "All")) for name, plan in recipe.plans.items()
    }
    optimizer = replace(heads.training, steps=3, warm_up=0, batch=32, mixed_precision=False, on_the_fly=False)
    only = replace(recipe, plans=plans, training=optimizer, loss=heads.loss)
    training.train(only, records(), tmp_path / "b", "cpu", start=first)
    before, after = weights_file.load(first), weights_file.load(tmp_path / "b" / "weights.safetensors")
    changed = {name for name, tensor in before.tensors.items() if not np.array_equal(tensor, after.tensors[name])}
    assert "headsets.All.policy.weight" in changed
    assert all(name.startswith(("headsets.All.policy", "headsets.All.pass_move")) for name in changed), changed


def test_weights_of_another_size_are_refused_with_a_reason(tmp_path: Path, recipe: Recipe) -> None:
    lite = Path(weights_file.__file__).parents[1] / "weights" / "lite.safetensors"
    archive = make_archive(tmp_path / "games.db")
    with pytest.raises(WeightsError, match=r"lite.safetensors: is not a network of the recipe's size"):
        training.train(recipe, records(), tmp_path / "run", "cpu", start=lite)
    said = penumbra("train", write_recipe(tmp_path), "--archive", archive, "--out", tmp_path / "x", "--start", lite)
    assert said.returncode == 1 and "is not a network of the recipe's size" in said.stderr


def test_the_whole_way_from_searched_games(tmp_path: Path, recipe: Recipe) -> None:
    """Search, archive, train towards the visits, judge."""
    settings = {"evaluator": "heuristic", "nodes": 24, "cap": 1000, "settings": {"b": 4, "d": [1, 2], "n_particles": 8}}
    members = (Member("Searcher", "penumbra:mixture", settings), Member("Wild", "random"))
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        run(Population(members, games=4, ply_limit=40), archive)
    games, searched = training.read_games([path]), training.read_searches([path])
    assert set(searched) == {game.hash for game in games}
    trainer, table = training.train(
        replace(recipe, training=replace(recipe.training, steps=2)), games, tmp_path / "out", "cpu", searched=searched
    )
    learned = {record.hash for record in table.records}
    steps = sum(len(unpack(visits)) for key, visits in searched.items() if key in learned)
    soft = (table.columns["shares"][: table.tally.kept].float().amax(dim=1) < 1).sum()
    assert 0 < soft <= 2 * steps
    assert evaluate(trainer.network, table, 100).examples.sum() > 0


@pytest.mark.parametrize("synopsis", ["binary", "graded"])
def test_a_recipe_without_a_network_goes_on_from_weights_of_any_size(tmp_path: Path, synopsis: Synopsis) -> None:
    """Without auxiliary heads, with headsets that the recipe does not train, and with one that the weights lack."""
    torch.manual_seed(2)
    network = Network(Architecture(8, 1, ("All", "Penumbra"), synopsis), auxiliary=False)
    given = to_weights(network, {"players": '{"All": "top"}'})
    weights_file.save(given, tmp_path / "start.safetensors")
    recipe = tmp_path / "on.toml"
    recipe.write_text(
        "[training]\noptimizer = 'adamw'\nbatch = 8\nsteps = 2\n[loss]\nsoon = 0.0\npieces = 0.0\n"
        "[examples]\ncap = 100\n"
        "[headsets.All]\nplayers = 'all'\nweight = 0\nmultiplicity = 1\nstop_gradient = true\n"
        "[headsets.Trout]\nmultiplicity = 1\nstop_gradient = true\n"
    )
    archive, start = make_archive(tmp_path / "games.db"), tmp_path / "start.safetensors"
    out = ("--out", tmp_path / "run", "--device", "cpu", "--all-games")
    said = penumbra("train", recipe, "--archive", archive, "--start", start, *out)
    assert said.returncode == 0, said.stderr
    assert "40 games to learn from" in said.stdout
    after = weights_file.load(tmp_path / "run" / "weights.safetensors")
    assert after.architecture == Architecture(8, 1, ("All", "Penumbra", "Trout"), synopsis)
    assert json.loads(after.about["players"]) == {"All": "all", "Trout": ["Trout"]}
    before = weights_file.load(start)
    assert all(np.array_equal(tensor, after.tensors[name]) for name, tensor in before.tensors.items())
    copied = {name.replace("Trout", "All"): after.tensors[name] for name in after.tensors if ".Trout." in name}
    assert any(not np.array_equal(tensor, before.tensors[name]) for name, tensor in copied.items())
