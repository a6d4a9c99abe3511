"""The whole loop: games, training, export, evaluation, and a game by what was learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from penumbra.arena.game_loop import Clock, play
from penumbra.bench.search import middle_game
from penumbra.core import Game
from penumbra.dsmcp.domain import Legal
from penumbra.network import weights
from penumbra.network.model import from_weights
from penumbra.network.onnx_evaluator import OnnxEvaluator, softmax
from penumbra.network.torch_evaluator import TorchEvaluator
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.synopsis import unpack
from tests.support.command_line import penumbra
from tests.support.training_games import make_archive, write_recipe


def test_from_games_to_a_game(tmp_path: Path) -> None:
    """Generate, train, export, evaluate, and play: torch, the ONNX file and the evaluator give the same numbers."""
    archive, recipe = make_archive(tmp_path / "games.db"), write_recipe(tmp_path)
    run = tmp_path / "run"
    done = penumbra("train", recipe, "--archive", archive, "--out", run, "--device", "cpu", "--cap", "200")
    assert done.returncode == 0, done.stderr
    assert "Wild" in done.stdout and (run / "evaluation" / "cross_top1.csv").exists()
    trained = run / "weights.safetensors"
    onnx_file, lean = tmp_path / "net.onnx", tmp_path / "lean.safetensors"
    assert penumbra("export", trained, onnx_file).returncode == 0
    assert penumbra("export", trained, lean).returncode == 0
    judge = ("--archive", archive, "--device", "cpu", "--cap", "200", "--out", tmp_path / "e")
    judged = penumbra("evaluate", lean, *judge)
    assert judged.returncode == 0, judged.stderr
    assert (tmp_path / "e" / "headsets.csv").read_text() == (run / "evaluation" / "headsets.csv").read_text()

    _, particles = middle_game(8)
    features, legal = particles.synopsis(), Legal(*particles.legal())
    session = onnxruntime.InferenceSession(str(onnx_file), providers=["CPUExecutionProvider"])
    logits, values = session.run(["policy", "value"], {"planes": unpack(features)})
    answers = [(softmax(logits, legal), values)]
    answers.append(TorchEvaluator(from_weights(weights.load(trained)), "cpu").evaluate(features, legal, False))
    answers.append(OnnxEvaluator(weights.load(lean), threads=1).evaluate(features, legal, False))
    for priors, worth in answers[1:]:
        assert np.abs(priors - answers[0][0]).max() < 1e-3
        assert np.abs(worth - answers[0][1]).max() < 1e-3

    ours = registry.make("penumbra", 1, Configuration(weights=str(lean), device="cpu", nodes=48, cap=5_000))
    outcome = play(ours, registry.make("random", 2), Clock(None, 0.0), Game(None, 100, 30))
    assert outcome.reason in ("king capture", "turn limit", "move limit"), outcome.detail
