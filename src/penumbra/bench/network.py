"""How fast the shipped networks evaluate information states on this machine's CPU, by the size of the batch.

Beside it stands the share of what the machine can do at all: the speed of a large product of matrices in 32 bits. In
eight bits it may be more than all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from penumbra.bench.report import Row, rate
from penumbra.bench.search import middle_game
from penumbra.core import threads
from penumbra.dsmcp.domain import Evaluator, Legal
from penumbra.network import weights
from penumbra.network.architecture import Architecture
from penumbra.network.onnx_evaluator import OnnxEvaluator
from penumbra.network.quantization import calibration, int8_evaluator
from penumbra.network.quantization.rounding import ranges_of
from penumbra.rbc.synopsis import synopsis_read_by

BATCH = 256
OTHERS = (1, 64)  # batches that are measured as well
PLAIN = "onnx32"  # what the others are measured against
SIDE = 1024  # of the matrices


def run(seconds: float) -> list[Row]:
    """`network.lite` and `network.full` as they play here, at batch 256 and smaller ones; then all other ways, and the
    same networks reading graded synopses."""
    rows = []
    limit = rate(_product(), seconds)
    for name, path in (("lite", weights.LITE), ("full", weights.FULL)):
        given = weights.load(path)
        evaluators = _evaluators(given)
        usual = next(iter(evaluators))
        for batch in (BATCH, *OTHERS):
            speeds = {way: _speed(evaluator, batch, seconds) for way, evaluator in evaluators.items()}
            for way, speed in speeds.items():
                a = given.architecture
                done = speed * operations(a)
                note = f"{a.n_depth}x{a.n_width}, batch {batch}, {threads()} threads, {way}, "
                note += f"{done / 1e9:,.0f} billion operations a second, {done / limit:.0%} of a product of matrices"
                called = (
                    f"network.{name}" + ("" if way == usual else f".{way}") + ("" if batch == BATCH else f".{batch}")
                )
                row = Row(called, speed, "evaluations/s", note=note)
                rows.append(row if way == PLAIN else replace(row, peer=PLAIN, peer_value=speeds[PLAIN]))
        way, binary = next(iter(evaluators.items()))
        graded = _evaluators(with_shares(given))[way]
        peer, speed = (_speed(evaluator, BATCH, seconds) for evaluator in (binary, graded))
        note = f"{way}, batch {BATCH}, {threads()} threads; the peer reads binary synopses, measured just before"
        rows.append(Row(f"network.{name}.graded", speed, "evaluations/s", "binary", peer, note))
    return rows


def with_shares(given: weights.Weights) -> weights.Weights:
    """The same network with inputs for shares as well, whose weights are 0: it is as fast as one that uses them."""
    architecture = replace(given.architecture, synopsis="graded")
    more = architecture.planes - given.architecture.planes
    first = ("tower.0.first.weight", "tower.0.shortcut.weight")
    tensors = {
        name: np.pad(tensor, ((0, 0), (0, more), (0, 0), (0, 0))) if name in first else tensor
        for name, tensor in given.tensors.items()
    }
    return weights.Weights(architecture, tensors, given.about)


def _evaluators(given: weights.Weights) -> dict[str, Evaluator]:
    """What plays here by default first: our own kernels in eight bits, onnxruntime in eight bits, in 32."""
    heads: dict[str, Any] = {"policy": "Top", "value": "All", "opponent": "Top", "threads": threads()}
    ranges = ranges_of(given)
    found: dict[str, Evaluator] = {}
    if ranges and int8_evaluator.is_possible(given):
        for build in int8_evaluator.builds():
            found[build] = int8_evaluator.Int8Evaluator(given, **heads, ranges=ranges, build=build)
    if ranges and calibration.is_fast_here():
        found["onnx8"] = OnnxEvaluator(given, **heads, ranges=ranges)
    return found | {PLAIN: OnnxEvaluator(given, **heads)}


def _product() -> Callable[[], int]:
    matrix = np.random.default_rng(0).random((SIDE, SIDE), np.float32)

    def work() -> int:
        matrix @ matrix
        return 2 * SIDE**3

    return work


def _speed(evaluator: Evaluator, batch: int, seconds: float) -> float:
    _, particles = middle_game(batch)
    features, legal = particles.features(synopsis_read_by(evaluator)), Legal(*particles.legal())
    evaluator.evaluate(features, legal, False)  # warm

    def work() -> int:
        evaluator.evaluate(features, legal, False)
        return batch

    return rate(work, seconds)


def operations(a: Architecture) -> int:
    """Multiplications and additions of one evaluation: the tower's convolutions and the policy's, the rest is small."""
    width = a.n_width
    weights_used = 9 * (a.planes * width + (2 * a.n_depth - 1) * width * width + 2 * width * width) + a.planes * width
    return 2 * 64 * (weights_used + 65 * width)
