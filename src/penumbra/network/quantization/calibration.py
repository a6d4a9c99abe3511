"""Calibration: the ranges of a network's activations, measured on real positions and kept in the header of its weights.

Ranges leave out one value in a hundred thousand at either end, so that the others are resolved more finely.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import onnxruntime

from penumbra.core import _cpu
from penumbra.dsmcp.domain import Features
from penumbra.network.onnx_graph import build, rounded_values
from penumbra.network.quantization.rounding import KEY
from penumbra.network.weights import Weights
from penumbra.rbc.synopsis import check_features, unpack

CUT_OFF = 0.001  # percent of the values, at either end
BATCH = 64


def is_fast_here() -> bool:
    """Whether this processor has instructions for it; without them it is slower, and sums may overflow."""
    return "vnni" in _cpu.features()


def with_ranges(weights: Weights, synopses: Features) -> Weights:
    """The same weights with the ranges of all headsets, measured on these positions."""
    check_features(synopses, weights.architecture.synopsis)
    found: dict[str, tuple[float, float]] = {}
    for headset in weights.architecture.headsets:
        names = [name for name in rounded_values(weights, headset) if name not in found]
        found |= _measure(weights, headset, names, synopses)
    return replace(weights, about={**weights.about, KEY: json.dumps(found)})


def _measure(weights: Weights, headset: str, names: list[str], synopses: Features) -> dict[str, tuple[float, float]]:
    model = build(weights, headset, weights.architecture.headsets[0], also=names).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    batches = np.split(synopses, range(BATCH, len(synopses), BATCH))
    seen = [session.run(names, {"planes": unpack(some)}) for some in batches]
    ends = [CUT_OFF, 100 - CUT_OFF]
    found = {}
    for name, *values in zip(names, *seen, strict=True):
        least, largest = np.percentile(np.concatenate([value.ravel() for value in values]), ends)
        found[name] = round(float(least), 5), round(float(largest), 5)
    return found
