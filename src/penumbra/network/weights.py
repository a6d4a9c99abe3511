"""Weights as safetensors, in half precision, with a header that says what they are.

A file is checked whole, unused headsets too, and refused with the reason if anything does not fit. Weights for play may
leave out the auxiliary heads, which only training needs. Reading needs numpy alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from penumbra.network.architecture import PIECE_COUNTS, PIECE_KINDS, Architecture
from penumbra.rbc.synopsis import LAYOUTS, Synopsis
from penumbra.whole_files import WriteError, replacing

FORMAT = "penumbra-1"
COUNT = ".num_batches_tracked"  # the tensors that are integers
AUXILIARY = ("soon_win", "soon_lose", "pieces")  # heads that regularise training and are not used in play
ENGINE = "engine"  # another such head, which only some networks have
FROM_PLANES = ("tower.0.first.weight", "tower.0.shortcut.weight")  # what the planes are multiplied by
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
        return any(_head_of(name) in AUXILIARY for name in self.tensors)

    @property
    def has_engine_heads(self) -> bool:
        return any(_head_of(name) == ENGINE for name in self.tensors)


def _head_of(name: str) -> str:
    """The head that a tensor belongs to; nothing for those of the tower."""
    parts = name.split(".")
    return parts[2] if parts[0] == "headsets" else ""


def for_play(weights: Weights) -> Weights:
    """The same without the auxiliary heads."""
    tensors = {name: tensor for name, tensor in weights.tensors.items() if _head_of(name) not in (*AUXILIARY, ENGINE)}
    return Weights(weights.architecture, tensors, weights.about)


def reading(weights: Weights, synopsis: Synopsis) -> Weights:
    """A network that is given another sort of synopsis and says the same: it has yet to learn what the new planes mean.

    WeightsError if what it reads is no part of that sort.
    """
    a = weights.architecture
    if synopsis == a.synopsis:
        return weights
    planes = [plane.number for plane in LAYOUTS[synopsis].planes]
    missing = [plane.name for plane in a.layout.planes if plane.number not in planes]
    if missing:
        raise WeightsError(f"a network of {a.synopsis} synopses reads {missing[0]!r}, which {synopsis} ones have not")
    if a.n_width in (a.planes, len(planes)):
        raise WeightsError(f"a network of {a.n_width} channels and {a.n_width} planes has no shortcut to widen")
    places = [planes.index(plane.number) for plane in a.layout.planes]
    tensors = dict(weights.tensors)
    for name in FROM_PLANES:
        before = tensors[name]
        tensors[name] = np.zeros((before.shape[0], len(planes), *before.shape[2:]), before.dtype)
        tensors[name][:, places] = before
    return Weights(replace(a, synopsis=synopsis), tensors, weights.about)


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
    try:
        with replacing(path) as beside:
            save_file(tensors, beside, header)
            beside.chmod(0o644)
    except WriteError as error:
        raise WeightsError(str(error)) from None
    except SafetensorError as error:  # which is also what it says of a full disk
        raise WeightsError(f"{path}: could not be written ({error}); what was there before is kept") from None


def load(path: str | Path) -> Weights:
    """The weights of a file, in single precision."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError, TypeError, ValueError) as error:  # also sorts of numbers that numpy does not have
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


def shapes_of(architecture: Architecture, auxiliary: bool, engine: bool = False) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor in a file, by name; with those heads that only training needs, or without."""
    width = architecture.n_width
    shapes: dict[str, tuple[int, ...]] = {}
    for i in range(architecture.n_depth):
        shapes |= _block_shapes(f"tower.{i}", width if i else architecture.planes, width)
    for headset in architecture.headsets:
        head = f"headsets.{headset}"
        shapes |= _block_shapes(f"{head}.policy_block", width, width)
        shapes |= _convolution_shapes(f"{head}.policy", width, 65)
        shapes |= _dense_shapes(f"{head}.pass_move", width, 4, 64)
        shapes |= _dense_shapes(f"{head}.value", width, 8, 256)
        if engine:
            shapes |= _dense_shapes(f"{head}.{ENGINE}", width, 8, 256)
        if auxiliary:
            counts = PIECE_KINDS * PIECE_COUNTS
            shapes |= _dense_shapes(f"{head}.soon_win", width, 4, 256)
            shapes |= _dense_shapes(f"{head}.soon_lose", width, 4, 256)
            shapes |= _convolution_shapes(f"{head}.pieces.0", width, counts)
            shapes |= _convolution_shapes(f"{head}.pieces.2", counts, counts)
    return shapes


def _block_shapes(name: str, inputs: int, width: int) -> dict[str, tuple[int, ...]]:
    """Of a residual block; a shortcut that changes the width is a convolution."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part, channels in (("first", inputs), ("second", width)):
        shapes[f"{name}.{part}.weight"] = (width, channels, 3, 3)
        for number in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.{part}_norm.{number}"] = (width,)
        shapes[f"{name}.{part}_norm.num_batches_tracked"] = (1,)
    if inputs != width:
        shapes[f"{name}.shortcut.weight"] = (width, inputs, 1, 1)
    return shapes


def _convolution_shapes(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs, 1, 1), f"{name}.bias": (outputs,)}


def _dense_shapes(name: str, width: int, channels: int, hidden: int) -> dict[str, tuple[int, ...]]:
    return {
        **_convolution_shapes(f"{name}.squeeze", width, channels),
        f"{name}.hidden.weight": (hidden, 64 * channels),
        f"{name}.hidden.bias": (hidden,),
        f"{name}.out.weight": (1, hidden),
        f"{name}.out.bias": (1,),
    }


def _check(weights: Weights, path: str | Path) -> None:
    """Every tensor of the network must be there, with its shape and its sort of numbers, and no other.

    Headsets that a game does not use are checked too: which one is used depends on whom it is played against.
    """
    shapes = shapes_of(weights.architecture, weights.has_auxiliary_heads, weights.has_engine_heads)
    for name, shape in shapes.items():
        found = weights.tensors.get(name)
        if found is None or found.shape != shape:
            is_there = "is missing" if found is None else f"is {list(found.shape)}, not {list(shape)}"
            raise WeightsError(f"{path}: does not fit its own header: {name} {is_there}")
        if (found.dtype.kind == "f") == name.endswith(COUNT):
            raise WeightsError(f"{path}: {name} holds numbers of another sort, {found.dtype}")
        if name.endswith(".running_var") and (found < 0).any():
            raise WeightsError(f"{path}: {name} is a variance and holds numbers below zero")
    for name in weights.tensors:
        if name not in shapes:
            raise WeightsError(f"{path}: does not fit its own header: there is no {name} in such a network")
