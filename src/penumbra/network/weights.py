"""Weights as safetensors, in half precision, with a header that says what they are.

A file that does not fit is refused, with the reason. Weights for play may leave out the auxiliary heads, which only
training needs. Reading needs numpy alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from penumbra.network.architecture import Architecture
from penumbra.rbc.synopsis import LAYOUTS

FORMAT = "penumbra-1"
AUXILIARY = ("soon_win", "soon_lose", "pieces")  # heads that regularise training and are not used in play
SHIPPED = Path(__file__).resolve().parent.parent / "weights"
LITE, FULL = SHIPPED / "lite.safetensors", SHIPPED / "full.safetensors"
Tensors = dict[str, NDArray[Any]]


class WeightsError(ValueError):
    """A file of weights that cannot be used, and why."""


@dataclass(frozen=True)
class Weights:
    """A network as numbers: tensors by their names in the model, and what the header says."""

    architecture: Architecture
    tensors: Tensors  # float32, or integers that count
    about: Mapping[str, str]

    @property
    def has_auxiliary_heads(self) -> bool:
        return any(is_auxiliary(name) for name in self.tensors)


def is_auxiliary(name: str) -> bool:
    """Whether a tensor belongs to a head that only training needs."""
    parts = name.split(".")
    return parts[0] == "headsets" and parts[2] in AUXILIARY


def for_play(weights: Weights) -> Weights:
    """The same without the auxiliary heads."""
    tensors = {name: tensor for name, tensor in weights.tensors.items() if not is_auxiliary(name)}
    return Weights(weights.architecture, tensors, weights.about)


def save(weights: Weights, path: Path) -> None:
    """Writes the file in half precision, whole or not at all; `WeightsError` also where numbers are none."""
    a = weights.architecture
    header = {
        **weights.about,
        "format": FORMAT,
        "architecture": json.dumps({"n_width": a.n_width, "n_depth": a.n_depth}),
        "headsets": json.dumps(a.headsets),
        "planes": str(a.planes),
        "synopsis": a.synopsis,
    }
    with np.errstate(over="ignore"):  # what is too large is refused below
        tensors = {
            name: np.ascontiguousarray(tensor.astype(np.float16) if tensor.dtype.kind == "f" else tensor)
            for name, tensor in weights.tensors.items()
        }
    _check_numbers(tensors, path)
    unfinished = path.with_suffix(".part")
    try:
        save_file(tensors, unfinished, header)
        unfinished.chmod(0o644)
        unfinished.replace(path)
    except (OSError, SafetensorError) as error:
        unfinished.unlink(missing_ok=True)
        raise WeightsError(f"{path}: could not be written: {error}") from None


def load(path: str | Path) -> Weights:
    """The weights of a file, in single precision."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{path}: cannot be read as weights: {error}") from None
    synopsis = header.get("synopsis", "binary")
    planes = len(LAYOUTS[synopsis].planes) if synopsis in LAYOUTS else None
    if header.get("format") != FORMAT or header.get("planes") != str(planes):
        found = f"{header.get('format')!r}, {header.get('planes')} planes of a {synopsis} synopsis"
        raise WeightsError(f"{path}: not weights of this version ({found})")
    _check_numbers(tensors, path)
    try:
        sizes, headsets = json.loads(header["architecture"]), tuple(json.loads(header["headsets"]))
        architecture = Architecture(sizes["n_width"], sizes["n_depth"], headsets, synopsis)
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path}: has a broken header: {error}") from None
    weights = Weights(
        architecture, {n: t.astype(np.float32) if t.dtype.kind == "f" else t for n, t in tensors.items()}, header
    )
    _check(weights, path)
    return weights


def _check_numbers(tensors: Tensors, path: str | Path) -> None:
    """A single number that is infinite or none spoils all that the network says."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise WeightsError(f"{path}: {name} holds numbers that are not finite in half precision")


def _check(weights: Weights, path: str | Path) -> None:
    """The tensors that every part of the network needs must be there, with the right shape."""
    a = weights.architecture
    width = a.n_width
    shapes: dict[str, tuple[int, ...]] = {
        f"tower.{a.n_depth - 1}.second.weight": (width, width, 3, 3),
        "tower.0.first.weight": (width, a.planes, 3, 3),
    }
    for headset in a.headsets:
        shapes[f"headsets.{headset}.policy.weight"] = (65, width, 1, 1)
        shapes[f"headsets.{headset}.value.out.weight"] = (1, 256)
    for name, shape in shapes.items():
        found = weights.tensors.get(name)
        if found is None or found.shape != shape:
            is_there = "is missing" if found is None else f"is {list(found.shape)}, not {list(shape)}"
            raise WeightsError(f"{path}: does not fit its own header: {name} {is_there}")
