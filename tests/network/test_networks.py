"""Networks: the same numbers from torch, from ONNX and from the evaluators, and the whole loop from games to a game."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from penumbra.arena.game_loop import Clock, play
from penumbra.bench import network
from penumbra.bench.search import middle_game
from penumbra.core import Game
from penumbra.dsmcp.domain import Legal
from penumbra.network import loading, weights
from penumbra.network.cache import CachedEvaluator
from penumbra.network.model import Norm, from_weights
from penumbra.network.model import unpack as unpack_with_torch
from penumbra.network.onnx_evaluator import OnnxEvaluator, softmax, unpack
from penumbra.network.onnx_graph import build
from penumbra.network.quantization import calibration, int8_evaluator
from penumbra.network.quantization.int8_evaluator import Int8Evaluator
from penumbra.network.torch_evaluator import TorchEvaluator
from penumbra.network.weights import FULL, LITE, Weights, WeightsError
from penumbra.players import registry
from penumbra.players.penumbra import factory
from penumbra.players.penumbra.configuration import Configuration
from tests.support import ROOT
from tests.support.command_line import penumbra
from tests.support.small_networks import some_weights
from tests.support.training_games import make_archive, write_recipe

ROWS = 17


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, Legal]:
    _, particles = middle_game(ROWS)
    return particles.synopsis(), Legal(*particles.legal())


def test_bits_unpack_to_the_same_squares(rows: tuple[np.ndarray, Legal]) -> None:
    features, _ = rows
    ours = unpack(features)
    theirs = unpack_with_torch(torch.from_numpy(features.view(np.int64)), torch.float32).numpy()
    assert np.array_equal(ours, theirs)
    row, plane, square = 3, 12, 42
    assert ours[row, plane, square // 8, square % 8] == (int(features[row, plane]) >> square) & 1


@pytest.mark.parametrize("opponent", [False, True])
def test_evaluators_agree_with_the_plain_network(rows: tuple[np.ndarray, Legal], opponent: bool) -> None:
    given = some_weights()
    features, legal = rows
    network = from_weights(given)
    with torch.no_grad():
        x = unpack_with_torch(torch.from_numpy(features.view(np.int64)), torch.float32)
        logits = network(x, "Trout" if opponent else "Top").policy.numpy()
        values = network(x, "All").value.numpy()
    expected = np.concatenate(
        [_softmax(logits[i, legal.actions[legal.offsets[i] : legal.offsets[i + 1]]]) for i in range(ROWS)]
    )
    for evaluator in (
        OnnxEvaluator(given, opponent="Trout", threads=1),
        TorchEvaluator(network, "cpu", opponent="Trout"),
    ):
        priors, worth = evaluator.evaluate(features, legal, opponent)
        assert np.abs(priors - expected).max() < 1e-5
        assert np.abs(worth - values).max() < 1e-5
    assert np.abs(expected - softmax(logits, legal)).max() < 1e-6


def _softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max())
    return np.asarray(odds / odds.sum())


def test_policy_logits_stand_at_their_action_numbers() -> None:
    """A network whose policy sees only the square moved from and the target's channel."""
    given = some_weights()
    tensors = {name: np.zeros_like(tensor) for name, tensor in given.tensors.items()}
    for name in tensors:
        if name.endswith("running_var"):
            tensors[name] = np.ones_like(tensors[name])
    to = 28
    tensors["headsets.Top.policy.bias"][to] = 1.0
    tensors["headsets.Top.policy.bias"][64] = 3.0
    tensors["headsets.Top.pass_move.out.bias"][:] = 5.0
    session = onnxruntime.InferenceSession(
        build(Weights(given.architecture, tensors, {}), "Top", "All").SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    logits, value = session.run(None, {"planes": np.zeros((1, 104, 8, 8), np.uint8)})
    assert (logits[0, :64] == 3).all() and logits[0, -1] == 5 and value == [0]
    moves = logits[0, 64:-1].reshape(64, 64)
    assert (moves[:, to] == 1).all() and np.count_nonzero(moves) == 64


def test_weights_come_back_as_they_went(tmp_path: Path) -> None:
    given = some_weights()
    weights.save(given, tmp_path / "w.safetensors")
    back = weights.load(tmp_path / "w.safetensors")
    assert back.architecture == given.architecture and back.about["games"] == "none"
    for name, tensor in given.tensors.items():
        assert np.abs(back.tensors[name] - tensor).max() < 1e-3
    assert back.has_auxiliary_heads
    lean = weights.for_play(back)
    assert not lean.has_auxiliary_heads
    weights.save(lean, tmp_path / "lean.safetensors")
    assert (tmp_path / "lean.safetensors").stat().st_size < (tmp_path / "w.safetensors").stat().st_size
    network = from_weights(weights.load(tmp_path / "lean.safetensors"))
    x = torch.zeros(1, 104, 8, 8)
    assert torch.allclose(
        network.headset("Top").policy_logits(network.tower(x)),
        from_weights(back).headset("Top").policy_logits(from_weights(back).tower(x)),
    )


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    given = some_weights()
    weights.save(given, path)
    whole = path.read_bytes()
    for damaged, message in (
        (whole[: len(whole) // 2], "cannot be read as weights"),
        (b"not weights at all", "cannot be read as weights"),
        (whole.replace(b"penumbra-1", b"penumbra-9"), "not weights of this version"),
        (whole.replace(b'\\"n_width\\": 12', b'\\"n_width\\": 13'), "does not fit its own header"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(WeightsError) as error:
            weights.load(path)
        assert message in str(error.value) and str(path) in str(error.value)
    spoilt = some_weights()
    for bad in (float("nan"), 1e5):  # which is infinite in half precision
        spoilt.tensors["tower.0.first.weight"].flat[5] = bad
        path.unlink(missing_ok=True)
        with pytest.raises(WeightsError, match=r"tower.0.first.weight holds numbers that are not finite"):
            weights.save(spoilt, path)
        assert not path.exists()
    some = given.tensors["headsets.Top.policy.bias"][:4].astype(np.float16).tobytes()
    assert whole.count(some) == 1
    path.write_bytes(whole.replace(some, np.full(4, np.inf, np.float16).tobytes()))
    with pytest.raises(WeightsError, match=r"headsets.Top.policy.bias holds numbers that are not finite"):
        weights.load(path)
    with pytest.raises(WeightsError, match="no weights"):
        loading.network_evaluator(str(tmp_path / "none"), "cpu", "Top")
    with pytest.raises(WeightsError, match="no headset 'Human'"):
        build(given, "Human", "All")
    if not torch.cuda.is_available():
        with pytest.raises(WeightsError, match="no CUDA device"):
            loading.network_evaluator(None, "cuda", "Top")


def test_shipped_weights_say_what_they_are() -> None:
    for path, size in ((LITE, 10_000_000), (FULL, 30_000_000)):
        given = weights.load(path)
        assert path.stat().st_size < size
        assert {"All", "Top", "Trout", "Attacker", "Random"} <= set(given.architecture.headsets)
        assert int(given.about["games"]) >= 20_000
        assert set(json.loads(given.about["players"])) == set(given.architecture.headsets)
        assert 0 < float(given.about["share of the paper's examples"]) <= 1
    assert "Penumbra" in weights.load(LITE).architecture.headsets
    assert weights.load(FULL).architecture.n_width == 128 and weights.load(FULL).architecture.n_depth == 10


def test_the_opponent_recognised_decides_the_headset() -> None:
    evaluator = loading.network_evaluator(None, "cpu", "Trout")
    assert isinstance(evaluator, CachedEvaluator) and isinstance(evaluator.evaluator, OnnxEvaluator | Int8Evaluator)
    asked = evaluator.evaluator
    assert (asked.policy, asked.value, asked.opponent) == ("Penumbra", "All", "Trout")
    assert "StrangeFish" in loading.network_headsets(None, "cpu")
    made = factory.make_evaluators(Configuration(device="cpu"), "TroutBot")
    assert made == (evaluator, evaluator)  # shared by all games of the process


def test_playing_starts_without_torch() -> None:
    program = (
        "import sys\n"
        "from penumbra.players.penumbra import factory\n"
        "factory.make_evaluators(factory.Configuration(device='cpu'), 'x')\n"
        "assert 'torch' not in sys.modules\n"
    )
    source = str(ROOT / "src")
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": source, "PATH": ""})


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


def test_the_bench_measures_both_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "BATCH", 4)
    monkeypatch.setattr(network, "OTHERS", (2,))
    rows = network.run(0.01)
    ways = [*int8_evaluator.builds(), *(["onnx8"] if calibration.is_fast_here() else []), "onnx32"]
    kinds = ("", *(f".{way}" for way in ways[1:]))
    names = [f"network.{name}{kind}{batch}" for name in ("lite", "full") for batch in ("", ".2") for kind in kinds]
    assert [row.name for row in rows] == names
    assert all((row.peer == "onnx32") == ("onnx32" not in row.note) for row in rows)
    assert all(row.value > 0 and row.unit == "evaluations/s" for row in rows)
    given = weights.load(LITE)
    used = [
        tensor.size
        for name, tensor in given.tensors.items()
        if tensor.ndim == 4 and name.startswith(("tower", "headsets.Top.policy"))
    ]
    assert network.operations(given.architecture) == 2 * 64 * sum(used)


def test_fixed_statistics_give_the_gradients_of_batch_normalisation() -> None:
    torch.manual_seed(0)
    norm = Norm(8).eval()
    for tensor in (norm.weight, norm.bias, norm.running_mean):
        torch.nn.init.normal_(tensor)
    torch.nn.init.uniform_(norm.running_var, 0.5, 2)
    results = []
    for forward in (norm, lambda x: torch.nn.BatchNorm2d.forward(norm, x)):
        x = torch.randn(4, 8, 3, 3, generator=torch.Generator().manual_seed(1), requires_grad=True)
        norm.zero_grad()
        y = forward(x)
        y.square().sum().backward()
        results.append((y.detach(), x.grad, norm.weight.grad.clone(), norm.bias.grad.clone()))
    for ours, torchs in zip(*results, strict=True):
        torch.testing.assert_close(ours, torchs, atol=1e-4, rtol=1e-5)
