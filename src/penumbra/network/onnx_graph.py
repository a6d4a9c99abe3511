"""The network as an ONNX graph, built from its weights: the tower, one headset's policy and one headset's value.

Batch normalisation is folded into the convolutions, so a block is two of them. Input `planes` is uint8[B, planes, 8, 8]
of zeros and ones, or where there are shares of bytes of which 255 is 1; outputs are `policy`, float[B, 4161] logits in
the order of the action numbers, and `value`, float[B].

In eight bits (`Ranges`, see rounding.py) the blocks compute with uint8 activations and int8 weights; what the heads
make of them is float.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from penumbra.core import ACTIONS
from penumbra.network.quantization.rounding import Ranges, folded, rounded_weights, scale_and_zero
from penumbra.network.weights import Weights, WeightsError
from penumbra.whole_files import replacing

OPSET, IR = 17, 8
Floats = NDArray[np.float32]


class Builder:
    """Collects nodes and constants; values are known by their names."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def tensor(self, name: str) -> Floats:
        try:
            return self.weights.tensors[name]
        except KeyError:
            raise WeightsError(f"the weights have no {name}") from None

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def convolution(self, x: str, name: str, weight: Floats, bias: Floats) -> str:
        pad = weight.shape[2] // 2
        inputs = [x, *self.parameters(x, name, weight, bias)]
        return self.node("Conv", inputs, name, kernel_shape=weight.shape[2:], pads=[pad] * 4)

    def parameters(self, x: str, name: str, weight: Floats, bias: Floats) -> list[str]:
        """The weight and the bias of a convolution of x."""
        return [self.constant(f"{name}.w", weight), self.constant(f"{name}.b", bias)]

    @property
    def input_scale(self) -> np.float32:
        """What one step of an input byte counts."""
        return np.float32(1 / self.weights.architecture.layout.largest)

    def planes(self) -> str:
        if self.input_scale == 1:
            return self.node("Cast", ["planes"], "input", to=TensorProto.FLOAT)
        whole = self.node("Cast", ["planes"], "input.whole", to=TensorProto.FLOAT)
        return self.node("Mul", [whole, self.constant("input.scale", self.input_scale)], "input")

    def rounded(self, x: str) -> str:
        """What the next blocks see of a value."""
        return x

    def normalised(self, x: str, name: str) -> str:
        """A convolution of the model and the normalisation behind it."""
        return self.convolution(x, name, *folded(self.weights, name))

    def plain(self, x: str, name: str) -> str:
        weight = self.tensor(f"{name}.weight")
        bias = self.weights.tensors.get(f"{name}.bias", np.zeros(len(weight), np.float32))
        return self.convolution(x, name, weight, bias)

    def relu(self, x: str) -> str:
        return self.node("Relu", [x], f"{x}.relu")

    def block(self, x: str, name: str) -> str:
        y = self.rounded(self.relu(self.normalised(x, f"{name}.first")))
        y = self.rounded(self.normalised(y, f"{name}.second"))
        if f"{name}.shortcut.weight" in self.weights.tensors:
            x = self.rounded(self.plain(x, f"{name}.shortcut"))
        return self.rounded(self.relu(self.node("Add", [y, x], f"{name}.sum")))

    def linear(self, x: str, name: str) -> str:
        inputs = [x, self.constant(f"{name}.w", self.tensor(f"{name}.weight"))]
        inputs.append(self.constant(f"{name}.b", self.tensor(f"{name}.bias")))
        return self.node("Gemm", inputs, name, transB=1)

    def dense(self, x: str, name: str) -> str:
        """float[B, 1]: a few channels, a dense layer, one number."""
        y = self.node("Flatten", [self.relu(self.plain(x, f"{name}.squeeze"))], f"{name}.flat")
        return self.linear(self.relu(self.linear(y, f"{name}.hidden")), f"{name}.out")


class QuantizedBuilder(Builder):
    """Blocks in eight bits, as onnxruntime's optimiser takes them: each rounding is a pair of nodes that it removes."""

    def __init__(self, weights: Weights, ranges: Ranges) -> None:
        super().__init__(weights)
        self.ranges = ranges
        self.scales = dict[str, np.float32]()  # of values that are rounded

    def planes(self) -> str:
        return self.known("planes", "input", self.input_scale, 0)

    def rounded(self, x: str) -> str:
        scale, zero = scale_and_zero(*self.ranges[x])
        pair = [self.constant(f"{x}.scale", scale), self.constant(f"{x}.zero", np.uint8(zero))]
        return self.known(self.node("QuantizeLinear", [x, *pair], f"{x}.whole"), f"{x}.rounded", scale, zero)

    def known(self, whole: str, name: str, scale: np.float32, zero: int) -> str:
        """A value from the whole numbers that stand for it."""
        self.scales[name] = scale
        pair = [self.constant(f"{name}.scale", scale), self.constant(f"{name}.zero", np.uint8(zero))]
        return self.node("DequantizeLinear", [whole, *pair], name)

    def parameters(self, x: str, name: str, weight: Floats, bias: Floats) -> list[str]:
        if not name.endswith((".first", ".second", ".shortcut")):  # of a head, not of a block
            return super().parameters(x, name, weight, bias)
        whole, scale = rounded_weights(weight)
        of_bias = scale * self.scales[x]
        parts: dict[str, tuple[NDArray[Any], Floats]] = {
            "w": (whole, scale),
            "b": (np.rint(bias / of_bias).astype(np.int32), of_bias),
        }
        found = []
        for part, (numbers, scales) in parts.items():
            triple = [self.constant(f"{name}.{part}.whole", numbers), self.constant(f"{name}.{part}.scale", scales)]
            triple.append(self.constant(f"{name}.{part}.zero", np.zeros(len(scales), numbers.dtype)))
            found.append(self.node("DequantizeLinear", triple, f"{name}.{part}", axis=0))
        return found


def rounded_values(weights: Weights, policy: str) -> list[str]:
    """The nodes whose ranges eight bits need, for a headset's policy."""

    class Asked(Builder):
        def rounded(self, x: str) -> str:
            names.append(x)
            return x

    names: list[str] = []
    _tower_and_policy(Asked(weights), policy)
    return names


def _tower_and_policy(b: Builder, policy: str) -> tuple[str, str]:
    """The tower's last block, and that of the policy."""
    x = b.planes()
    for i in range(b.weights.architecture.n_depth):
        x = b.block(x, f"tower.{i}")
    return x, b.block(x, f"headsets.{policy}.policy_block")


def build(
    weights: Weights, policy: str, value: str, ranges: Ranges | None = None, also: Sequence[str] = ()
) -> onnx.ModelProto:
    """The tower with the policy of one headset and the value of another; with `ranges`, in eight bits.

    `also` are nodes whose values are outputs too.
    """
    known = weights.architecture.headsets
    for headset in (policy, value):
        if headset not in known:
            raise WeightsError(f"there is no headset {headset!r}; there are {', '.join(known)}")
    b = Builder(weights) if ranges is None else QuantizedBuilder(weights, ranges)
    x, block = _tower_and_policy(b, policy)
    head = f"headsets.{policy}"
    planes = b.plain(block, f"{head}.policy")  # [B, 65, 8, 8]: channel `to` at `from`
    flat = b.node("Reshape", [planes, b.constant("rows", np.array([0, 65, 64], np.int64))], "squares")
    b.constant("parts", np.array([64, 1], np.int64))
    b.nodes.append(helper.make_node("Split", [flat, "parts"], ["to", "sense"], axis=1))
    by_from = b.node("Transpose", ["to"], "by_from", perm=[0, 2, 1])
    moves, senses = b.node("Flatten", [by_from], "moves"), b.node("Flatten", ["sense"], "senses")
    b.node("Concat", [senses, moves, b.dense(x, f"{head}.pass_move")], "policy", axis=1)
    worth = b.node("Tanh", [b.dense(x, f"headsets.{value}.value")], "worth")
    b.node("Squeeze", [worth, b.constant("last", np.array([1], np.int64))], "value")
    graph = helper.make_graph(
        b.nodes,
        f"penumbra {policy} {value}",
        [helper.make_tensor_value_info("planes", TensorProto.UINT8, ["B", weights.architecture.planes, 8, 8])],
        [
            helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["B", ACTIONS]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["B"]),
            *(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in also),
        ],
        b.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="penumbra")
    model.ir_version = IR
    return model


def write(weights: Weights, policy: str, value: str, path: Path) -> None:
    """Writes the graph as a file, whole or not at all."""
    model = build(weights, policy, value)
    onnx.checker.check_model(model)
    with replacing(path) as beside:
        beside.write_bytes(model.SerializeToString())
