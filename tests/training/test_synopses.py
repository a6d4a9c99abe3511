"""Networks that read shares go the way of all others: from games to weights, and from weights to games."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from penumbra.arena.game_loop import play_strictly
from penumbra.bench.search import middle_game
from penumbra.core import Game
from penumbra.dsmcp.domain import Legal
from penumbra.games.archive import Archive
from penumbra.network import weights
from penumbra.network.architecture import Architecture
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.network.loading import network_evaluator
from penumbra.network.model import Network, from_weights, to_weights
from penumbra.network.onnx_evaluator import OnnxEvaluator
from penumbra.network.quantization import int8_evaluator
from penumbra.network.quantization.calibration import with_ranges
from penumbra.network.quantization.rounding import ranges_of
from penumbra.network.torch_evaluator import TorchEvaluator
from penumbra.network.weights import WeightsError
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.rbc.synopsis import LAYOUTS, Synopsis
from penumbra.training import run as training
from penumbra.training import saliency, selfplay
from penumbra.training.data import Table
from penumbra.training.evaluation import evaluate
from penumbra.training.examples import ExampleSettings
from penumbra.training.ppo import HEADSET, Improvement, ImprovementRun, Learner, run
from penumbra.training.ppo_rollouts import Bulk
from penumbra.training.recipe import LossWeights, Plan, Recipe, read_recipe, recipe_of
from penumbra.training.sample_positions import synopses
from penumbra.training.trainer import Trainer
from tests.support.command_line import penumbra
from tests.support.training_games import make_archive, records, write_recipe


def tiny(synopsis: Synopsis) -> weights.Weights:
    torch.manual_seed(0)
    return to_weights(Network(Architecture(8, 2, ("All", "Top"), synopsis)), {"commit": "none"})


@pytest.mark.parametrize("synopsis", ["shares", "graded"])
def test_from_games_to_weights_to_a_game(tmp_path: Path, synopsis: Synopsis) -> None:
    recipe = read_recipe(write_recipe(tmp_path, steps=3, synopsis=synopsis))
    assert recipe.architecture.synopsis == recipe.examples.synopsis == synopsis
    training.train(recipe, records(), tmp_path, "cpu", say=lambda line: None)
    trained = weights.load(tmp_path / "weights.safetensors")
    assert trained.architecture == recipe.architecture

    judged = recipe_of(trained)
    table = training.validation_table(judged, records(), "cpu", 200)
    trainer = Trainer(recipe, "cpu", trained)
    assert 0 <= evaluate(trainer.network, table).own("top1")["All"] < 1
    found = saliency.measure(trainer.network, "All", table.draw("All", 16, None), LossWeights())
    assert found.pbs["action"].shape == (len(LAYOUTS[synopsis].planes),)
    assert 0 < found.ones[-1] < 1  # how many states there are, which is no bit

    weights.save(with_ranges(weights.for_play(trained), synopses(64, synopsis)), tmp_path / "play.safetensors")
    settings = {"b": 8, "n_particles": 32}
    player = make_penumbra(
        Configuration(weights=str(tmp_path / "play.safetensors"), device="cpu", nodes=40, settings=settings, seed=1)
    )
    play_strictly(player, RandomPlayer(2), Game(None, None, 4))
    assert player.faults == [] and player.recoveries == [] and player.decisions


def test_an_exported_graded_network_plays_by_every_evaluator(tmp_path: Path) -> None:
    """One whose value learned the engine's chance too: int8 kernels, onnxruntime in eight and 32 bits, and torch."""
    recipe = write_recipe(tmp_path, steps=20, synopsis="graded")
    text = (
        recipe.read_text().replace("n_width = 8", "n_width = 64").replace("cap = 200", "cap = 200\nengine_states = 4")
    )
    recipe.write_text(text + "[loss]\nengine = 0.3\nmixing = 0.3\n")
    run, path = tmp_path / "run", tmp_path / "play.safetensors"
    given = ("--archive", make_archive(tmp_path / "games.db"), "--out", run, "--device", "cpu")
    for command in (
        ("train", recipe, *given, "--validation-examples", "0"),
        ("export", run / "weights.safetensors", path),
    ):
        done = penumbra(*command)
        assert done.returncode == 0, done.stderr
    kept = weights.load(path)
    assert kept.architecture.synopsis == "graded" and not kept.has_engine_heads and not kept.has_auxiliary_heads
    assert path.stat().st_size < (run / "weights.safetensors").stat().st_size

    _, particles = middle_game(24)
    asked = particles.features("graded"), Legal(*particles.legal())
    priors, values = TorchEvaluator(from_weights(kept), "cpu").evaluate(*asked, False)
    whole = OnnxEvaluator(kept, threads=1)
    ranges = ranges_of(kept)
    assert ranges is not None
    rounded: list[OnnxEvaluator | int8_evaluator.Int8Evaluator] = [OnnxEvaluator(kept, threads=1, ranges=ranges)]
    if int8_evaluator.is_possible(kept):
        heads = {"policy": "Top", "value": "All", "opponent": "Top"}
        rounded.append(int8_evaluator.Int8Evaluator(kept, **heads, threads=1, ranges=ranges))
    for evaluator, most in ((whole, 1e-3), *((one, 0.1) for one in rounded)):
        assert evaluator.synopsis == "graded"
        found = evaluator.evaluate(*asked, False)
        assert np.abs(found[0] - priors).max() < most and np.abs(found[1] - values).max() < most
    for device in ("cpu", "cpu32"):
        settings = {"b": 8, "n_particles": 32}
        player = make_penumbra(Configuration(weights=str(path), device=device, nodes=32, settings=settings, seed=1))
        play_strictly(player, RandomPlayer(2), Game(None, None, 3))
        assert player.faults == [] and player.recoveries == [] and player.decisions


def test_from_weights_to_games_to_better_weights(tmp_path: Path) -> None:
    learner = Learner(tiny("graded"), Improvement(batch=64, examples=ExampleSettings(cap=200, settle=False)), "cpu")
    bulk = Bulk(learner.network, HEADSET, [], steps=100, at_once=4, cap=100)
    played = bulk.play().followed_by(learner.steps_of(bulk.finished[:2]))
    assert played.planes.shape[1] == LAYOUTS["graded"].words
    assert learner.learn(played, None)["updates"] > 0
    weights.save(learner.weights(), tmp_path / "w.safetensors")

    def evaluators(headset: str) -> object:
        return network_evaluator(str(tmp_path / "w.safetensors"), "cpu", headset)

    with Archive.create(tmp_path / "games.db") as archive:
        plan = selfplay.SelfPlay(games=2, at_once=2, cap=100, ply_limit=10)
        assert selfplay.play(plan, evaluators, archive) > 10  # type: ignore[arg-type]
        assert len(archive) == 2


def test_a_network_begins_to_read_more_as_it_was_and_learns_from_it(tmp_path: Path) -> None:
    given = tiny("binary")
    wider = weights.reading(given, "graded")
    _, particles = middle_game(24)
    legal = Legal(*particles.legal())
    before = TorchEvaluator(from_weights(given), "cpu").evaluate(particles.features("binary"), legal, False)
    after = TorchEvaluator(from_weights(wider), "cpu").evaluate(particles.features("graded"), legal, False)
    for said, then in zip(before, after, strict=True):
        np.testing.assert_allclose(then, said, rtol=1e-5, atol=1e-6)
    assert weights.reading(given, "binary") is given

    path, out = tmp_path / "w.safetensors", tmp_path / "out"
    weights.save(given, path)
    plan = Improvement(steps=60, batch=64, examples=ExampleSettings(cap=100, settle=False))
    run(ImprovementRun(path, out, 600, plan, "cpu", teacher=path, synopsis="graded", at_once=4, rounds=1))
    learned = weights.load(out / "playing.safetensors")
    assert learned.architecture.synopsis == "graded"
    assert np.abs(learned.tensors["tower.0.first.weight"][:, LAYOUTS["binary"].bits :]).max() > 0


def test_a_network_cannot_lose_what_it_reads(tmp_path: Path) -> None:
    with pytest.raises(weights.WeightsError, match=r"graded synopses reads .*, which shares ones have not"):
        weights.reading(tiny("graded"), "shares")
    as_wide = Network(Architecture(len(LAYOUTS["binary"].planes), 1, ("All", "Top")))
    with pytest.raises(weights.WeightsError, match="104 channels and 104 planes has no shortcut"):
        weights.reading(to_weights(as_wide), "graded")
    weights.save(tiny("graded"), tmp_path / "w.safetensors")
    done = penumbra(
        "improve", tmp_path / "w.safetensors", "--out", tmp_path / "o", "--minutes", "1", "--synopsis", "binary"
    )
    assert done.returncode == 1 and "w.safetensors: a network of graded synopses reads" in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("synopsis", get_args(Synopsis))
def test_a_graded_table_shows_each_network_what_its_own_would(synopsis: Synopsis) -> None:
    plans = {"All": Plan("all", multiplicity=2)}
    whole, own = (
        Table(records()[:3], plans, [], ExampleSettings(cap=200, multiplicity=2, synopsis=sort), "cpu")
        for sort in ("graded", synopsis)
    )
    whole.fill()
    own.fill()
    seen = whole.as_read(synopsis)
    assert seen.settings == own.settings
    for batch, expected in zip(seen.in_order("All", 64), own.in_order("All", 64), strict=True):
        assert torch.equal(batch.planes, expected.planes) and torch.equal(batch.target, expected.target)
    drawn, expected = (t.draw("All", 16, torch.Generator().manual_seed(1)).planes for t in (seen, own))
    assert torch.equal(drawn, expected)


def test_a_binary_table_does_not_show_shares() -> None:
    table = Table(records()[:1], {"All": Plan("all")}, [], ExampleSettings(cap=200), "cpu")
    with pytest.raises(ValueError, match="binary synopses have no 'Share not opposing pieces', which graded ones have"):
        table.as_read("graded")


def test_sorts_that_do_not_fit_together_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^the network reads graded synopses, but the examples have binary ones$"):
        Recipe(Architecture(8, 2, ("All",), "graded"), {"All": Plan("all")})
    with pytest.raises(ValueError, match="there is no synopsis 'grey'; there are binary, shares, graded"):
        Architecture(synopsis="grey")  # type: ignore[arg-type]
    recipe = read_recipe(write_recipe(tmp_path, steps=1, synopsis="graded"))
    binary = tiny("binary")
    fitting = replace(binary, architecture=replace(recipe.architecture, synopsis="binary"))
    with pytest.raises(WeightsError, match="not a network of the recipe's size, headsets and synopsis"):
        Trainer(recipe, "cpu", fitting)
    for name, made in (("learner", binary), ("teacher", tiny("graded"))):
        weights.save(made, tmp_path / name)
    asked = ImprovementRun(tmp_path / "learner", tmp_path / "out", 1, Improvement(), "cpu", tmp_path / "teacher")
    with pytest.raises(
        WeightsError, match=r"teacher: a network of graded synopses reads .*, which binary ones have not"
    ):
        run(asked)
    graded = network_evaluator(str(tmp_path / "teacher"), "cpu", "Top")
    mixed = PenumbraPlayer(lambda: (graded, HeuristicEvaluator()), nodes=10)
    with pytest.raises(ValueError, match="evaluators of one player read different synopses: binary, graded"):
        mixed.start(True)
    assert np.all(tiny("graded").tensors["tower.0.first.weight"].shape[1] == 150)
