"""A network in eight bits, slowly: every convolution as a sum over its taps, every rounding in plain sight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penumbra.dsmcp.domain import Legal
from penumbra.network.weights import Weights

Array = NDArray[np.float64]


def scale_of(ranges: dict[str, tuple[float, float]], name: str) -> float:
    return max(ranges[name][1], 1e-6) / 255


def convolution(x: Array, weight: Array) -> Array:
    """x: [C, 8, 8]; nothing beyond the edges."""
    size = weight.shape[2]
    around = size // 2
    padded = np.pad(x, ((0, 0), (around, around), (around, around)))
    result = np.zeros((len(weight), 8, 8))
    for row in range(size):
        for column in range(size):
            shifted = padded[:, row : row + 8, column : column + 8]
            result += np.einsum("oi,ixy->oxy", weight[:, :, row, column], shifted)
    return result


def rounded_convolution(x: Array, weight: Array) -> Array:
    """The same with each output channel's weights rounded to whole numbers from -127 to 127 of a scale."""
    scale = np.maximum(np.abs(weight).max(axis=(1, 2, 3)), 1e-9) / 127
    whole = np.rint(weight / scale[:, None, None, None])
    result: Array = convolution(x, whole) * scale[:, None, None]
    return result


def normalised(t: dict[str, Array], name: str, x: Array) -> Array:
    gain = t[f"{name}_norm.weight"] / np.sqrt(t[f"{name}_norm.running_var"] + 1e-5)
    bias = t[f"{name}_norm.bias"] - t[f"{name}_norm.running_mean"] * gain
    return rounded_convolution(x, t[f"{name}.weight"] * gain[:, None, None, None]) + bias[:, None, None]


def as_bytes(x: Array, scale: float) -> Array:
    """What bytes hold of it, as values."""
    return np.clip(np.rint(x / scale), 0, 255) * scale


def block(t: dict[str, Array], ranges: dict[str, tuple[float, float]], name: str, x: Array) -> Array:
    y = as_bytes(normalised(t, f"{name}.first", x), scale_of(ranges, f"{name}.first.relu"))
    y = normalised(t, f"{name}.second", y)
    kept = rounded_convolution(x, t[f"{name}.shortcut.weight"]) if f"{name}.shortcut.weight" in t else x
    return as_bytes(y + kept, scale_of(ranges, f"{name}.sum.relu"))


def dense(t: dict[str, Array], name: str, x: Array) -> float:
    y = convolution(x, t[f"{name}.squeeze.weight"]) + t[f"{name}.squeeze.bias"][:, None, None]
    y = np.maximum(y, 0).ravel()
    y = np.maximum(t[f"{name}.hidden.weight"] @ y + t[f"{name}.hidden.bias"], 0)
    return float((t[f"{name}.out.weight"] @ y + t[f"{name}.out.bias"])[0])


def evaluate(
    weights: Weights, ranges: dict[str, tuple[float, float]], policy: str, value: str, planes: Array, legal: Legal
) -> tuple[Array, Array]:
    """Priors and values of rows of [104, 8, 8] zeros and ones."""
    t = {name: tensor.astype(np.float64) for name, tensor in weights.tensors.items()}
    head = f"headsets.{policy}"
    priors, values = [], []
    for row, x in enumerate(planes):
        for i in range(weights.architecture.n_depth):
            x = block(t, ranges, f"tower.{i}", x)
        wanted = block(t, ranges, f"{head}.policy_block", x)
        to = convolution(wanted, t[f"{head}.policy.weight"]) + t[f"{head}.policy.bias"][:, None, None]
        logits = []
        for action in legal.actions[legal.offsets[row] : legal.offsets[row + 1]].tolist():
            if action < 64:
                logits.append(to[64, action // 8, action % 8])
            elif action == 64 + 4096:
                logits.append(dense(t, f"{head}.pass_move", x))
            else:
                start, end = divmod(action - 64, 64)
                logits.append(to[end, start // 8, start % 8])
        likelihoods = np.exp(np.array(logits) - max(logits))
        priors.append(likelihoods / likelihoods.sum())
        values.append(np.tanh(dense(t, f"headsets.{value}.value", x)))
    return np.concatenate(priors), np.array(values)
