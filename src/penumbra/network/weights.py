"""Weights as safetensors, in half precision, with a header that says what they are.

A file that does not fit is refused, with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from penumbra.network.architecture import PLANES, Architecture
from penumbra.network.model import Network

FORMAT = "penumbra-1"


class WeightsError(ValueError):
    """A file of weights that cannot be used, and why."""


def save(network: Network, path: Path, about: dict[str, str] | None = None) -> None:
    """Writes the file whole or not at all."""
    a = network.architecture
    header = {
        "format": FORMAT,
        "architecture": json.dumps({"n_width": a.n_width, "n_depth": a.n_depth}),
        "headsets": json.dumps(a.headsets),
        "planes": str(PLANES),
        **(about or {}),
    }
    tensors = {
        name: tensor.half().contiguous().cpu() if tensor.is_floating_point() else tensor.contiguous().cpu()
        for name, tensor in network.state_dict().items()
    }
    unfinished = path.with_suffix(".part")
    save_file(tensors, unfinished, header)
    unfinished.replace(path)


def load(path: Path) -> tuple[Network, dict[str, str]]:
    """The network of a file, in single precision, and the file's header."""
    try:
        with safe_open(path, framework="pt") as file:
            header = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{path}: {error}") from None
    if header.get("format") != FORMAT or header.get("planes") != str(PLANES):
        found = f"{header.get('format')!r}, {header.get('planes')} planes"
        raise WeightsError(f"{path}: not weights of this version ({found})")
    headsets = tuple(json.loads(header["headsets"]))
    network = Network(Architecture(**json.loads(header["architecture"]), headsets=headsets))
    try:
        network.load_state_dict({name: t.float() if t.is_floating_point() else t for name, t in tensors.items()})
    except RuntimeError as error:
        raise WeightsError(f"{path}: does not fit its own header: {str(error).splitlines()[0]}") from None
    return network.eval(), header
