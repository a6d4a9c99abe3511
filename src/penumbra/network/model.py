"""The network of the paper's architecture figure: a residual tower and, on it, headsets of five heads each.

Input: the planes of one sort of synopsis (see rbc/synopsis.py), 8 × 8 numbers from 0 to 1. The tower has n_depth
residual blocks of n_width channels, the first of which projects the input. A headset predicts, for the player whose
information state it sees,

    policy      a logit for each of the 4,161 actions: [from, to] and senses from a residual block, the pass from a
                small path of its own
    value       tanh: 1 won, -1 lost
    soon_win    a logit: won within five own steps; soon_lose likewise
    engine      tanh: the native engine's chance to win, on the value's scale; only where a recipe asks for it
    pieces      how many of each of the 12 kinds of pieces there really are: 12 softmaxes over 0 to 17
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from penumbra.core import ACTIONS
from penumbra.network.architecture import PIECE_COUNTS, PIECE_KINDS, Architecture
from penumbra.network.weights import Weights, WeightsError
from penumbra.rbc.synopsis import layout_of


@dataclass
class Heads:
    """What a headset says of B information states."""

    policy: Tensor  # [B, 4161] logits
    value: Tensor  # [B]
    soon_win: Tensor | None = None  # [B] logits; None, like the two below, without auxiliary heads
    soon_lose: Tensor | None = None  # [B] logits
    pieces: Tensor | None = None  # [B, 12, 18] logits
    engine: Tensor | None = None  # [B]; None without such a head


def unpack(features: Tensor, dtype: torch.dtype) -> Tensor:
    """int64[B, words] of any sort to [B, planes, 8, 8], rank by rank, file by file; a byte of 255 is 1."""
    layout = layout_of(features.shape[1])
    squares = torch.arange(64, device=features.device)
    bits = ((features[:, : layout.bits].unsqueeze(-1) >> squares) & 1).to(dtype).view(-1, layout.bits, 8, 8)
    if layout.bits == len(layout.planes):
        return bits
    shares = features[:, layout.bits :].view(torch.uint8).view(-1, len(layout.planes) - layout.bits, 8, 8)
    return torch.cat([bits, shares.to(dtype) / 255], dim=1)


def network_input(features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """int64[B, words] of any sort as the tower reads them fastest."""
    return unpack(features, dtype).contiguous(memory_format=torch.channels_last)


class Norm(nn.BatchNorm2d):
    """Batch normalisation. Learning with fixed statistics it is a plain affine map, whose gradient is cheaper so."""

    def forward(self, input: Tensor) -> Tensor:
        if self.training or not torch.is_grad_enabled():
            return super().forward(input)
        assert self.running_mean is not None and self.running_var is not None
        scale = self.weight * torch.rsqrt(self.running_var + self.eps)
        shift = self.bias - self.running_mean * scale
        return torch.addcmul(shift.view(-1, 1, 1), input, scale.view(-1, 1, 1))


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions with batch normalisation, around them a shortcut."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, width, 3, padding=1, bias=False)
        self.first_norm = Norm(width)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second_norm = Norm(width)
        self.shortcut = nn.Identity() if inputs == width else nn.Conv2d(inputs, width, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return torch.relu(y + self.shortcut(x))


class Dense(nn.Module):
    """A 1 × 1 convolution to a few channels, a dense layer, and one number."""

    def __init__(self, width: int, channels: int, hidden: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(width, channels, 1)
        self.hidden = nn.Linear(64 * channels, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.squeeze(x)).flatten(1)
        out: Tensor = self.out(torch.relu(self.hidden(y)))
        return out.squeeze(1)


class Headset(nn.Module):
    """One player's policy and chances; the auxiliary heads may be missing."""

    def __init__(self, width: int, auxiliary: bool = True, engine: bool = False) -> None:
        super().__init__()
        self.policy_block = ResidualBlock(width, width)
        self.policy = nn.Conv2d(width, 65, 1)
        self.pass_move = Dense(width, 4, 64)
        self.value = Dense(width, 8, 256)
        self.auxiliary = auxiliary
        if auxiliary:
            self.soon_win = Dense(width, 4, 256)
            self.soon_lose = Dense(width, 4, 256)
            self.pieces = nn.Sequential(
                nn.Conv2d(width, PIECE_KINDS * PIECE_COUNTS, 1),
                nn.ReLU(),
                nn.Conv2d(PIECE_KINDS * PIECE_COUNTS, PIECE_KINDS * PIECE_COUNTS, 1),
            )
        self.engine = Dense(width, 8, 256) if engine else None

    def policy_logits(self, x: Tensor) -> Tensor:
        """[B, 4161] in the order of the action numbers: senses, from-to moves, the pass."""
        planes = self.policy(self.policy_block(x)).flatten(
            2
        )  # [B, 65, 64]: channel `to` at square `from`; 64 is the sense
        moves = planes[:, :64].transpose(1, 2).flatten(1)
        logits = torch.cat([planes[:, 64], moves, self.pass_move(x).unsqueeze(1)], dim=1)
        assert logits.shape[1] == ACTIONS
        return logits

    def predict(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and value: all that play needs."""
        return self.policy_logits(x), torch.tanh(self.value(x))

    def forward(self, x: Tensor) -> Heads:
        heads = Heads(*self.predict(x))
        if self.engine is not None:
            heads.engine = torch.tanh(self.engine(x))
        if self.auxiliary:
            heads.soon_win, heads.soon_lose = self.soon_win(x), self.soon_lose(x)
            heads.pieces = self.pieces(x).mean(dim=(2, 3)).view(-1, PIECE_KINDS, PIECE_COUNTS)
        return heads


class Network(nn.Module):
    def __init__(self, architecture: Architecture, auxiliary: bool = True, engine: bool = False) -> None:
        super().__init__()
        self.architecture = architecture
        width = architecture.n_width
        blocks = [ResidualBlock(architecture.planes if i == 0 else width, width) for i in range(architecture.n_depth)]
        self.tower = nn.Sequential(*blocks)
        self.headsets = nn.ModuleDict({name: Headset(width, auxiliary, engine) for name in architecture.headsets})

    def headset(self, name: str) -> Headset:
        module = self.headsets[name]
        assert isinstance(module, Headset)
        return module

    def forward(self, planes: Tensor, headset: str) -> Heads:
        """planes: [B, planes, 8, 8]."""
        heads: Heads = self.headset(headset)(self.tower(planes))
        return heads


def to_weights(network: Network, about: dict[str, str] | None = None) -> Weights:
    """The network's numbers, to be saved."""
    tensors = {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
    return Weights(network.architecture, tensors, about or {})


def from_weights(weights: Weights) -> Network:
    """The network of a file; WeightsError if the numbers are not those of such a network."""
    network = Network(weights.architecture, weights.has_auxiliary_heads, weights.has_engine_heads)
    try:
        network.load_state_dict({name: torch.from_numpy(np.array(t)) for name, t in weights.tensors.items()})
    except RuntimeError as error:
        raise WeightsError(f"weights do not fit their header: {' '.join(str(error).split())[:200]}") from None
    network.eval()
    return network
