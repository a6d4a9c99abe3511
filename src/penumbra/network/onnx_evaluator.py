"""An evaluator that runs a network on the CPU with onnxruntime.

Bitboards are unpacked to bytes; of the logits only those of legal actions are looked at. π and τ̂ have a session each,
made when they are first asked for. With `ranges` the blocks compute in eight bits (see quantization/rounding.py).
"""

from __future__ import annotations

import numpy as np
import onnxruntime

from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.onnx_graph import build
from penumbra.network.quantization.rounding import Ranges
from penumbra.network.weights import Weights
from penumbra.rbc.synopsis import check_features, unpack


def softmax(logits: Floats, legal: Legal) -> Floats:
    """Priors along the legal actions; `logits` has a row for each information state, `legal` says which count."""
    counts = np.diff(legal.offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    chosen = logits[rows, legal.actions]
    starts = legal.offsets[:-1]
    weights = np.exp(chosen - np.repeat(np.maximum.reduceat(chosen, starts), counts))
    return np.asarray(weights / np.repeat(np.add.reduceat(weights, starts), counts), np.float32)


class OnnxEvaluator:
    """π is the policy of `policy`, ν the value of `value`, τ̂ the policy of `opponent`: names of headsets."""

    def __init__(
        self,
        weights: Weights,
        *,
        policy: str = "Top",
        value: str = "All",
        opponent: str = "Top",
        threads: int,
        ranges: Ranges | None = None,
    ) -> None:
        self.weights = weights
        self.policy, self.value, self.opponent = policy, value, opponent
        self.synopsis = weights.architecture.synopsis
        self.threads = threads
        self.ranges = ranges
        self.sessions: dict[str, onnxruntime.InferenceSession] = {}
        self.session(policy)

    def session(self, policy: str) -> onnxruntime.InferenceSession:
        if policy not in self.sessions:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self.threads
            options.inter_op_num_threads = 1
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores
            model = build(self.weights, policy, self.value, self.ranges).SerializeToString()
            self.sessions[policy] = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return self.sessions[policy]

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        check_features(features, self.synopsis)
        session = self.session(self.opponent if opponent else self.policy)
        logits, values = session.run(["policy", "value"], {"planes": unpack(features)})
        return softmax(logits, legal), values
