"""An evaluator that runs a network with torch: on CUDA in half precision, else on the CPU.

Bitboards travel to the device as they are, 832 bytes a row, and are unpacked there; only the priors of legal actions
come back. Batches are padded to a few fixed sizes, for each of which CUDA records a graph once, so that a batch costs
one launch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.architecture import PLANES
from penumbra.network.model import Network, network_input

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)


@dataclass
class Graph:
    """One padded batch size: where its input goes, and where its output appears."""

    planes: Tensor  # int64[size, 104]
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
        self.graphs: dict[tuple[int, str], Graph] = {}

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        rows = len(features)
        with torch.inference_mode():
            graph = self.graph_for(rows, self.opponent if opponent else self.policy)
            graph.planes[:rows].copy_(torch.from_numpy(features.view(np.int64)), non_blocking=True)
            if graph.graph is None:
                graph.logits, graph.values = self.forward(
                    graph.planes[:rows], self.opponent if opponent else self.policy
                )
            else:
                graph.graph.replay()
            counts = torch.from_numpy(np.diff(legal.offsets)).to(self.device, non_blocking=True)
            actions = torch.from_numpy(legal.actions).to(self.device, non_blocking=True).long()
            row = torch.repeat_interleave(
                torch.arange(rows, device=self.device), counts, output_size=len(legal.actions)
            )
            logits = graph.logits[row, actions].float()
            most = torch.full((rows,), -torch.inf, device=self.device).scatter_reduce_(0, row, logits, "amax")
            weights = torch.exp(logits - most[row])
            total = torch.zeros(rows, device=self.device).index_add_(0, row, weights)
            both = torch.cat([weights / total[row], graph.values[:rows].float()]).cpu().numpy()
        return both[: len(legal.actions)], both[len(legal.actions) :]

    def forward(self, planes: Tensor, policy: str) -> tuple[Tensor, Tensor]:
        x = self.network.tower(network_input(planes, self.dtype))
        logits = self.network.headset(policy).policy_logits(x)
        return logits, torch.tanh(self.network.headset(self.value).value(x))

    def graph_for(self, rows: int, policy: str) -> Graph:
        size = next((size for size in SIZES if size >= rows), rows)
        if (size, policy) not in self.graphs:
            self.graphs[size, policy] = self.record(size, policy)
        return self.graphs[size, policy]

    def record(self, size: int, policy: str) -> Graph:
        planes = torch.zeros((size, PLANES), dtype=torch.int64, device=self.device)
        if self.device.type != "cuda":
            empty = torch.empty(0)
            return Graph(planes, empty, empty, None)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):  # lets cuDNN choose its kernels before they are recorded
                self.forward(planes, policy)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # other threads evaluate meanwhile
            logits, values = self.forward(planes, policy)
        return Graph(planes, logits, values, graph)
