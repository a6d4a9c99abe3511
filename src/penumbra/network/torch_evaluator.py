"""An evaluator that runs a network with torch: on CUDA in half precision, else on the CPU.

Features travel to the device as they are: bitboards, 832 bytes a row, which are unpacked there, and shares, which are
bytes already. Only the priors of legal actions come back. Batches are padded to a few fixed sizes, for each of which
CUDA records a graph once, so that a batch costs one launch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network import GPU_ROWS
from penumbra.network.model import Network, network_input
from penumbra.rbc.synopsis import check_features

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)


@dataclass
class Graph:
    """One padded batch size: where its input goes, and where its output appears."""

    features: Tensor  # int64[size, words]
    logits: Tensor  # [size, 4161]
    values: Tensor  # [size]
    graph: torch.cuda.CUDAGraph | None


class TorchEvaluator:
    """π is the policy of `policy`, ν the value of `value`, τ̂ the policy of `opponent`: names of headsets."""

    def __init__(
        self, network: Network, device: str = "cuda", *, policy: str = "Top", value: str = "All", opponent: str = "Top"
    ) -> None:
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise RuntimeError("there is no CUDA device here; use device='cpu'")
        self.device = torch.device(device)
        self.dtype = torch.float16 if self.device.type == "cuda" else torch.float32
        self.network = network.eval().to(self.device, self.dtype, memory_format=torch.channels_last)
        self.policy, self.value, self.opponent = policy, value, opponent
        self.synopsis = network.architecture.synopsis
        self.rows_at_once = GPU_ROWS if self.device.type == "cuda" else 1
        self.graphs: dict[tuple[int, str], Graph] = {}

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        return self.start(features, legal, opponent)()

    def start(self, features: Features, legal: Legal, opponent: bool) -> Callable[[], tuple[Floats, Floats]]:
        """Sets the device to work, without waiting for it; what comes back waits. Work is done in the order given."""
        check_features(features, self.synopsis)
        rows = len(features)
        with torch.inference_mode():
            graph = self.graph_for(rows, self.opponent if opponent else self.policy)
            graph.features[:rows].copy_(self.on_its_way(features.view(np.int64)), non_blocking=True)
            if graph.graph is None:
                graph.logits, graph.values = self.forward(
                    graph.features[:rows], self.opponent if opponent else self.policy
                )
            else:
                graph.graph.replay()
            counts = self.on_its_way(np.diff(legal.offsets)).to(self.device, non_blocking=True)
            actions = self.on_its_way(legal.actions).to(self.device, non_blocking=True).long()
            row = torch.repeat_interleave(
                torch.arange(rows, device=self.device), counts, output_size=len(legal.actions)
            )
            logits = graph.logits[row, actions].float()
            most = torch.full((rows,), -torch.inf, device=self.device).scatter_reduce_(0, row, logits, "amax")
            weights = torch.exp(logits - most[row])
            total = torch.zeros(rows, device=self.device).index_add_(0, row, weights)
            both = torch.cat([weights / total[row], graph.values[:rows].float()])
            done = None
            if self.device.type == "cuda":
                both = torch.empty(both.shape, pin_memory=True).copy_(both, non_blocking=True)
                done = torch.cuda.Event()
                done.record()

        def finish() -> tuple[Floats, Floats]:
            if done is not None:
                done.synchronize()
            answer = both.numpy()
            return answer[: len(legal.actions)], answer[len(legal.actions) :]

        return finish

    def on_its_way(self, array: npt.NDArray[Any]) -> Tensor:
        """In memory from which the device takes it while we go on."""
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.pin_memory() if self.device.type == "cuda" else tensor

    def forward(self, features: Tensor, policy: str) -> tuple[Tensor, Tensor]:
        x = self.network.tower(network_input(features, self.dtype))
        logits = self.network.headset(policy).policy_logits(x)
        return logits, torch.tanh(self.network.headset(self.value).value(x))

    def graph_for(self, rows: int, policy: str) -> Graph:
        size = next((size for size in SIZES if size >= rows), rows)
        if (size, policy) not in self.graphs:
            self.graphs[size, policy] = self.record(size, policy)
        return self.graphs[size, policy]

    def record(self, size: int, policy: str) -> Graph:
        features = torch.zeros((size, self.network.architecture.layout.words), dtype=torch.int64, device=self.device)
        if self.device.type != "cuda":
            empty = torch.empty(0)
            return Graph(features, empty, empty, None)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):  # lets cuDNN choose its kernels before they are recorded
                self.forward(features, policy)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits, values = self.forward(features, policy)
        return Graph(features, logits, values, graph)
