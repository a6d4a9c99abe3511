"""An evaluator that runs a network in eight bits with our own kernels, on processors with AVX-512 VNNI.

The numbers are those of onnx_graph.EightBits but for the sums of a block, which are not rounded on the way. Here the
weights are rounded and laid out as `native/network/eight_bits.h` wants them; π and τ̂ have a network each, made when
they are first asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penumbra import _cpu
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.rounding import Ranges, folded, rounded_weights, scale_and_zero
from penumbra.network.weights import Weights

WIDTHS = (64, 128)
OUTPUTS_AT_ONCE = 32
Packed = tuple[NDArray[np.int8], Floats, Floats]  # weights, scale, bias


def is_possible(weights: Weights) -> bool:
    """Whether this processor has the instructions, and the kernels know networks of this size."""
    return "avx512_vnni" in _cpu.features() and weights.architecture.n_width in WIDTHS


class VnniEvaluator:
    """π is the policy of `policy`, ν the value of `value`, τ̂ the policy of `opponent`: names of headsets."""

    def __init__(
        self, weights: Weights, *, policy: str, value: str, opponent: str, threads: int, ranges: Ranges
    ) -> None:
        from penumbra import _vnni

        _vnni.set_threads(threads)
        self.weights, self.ranges = weights, ranges
        self.policy, self.value, self.opponent = policy, value, opponent
        self.networks: dict[str, _vnni.Network] = {}
        self.network(policy)

    def network(self, policy: str) -> Any:
        if policy not in self.networks:
            self.networks[policy] = packed(self.weights, policy, self.value, self.ranges)
        return self.networks[policy]

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        network = self.network(self.opponent if opponent else self.policy)
        priors, values = network.evaluate(np.ascontiguousarray(features), legal.actions, legal.offsets)
        return priors, values


def packed(weights: Weights, policy: str, value: str, ranges: Ranges) -> Any:
    """The native network: the tower with the policy of one headset and the value of another."""
    from penumbra import _vnni

    architecture = weights.architecture
    head = f"headsets.{policy}"
    blocks: list[tuple[Packed, Packed, Any]] = []
    scales = [np.float32(1)]  # of what goes into each block; the planes are zeros and ones
    for name in (*(f"tower.{i}" for i in range(architecture.n_depth)), f"{head}.policy_block"):
        within, after = (scale_and_zero(*ranges[f"{name}.{node}.relu"])[0] for node in ("first", "sum"))
        first = convolution(*folded(weights, f"{name}.first"), scales[-1], within)
        second = convolution(*folded(weights, f"{name}.second"), within, after)
        kept: Any = float(scales[-1] / after)
        if f"{name}.shortcut.weight" in weights.tensors:
            shortcut = weights.tensors[f"{name}.shortcut.weight"]
            kept = convolution(shortcut, np.zeros(len(shortcut), np.float32), scales[-1], after)
        blocks.append((first, second, kept))
        scales.append(after)
    *_, tower, last = scales
    t = weights.tensors
    return _vnni.Network(
        architecture.n_width,
        blocks,
        np.ascontiguousarray(t[f"{head}.policy.weight"][:, :, 0, 0] * last),
        t[f"{head}.policy.bias"].astype(np.float32),
        dense(weights, f"{head}.pass_move", tower),
        dense(weights, f"headsets.{value}.value", tower),
    )


def convolution(weight: Floats, bias: Floats, scale_in: np.float32, scale_out: np.float32) -> Packed:
    """int8[outputs / 32][taps][inputs / 4][32][4], and what makes bytes of its sums."""
    whole, scale = rounded_weights(weight)
    outputs, inputs, height, width = weight.shape
    parts = whole.reshape(outputs // OUTPUTS_AT_ONCE, OUTPUTS_AT_ONCE, inputs // 4, 4, height * width)
    numbers = np.ascontiguousarray(parts.transpose(0, 4, 2, 1, 3))
    return numbers, (scale * scale_in / scale_out).astype(np.float32), (bias / scale_out).astype(np.float32)


def dense(weights: Weights, name: str, scale: np.float32) -> tuple[Any, ...]:
    """A few channels, a dense layer with its inputs first, one number."""
    t = weights.tensors
    return (
        np.ascontiguousarray(t[f"{name}.squeeze.weight"][:, :, 0, 0] * scale),
        t[f"{name}.squeeze.bias"].astype(np.float32),
        np.ascontiguousarray(t[f"{name}.hidden.weight"].T),
        t[f"{name}.hidden.bias"].astype(np.float32),
        np.ascontiguousarray(t[f"{name}.out.weight"][0]),
        float(t[f"{name}.out.bias"][0]),
    )
