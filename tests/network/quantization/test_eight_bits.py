"""Networks in eight bits: almost the same numbers, really computed so, and only where that is fast."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from penumbra.dsmcp.domain import Legal
from penumbra.network import loading, weights
from penumbra.network.cache import CachedEvaluator
from penumbra.network.onnx_evaluator import OnnxEvaluator
from penumbra.network.onnx_graph import build, rounded_values
from penumbra.network.quantization import calibration, int8_evaluator
from penumbra.network.quantization.rounding import ranges_of
from penumbra.network.weights import FULL, LITE, WeightsError
from penumbra.training.examples import ExampleSettings, make_examples
from penumbra.training.sample_positions import records, synopses
from tests.support.command_line import penumbra
from tests.support.small_networks import some_weights

fast = pytest.mark.skipif(not calibration.is_fast_here(), reason="this processor has no VNNI")


@pytest.fixture(scope="module")
def positions() -> tuple[np.ndarray, Legal]:
    """Others than those on which ranges are measured, and how little a player sees of them matters not."""
    examples = make_examples(records()[:6], ExampleSettings(cap=200, seed=9, settle=False))
    some = examples.take(np.arange(0, len(examples), 3)[:200])
    return some.synopses, Legal(some.legal, some.legal_offsets)


@pytest.mark.parametrize("path", [LITE, FULL])
def test_shipped_weights_know_their_ranges(path: Path) -> None:
    given = weights.load(path)
    ranges = ranges_of(given)
    assert ranges is not None
    for headset in given.architecture.headsets:
        for name in rounded_values(given, headset):
            least, largest = ranges[name]
            assert least <= 0 < largest, name


@fast
def test_almost_the_same_numbers(positions: tuple[np.ndarray, Legal]) -> None:
    given = weights.load(LITE)
    features, legal = positions
    heads = {"policy": "Penumbra", "value": "All", "opponent": "Trout", "threads": 1}
    exact = OnnxEvaluator(given, **heads)  # type: ignore[arg-type]
    rough = OnnxEvaluator(given, **heads, ranges=ranges_of(given))  # type: ignore[arg-type]
    for opponent in (False, True):
        p, v = exact.evaluate(features, legal, opponent)
        q, w = rough.evaluate(features, legal, opponent)
        divergence = (p * (np.log(p + 1e-9) - np.log(q + 1e-9))).sum() / len(features)
        assert 0 < divergence < 0.03
        assert np.abs(v - w).mean() < 0.04
        rows = [slice(a, b) for a, b in zip(legal.offsets[:-1], legal.offsets[1:], strict=True)]
        assert np.mean([p[row].argmax() == q[row].argmax() for row in rows]) > 0.9


@fast
def test_every_convolution_of_the_blocks_is_in_eight_bits(tmp_path: Path) -> None:
    given = some_weights()
    ranges = ranges_of(calibration.with_ranges(given, synopses(32)))
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    model = build(given, "Top", "All", ranges).SerializeToString()
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    kinds = [node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node]
    blocks = given.architecture.n_depth + 1  # the policy's too
    assert kinds.count("QLinearConv") == 2 * blocks + 1  # and the first shortcut
    assert kinds.count("QLinearAdd") == blocks


def test_ranges_are_written_with_an_export(tmp_path: Path) -> None:
    weights.save(some_weights(), tmp_path / "whole.safetensors")
    said = penumbra("export", tmp_path / "whole.safetensors", tmp_path / "play.safetensors")
    assert said.returncode == 0, said.stderr
    found = ranges_of(weights.load(tmp_path / "play.safetensors"))
    assert found is not None and set(found) >= set(rounded_values(some_weights(), "Trout"))


def test_who_computes_in_eight_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    given = calibration.with_ranges(some_weights(), synopses(32))

    def evaluator(device: str) -> OnnxEvaluator:
        made = loading._evaluator(given, device, "Top", "Trout", 1)
        assert isinstance(made, CachedEvaluator) and isinstance(made.evaluator, OnnxEvaluator)
        return made.evaluator

    monkeypatch.setattr(int8_evaluator, "is_possible", lambda weights: False)
    monkeypatch.setattr(calibration, "is_fast_here", lambda: True)
    assert evaluator("cpu").ranges is not None and evaluator("cpu32").ranges is None
    monkeypatch.setattr(calibration, "is_fast_here", lambda: False)
    assert evaluator("cpu").ranges is None


def test_which_weights_are_the_usual_ones() -> None:
    assert [loading._path(None, device) for device in ("cpu", "cpu32", "cuda")] == [str(LITE), str(LITE), str(FULL)]
    assert [loading._path(name, "cuda") for name in ("lite", "full", "x.safetensors")] == [
        str(LITE),
        str(FULL),
        "x.safetensors",
    ]


def test_a_header_that_cannot_be_read_is_refused() -> None:
    for bad in ("no", "[1]", '{"x": 1}'):
        with pytest.raises(WeightsError, match="ranges cannot be read"):
            ranges_of(replace(some_weights(), about={"ranges": bad}))
    assert ranges_of(some_weights()) is None
