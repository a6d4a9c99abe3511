"""The bench of networks measures every way to compute both that ship."""

from __future__ import annotations

import numpy as np
import pytest

from penumbra.bench import network
from penumbra.bench.search import middle_game
from penumbra.dsmcp.domain import Legal
from penumbra.network import weights
from penumbra.network.onnx_evaluator import OnnxEvaluator
from penumbra.network.quantization import calibration, int8_evaluator
from penumbra.network.weights import LITE


def test_the_bench_measures_both_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "BATCH", 4)
    monkeypatch.setattr(network, "OTHERS", (2,))
    rows = network.run(0.01)
    ways = [*int8_evaluator.builds(), *(["onnx8"] if calibration.is_fast_here() else []), "onnx32"]
    kinds = ("", *(f".{way}" for way in ways[1:]))
    names = [f"network.{name}{kind}{batch}" for name in ("lite", "full") for batch in ("", ".2") for kind in kinds]
    graded = [row for row in rows if row.name.endswith(".graded")]
    assert [(row.name, row.peer) for row in graded] == [
        (f"network.{name}.graded", "binary") for name in ("lite", "full")
    ]
    assert all(row.value > 0 and row.ratio is not None for row in graded)
    rows = [row for row in rows if row not in graded]
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


def test_a_network_with_shares_says_what_it_said_without() -> None:
    """The shares' weights are 0, so only what is read costs anything."""
    given = weights.load(LITE)
    shares = network.with_shares(given)
    assert shares.architecture.synopsis == "graded" and shares.tensors["tower.0.first.weight"].shape[1] == 150
    _, particles = middle_game(3)
    legal = Legal(*particles.legal())
    plain = OnnxEvaluator(given, threads=1).evaluate(particles.features("binary"), legal, False)
    found = OnnxEvaluator(shares, threads=1).evaluate(particles.features("graded"), legal, False)
    for one, other in zip(plain, found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
