"""Networks small enough to be made in a test."""

from __future__ import annotations

import torch

from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, to_weights
from penumbra.network.weights import Weights
from penumbra.rbc.synopsis import Synopsis


def some_weights(width: int = 12, synopsis: Synopsis = "binary") -> Weights:
    """Two blocks and three headsets, whose normalisation has statistics that matter."""
    torch.manual_seed(width)
    network = Network(Architecture(width, 2, ("All", "Top", "Trout"), synopsis))
    for name, tensor in network.state_dict().items():
        if "norm" in name and tensor.is_floating_point():
            tensor.copy_(torch.rand_like(tensor) + 0.5)
    return to_weights(network.eval(), {"games": "none"})
