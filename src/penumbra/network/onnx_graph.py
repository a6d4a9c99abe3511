"""The network as an ONNX graph, built from its weights: the tower, one headset's policy and one headset's value.

Batch normalisation is folded into the convolutions, so a block is two of them. Input `planes` is uint8[B, 104, 8, 8] of
zeros and ones; outputs are `policy`, float[B, 4161] logits in the order of the action numbers, and `value`, float[B].
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from penumbra.core import ACTIONS
from penumbra.network.architecture import PLANES
from penumbra.network.weights import Weights, WeightsError

OPSET, IR = 17, 8
EPSILON = 1e-5  # of the normalisation
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

    def constant(self, name: str, value: NDArray[np.float32] | NDArray[np.int64]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def convolution(self, x: str, name: str, weight: Floats, bias: Floats) -> str:
        pad = weight.shape[2] // 2
        inputs = [x, self.constant(f"{name}.w", weight), self.constant(f"{name}.b", bias)]
        return self.node("Conv", inputs, name, kernel_shape=weight.shape[2:], pads=[pad] * 4)

    def normalised(self, x: str, name: str) -> str:
        """A convolution of the model and the normalisation behind it."""
        norm = f"{name}_norm"
        scale = self.tensor(f"{norm}.weight") / np.sqrt(self.tensor(f"{norm}.running_var") + EPSILON)
        bias = self.tensor(f"{norm}.bias") - self.tensor(f"{norm}.running_mean") * scale
        weight = self.tensor(f"{name}.weight") * scale[:, None, None, None]
        return self.convolution(x, name, weight.astype(np.float32), bias.astype(np.float32))

    def plain(self, x: str, name: str) -> str:
        weight = self.tensor(f"{name}.weight")
        bias = self.weights.tensors.get(f"{name}.bias", np.zeros(len(weight), np.float32))
        return self.convolution(x, name, weight, bias)

    def relu(self, x: str) -> str:
        return self.node("Relu", [x], f"{x}.relu")

    def block(self, x: str, name: str) -> str:
        y = self.relu(self.normalised(x, f"{name}.first"))
        y = self.normalised(y, f"{name}.second")
        shortcut = self.plain(x, f"{name}.shortcut") if f"{name}.shortcut.weight" in self.weights.tensors else x
        return self.relu(self.node("Add", [y, shortcut], f"{name}.sum"))

    def linear(self, x: str, name: str) -> str:
        inputs = [x, self.constant(f"{name}.w", self.tensor(f"{name}.weight"))]
        inputs.append(self.constant(f"{name}.b", self.tensor(f"{name}.bias")))
        return self.node("Gemm", inputs, name, transB=1)

    def dense(self, x: str, name: str) -> str:
        """float[B, 1]: a few channels, a dense layer, one number."""
        y = self.node("Flatten", [self.relu(self.plain(x, f"{name}.squeeze"))], f"{name}.flat")
        return self.linear(self.relu(self.linear(y, f"{name}.hidden")), f"{name}.out")


def build(weights: Weights, policy: str, value: str) -> onnx.ModelProto:
    """The tower with the policy of one headset and the value of another."""
    known = weights.architecture.headsets
    for headset in (policy, value):
        if headset not in known:
            raise WeightsError(f"there is no headset {headset!r}; there are {', '.join(known)}")
    b = Builder(weights)
    x = b.node("Cast", ["planes"], "input", to=TensorProto.FLOAT)
    for i in range(weights.architecture.n_depth):
        x = b.block(x, f"tower.{i}")
    head = f"headsets.{policy}"
    planes = b.plain(b.block(x, f"{head}.policy_block"), f"{head}.policy")  # [B, 65, 8, 8]: channel `to` at `from`
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
        [helper.make_tensor_value_info("planes", TensorProto.UINT8, ["B", PLANES, 8, 8])],
        [
            helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["B", ACTIONS]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["B"]),
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
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(model.SerializeToString())
    unfinished.replace(path)
