"""An evaluator that runs a network in eight bits with our own kernels, on processors with AVX2 or AVX-512 VNNI.

The arithmetic is that of `onnx_graph.QuantizedBuilder`, except that the sums within a block are not rounded. Both
builds of the kernels (`native/network`) compute the same integers. Here the weights are quantised; π and τ̂ have a
network each, built on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penumbra.core import _cpu
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.quantization.rounding import Ranges, folded, rounded_weights, scale_and_zero
from penumbra.network.weights import Weights
from penumbra.rbc.synopsis import check_features

if TYPE_CHECKING:
    from penumbra.network.quantization import _int8_avx2

WIDTHS = (64, 128)
BUILDS = {"avx512": "avx512_vnni", "avx2": "x86_64_v3"}  # of the kernels, the fastest first: what they take
Quantised = tuple[NDArray[np.int8], Floats, Floats]  # weights, scale, bias


def builds() -> list[str]:
    """The builds of the kernels that this processor can run, the fastest first."""
    return [build for build, feature in BUILDS.items() if feature in _cpu.features()]


def is_possible(weights: Weights) -> bool:
    """Whether this processor has the instructions, and the kernels know networks of this size."""
    return bool(builds()) and weights.architecture.n_width in WIDTHS


class Int8Evaluator:
    """π is the policy of `policy`, ν the value of `value`, τ̂ the policy of `opponent`: names of headsets."""

    def __init__(
        self,
        weights: Weights,
        *,
        policy: str,
        value: str,
        opponent: str,
        threads: int,
        ranges: Ranges,
        build: str | None = None,  # None: the fastest
    ) -> None:
        self.kernels = importlib.import_module(f"penumbra.network.quantization._int8_{build or builds()[0]}")
        self.kernels.set_threads(threads)
        self.weights, self.ranges = weights, ranges
        self.policy, self.value, self.opponent = policy, value, opponent
        self.synopsis = weights.architecture.synopsis
        self.networks: dict[str, _int8_avx2.Network] = {}
        self.network(policy)

    def network(self, policy: str) -> _int8_avx2.Network:
        if policy not in self.networks:
            parts = rounded(self.weights, policy, self.value, self.ranges)
            self.networks[policy] = self.kernels.Network(*parts)
        return self.networks[policy]

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        check_features(features, self.synopsis)
        network = self.network(self.opponent if opponent else self.policy)
        priors, values = network.evaluate(np.ascontiguousarray(features), legal.actions, legal.offsets)
        return priors, values


def rounded(weights: Weights, policy: str, value: str, ranges: Ranges) -> tuple[Any, ...]:
    """The arguments of a native network: the tower, the policy of one headset and the value of another."""
    architecture = weights.architecture
    head = f"headsets.{policy}"
    blocks: list[tuple[Quantised, Quantised, Any]] = []
    layout = architecture.layout
    scales = [np.float32(1 / layout.largest)]  # of what goes into each block
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
    return (
        architecture.n_width,
        layout.bits,
        len(layout.planes) - layout.bits,
        blocks,
        np.ascontiguousarray(t[f"{head}.policy.weight"][:, :, 0, 0] * last),
        t[f"{head}.policy.bias"].astype(np.float32),
        dense(weights, f"{head}.pass_move", tower),
        dense(weights, f"headsets.{value}.value", tower),
    )


def convolution(weight: Floats, bias: Floats, scale_in: np.float32, scale_out: np.float32) -> Quantised:
    """int8[outputs, inputs, height, width], and what makes bytes of its sums."""
    whole, scale = rounded_weights(weight)
    return whole, (scale * scale_in / scale_out).astype(np.float32), (bias / scale_out).astype(np.float32)


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
