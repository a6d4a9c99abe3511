"""Networks: the same numbers from torch, from ONNX and from the evaluators."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
import onnxruntime
import pytest
import torch

from penumbra.bench.search import middle_game
from penumbra.dsmcp.domain import Legal
from penumbra.network.cache import CachedEvaluator
from penumbra.network.model import Norm, from_weights
from penumbra.network.model import unpack as unpack_with_torch
from penumbra.network.onnx_evaluator import OnnxEvaluator, softmax
from penumbra.network.onnx_graph import build
from penumbra.network.torch_evaluator import TorchEvaluator
from penumbra.network.weights import Weights
from penumbra.rbc.synopsis import LAYOUTS, Synopsis, unpack
from tests.support.small_networks import some_weights

ROWS = 17


@pytest.fixture(scope="module", params=get_args(Synopsis))
def synopsis(request: pytest.FixtureRequest) -> Synopsis:
    return cast(Synopsis, request.param)


@pytest.fixture(scope="module")
def rows(synopsis: Synopsis) -> tuple[np.ndarray, Legal]:
    _, particles = middle_game(ROWS)
    return particles.features(synopsis), Legal(*particles.legal())


def test_features_unpack_to_the_same_squares(rows: tuple[np.ndarray, Legal], synopsis: Synopsis) -> None:
    features, _ = rows
    layout = LAYOUTS[synopsis]
    ours = unpack(features)
    theirs = unpack_with_torch(torch.from_numpy(features.view(np.int64)), torch.float32).numpy()
    assert ours.shape == (ROWS, len(layout.planes), 8, 8) and ours.dtype == np.uint8
    assert np.allclose(ours / layout.largest, theirs, atol=1e-6)
    row, plane, square = 3, 12, 42
    bit = (int(features[row, plane]) >> square) & 1
    assert ours[row, plane, square // 8, square % 8] == bit * layout.largest
    _, particles = middle_game(ROWS)
    shares = particles.shares().reshape(ROWS, -1, 8, 8)
    assert synopsis == "binary" or np.array_equal(ours[:, layout.bits :], shares)


@pytest.mark.parametrize("opponent", [False, True])
def test_evaluators_agree_with_the_plain_network(
    rows: tuple[np.ndarray, Legal], synopsis: Synopsis, opponent: bool
) -> None:
    given = some_weights(synopsis=synopsis)
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


def test_the_sort_of_synopsis_is_that_of_the_weights(rows: tuple[np.ndarray, Legal], synopsis: Synopsis) -> None:
    """Features of another sort are one line, whichever evaluator is asked, the cache before it or not."""
    other: Synopsis = "binary" if synopsis != "binary" else "graded"
    given = some_weights(synopsis=other)
    onnx = OnnxEvaluator(given, threads=1)
    for evaluator in (onnx, CachedEvaluator(onnx), TorchEvaluator(from_weights(given), "cpu")):
        assert evaluator.synopsis == other
        with pytest.raises(ValueError, match=f"^the network reads {other} synopses and was given {synopsis} ones$"):
            evaluator.evaluate(*rows, False)


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
