"""The paper's recipe at its smallest, whole: real and generated games, fourteen headsets, export, a game by its π."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from penumbra.arena.game_loop import Clock, play
from penumbra.bench.search import middle_game
from penumbra.core import Game, GameRecord
from penumbra.dsmcp.domain import Legal
from penumbra.games.accounts import seats
from penumbra.games.archive import Archive, NewGame, is_validation
from penumbra.interop import game_files
from penumbra.network import weights
from penumbra.network.architecture import Architecture
from penumbra.network.loading import network_evaluator
from penumbra.network.model import network_input
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_evaluators
from penumbra.players.penumbra.presets import PRESETS
from penumbra.training import run
from penumbra.training.loss import policy_loss
from penumbra.training.recipe import Recipe, read_recipe
from penumbra.training.trainer import Trainer
from tests.support import ROOT
from tests.support.command_line import penumbra
from tests.support.training_games import records

ACCOUNTS = (  # of the official server, as its game files name them
    "StrangeFish",
    "LaSalle Bot",
    "DynamicEntropy",
    "Oracle",
    "wbernar5",
    "Marmot",
    "genetic",
    "Zugzwang",
    "trout",
    "guest-7",
    "attacker",
    "random",
)


def tiny() -> Recipe:
    """The paper's, but for its size."""
    paper = read_recipe("paper", steps=150, batch=16, learning_rate=0.02, seed=3)
    return replace(
        paper,
        architecture=replace(paper.architecture, n_width=8, n_depth=1),
        examples=replace(paper.examples, cap=200, window=6_000),
    )


def games(archive: Path, without: str | None = None) -> list[GameRecord]:
    """Six games of public programs as reconchess writes them, and generated ones under the names of the server."""
    troubles: list[Exception] = []
    real = game_files.read_games(ROOT / "tests/data/real_games.jsonl", troubles.append)
    names = itertools.cycle(name for name in ACCOUNTS if name != without)
    with Archive.create(archive) as file:
        file.add(NewGame(record, "server") for record in real)
        for record in records():
            copy = GameRecord.from_bytes(record.to_bytes())
            if not is_validation(record):
                copy.white_name, copy.black_name = next(names), next(names)
            file.add([NewGame(copy, "generated")])
    assert not troubles
    return run.read_games([archive])


def test_trains_every_headset_and_plays_by_top(tmp_path: Path) -> None:
    recipe = tiny()
    found = games(tmp_path / "games.db")
    assert {"Human", "StockyInference", "Genetic", "TroutFast"} <= {name for game in found for name in seats(game)}
    trainer, table = run.train(recipe, found, tmp_path / "run", "cpu", say=lambda line: None)
    assert len(recipe.plans) == 14 and all(table.counts[name] > 0 for name in recipe.plans)
    assert trainer.network.architecture == Architecture(8, 1, tuple(recipe.plans))
    trained, lean = tmp_path / "run/weights.safetensors", tmp_path / "lean.safetensors"
    written = weights.load(trained)
    assert written.has_auxiliary_heads and int(written.about["games"]) == len(table.records) < len(found)
    assert penumbra("export", trained, lean).returncode == 0

    untrained = Trainer(recipe, "cpu").network.eval()
    same = {name: tensor for name, tensor in untrained.state_dict().items() if name.startswith("headsets.")}
    for name in recipe.plans:  # a headset that was not trained would still answer otherwise, since the tower is another
        learned = trainer.network.state_dict()
        assert any((learned[key] != same[key]).any() for key in same if f".{name}.policy" in key), name
    batch = table.take(table.rows["Top"][: table.counts["Top"]].long())
    losses_of_top = []
    for network in (untrained, trainer.network.eval()):
        with torch.no_grad():
            losses_of_top.append(policy_loss(network(network_input(batch.planes), "Top").policy, batch, "all").item())
    assert losses_of_top[1] < losses_of_top[0] - 1  # it begins near ln 4161 = 8.3

    configuration = Configuration("mixture", weights=str(lean), device="cpu32", nodes=32, cap=2_000)
    assert (configuration.policies(), PRESETS["mixture"].value) == (("Top",), "All")
    _, particles = middle_game(8)
    features, legal = particles.synopsis(), Legal(*particles.legal())
    top = network_evaluator(str(trained), "cpu32", "All", ("Top",), "All").evaluate(features, legal, False)[0]
    playouts, _ = make_evaluators(configuration, "nobody")
    assert np.abs(playouts.evaluate(features, legal, False)[0] - top).max() < 0.01  # π, exported in half precision
    ours = registry.make("penumbra:mixture", 1, configuration)
    outcome = play(ours, registry.make("random", 2), Clock(None, 0.0), Game(None, 100, 16))
    assert outcome.reason in ("king capture", "turn limit", "move limit"), outcome.detail


def test_a_headset_without_games_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\[headsets.Marmot\]: none of the"):
        run.train(tiny(), games(tmp_path / "games.db", without="Marmot"), tmp_path / "run", "cpu")
