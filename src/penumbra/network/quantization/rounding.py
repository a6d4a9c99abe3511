"""Quantisation of a network: normalisation folded into convolutions, and activations and weights as integers.

An activation x is stored as the byte x / scale + zero, from 0 to 255; a weight w as the signed byte w / scale, with one
scale for each output channel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from penumbra.network.weights import Weights, WeightsError

KEY = "ranges"  # in the header of weights
EPSILON = 1e-5  # of the normalisation
NORM = tuple(f"_norm.{part}" for part in ("weight", "bias", "running_mean", "running_var"))
Floats = NDArray[np.float32]
Ranges = Mapping[str, tuple[float, float]]  # the least and the largest value that eight bits hold, by the node's name


def ranges_of(weights: Weights) -> Ranges | None:
    """The calibrated ranges in the header; None where there are none."""
    text = weights.about.get(KEY)
    if text is None:
        return None
    try:
        return {name: (float(least), float(largest)) for name, (least, largest) in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        raise WeightsError("the header's ranges cannot be read") from None


def folded(weights: Weights, name: str) -> tuple[Floats, Floats]:
    """Weight and bias of a convolution of the model and the normalisation behind it."""
    try:
        t = {part: weights.tensors[f"{name}{part}"] for part in (".weight", *NORM)}
    except KeyError as missing:
        raise WeightsError(f"the weights have no {missing.args[0]}") from None
    weight, bias, mean, variance = (t[part] for part in NORM)
    scale = weight / np.sqrt(variance + EPSILON)
    return (t[".weight"] * scale[:, None, None, None]).astype(np.float32), (bias - mean * scale).astype(np.float32)


def rounded_weights(weight: Floats) -> tuple[NDArray[np.int8], Floats]:
    """The integers of a convolution, and the scale of each output channel."""
    scale = np.maximum(np.abs(weight).max(axis=(1, 2, 3)), 1e-9).astype(np.float32) / 127
    return np.rint(weight / scale[:, None, None, None]).astype(np.int8), scale


def scale_and_zero(least: float, largest: float) -> tuple[np.float32, int]:
    """Of a value in this range; 0 is always within it."""
    least, largest = min(least, 0.0), max(largest, 1e-6)
    scale = np.float32((largest - least) / 255)
    return scale, round(-least / float(scale))
