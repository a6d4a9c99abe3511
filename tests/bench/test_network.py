"""The bench of networks measures every way to compute both that ship."""

from __future__ import annotations

import pytest

from penumbra.bench import network
from penumbra.network import weights
from penumbra.network.quantization import calibration, int8_evaluator
from penumbra.network.weights import LITE


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
