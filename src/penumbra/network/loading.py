"""Loads the network that plays: by default `lite` on a CPU and `full` on a GPU, or the one that the user names.

Weights and evaluators are made once for each process and shared by all its games; with `device = "unix:SOCKET"` an
inference server (`penumbra.network.inference_server`) has them, for the games of many. On a CPU that can do so fast
they compute in eight bits, by our own kernels or by onnxruntime; `device = "cpu32"` does not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from penumbra.core import SENSE, START_FEN, Infostates, StateSet, threads
from penumbra.dsmcp.domain import Evaluator, Legal
from penumbra.extras import is_installed, missing_extra
from penumbra.network import SCHEME
from penumbra.network.inference_server import RemoteEvaluator, Served, headsets_at
from penumbra.network.weights import FULL, LITE, Weights, WeightsError, load
from penumbra.rbc.synopsis import synopsis_read_by

FLOAT = "cpu32"  # the CPU without quantisation
OWN = ("Penumbra", "Top")  # headsets of π, by preference: the one trained by self-play, else that of the best players
VALUE = "All"  # the headset of the value


def load_weights(weights: str | Path | None = None) -> Weights:
    """A network as numbers: from a file, or one that comes with the program, `lite` or `full`; `WeightsError` if there
    is none or something does not fit.

        >>> load_weights("lite").architecture.headsets[:2]
        ('All', 'Top')
    """
    return _read(_path(None if weights is None else str(weights), "cpu"))


def load_evaluator(
    weights: str | Path | None = None,
    device: str = "auto",
    *,
    policy: str | None = None,
    opponent: str = "Top",
    value: str = VALUE,
) -> Evaluator:
    """An evaluator that runs a network, loaded once for each process; `WeightsError` if there can be none.

    `weights` are a file, or `lite` or `full`, which come with the program; left out, `full` on a GPU, else `lite`.
    `device` is `cpu`, `cuda`, `auto`, or `unix:SOCKET` of an inference server. The other three are names of headsets:
    of our policy (left out, the best there is), of the opponent's and of the value.
    """
    policies = OWN if policy is None else (policy,)
    return network_evaluator(None if weights is None else str(weights), device, opponent, policies, value)


def network_headsets(weights: str | None, device: str) -> tuple[str, ...]:
    """The headsets of a network; WeightsError if there is no such network."""
    if device.startswith(SCHEME):
        return _headsets_at(device.removeprefix(SCHEME))
    return _load(_path(weights, _where(device))).architecture.headsets


def network_evaluator(
    weights: str | None, device: str, opponent: str, policies: tuple[str, ...] = OWN, value: str = VALUE
) -> Evaluator:
    """An evaluator with π of the first of `policies` that the network has, ν of the headset `value` and τ̂ of the
    headset `opponent`, tried on one position; WeightsError if there can be none."""
    names = network_headsets(weights, device)
    if device.startswith(SCHEME):
        if value != VALUE:
            raise WeightsError(f"{device}: an inference server has the value of {VALUE} alone, not of {value}")
        address = device.removeprefix(SCHEME)
        policy = own_headset(names, policies, address)
        return tried(_remote(address, policy, opponent if opponent in names else policy), device)
    path = _path(weights, _where(device))
    if value != VALUE:
        _check_headset(path, value, names)
    own = own_headset(names, policies, path)
    return tried(_make(path, _where(device), own, opponent, threads(), value), path)


def policy_evaluator(weights: str | None, device: str, headset: str) -> Evaluator:
    """An evaluator with the policy of one headset for both players."""
    if device.startswith(SCHEME):
        address = device.removeprefix(SCHEME)
        _check_headset(address, headset, _headsets_at(address))
        return _remote(address, headset, headset)
    where = choose_device(device)
    path = _path(weights, where)
    _check_headset(path, headset, _load(path).architecture.headsets)
    return _make(path, where, headset, headset, threads())


def own_headset(names: tuple[str, ...], policies: tuple[str, ...] = OWN, path: str = "the network") -> str:
    """Whose policy is our π: the first of `policies` that there is."""
    found = next((name for name in policies if name in names), None)
    if found is None and len(names) > 1:
        _check_headset(path, policies[0], names)
    return found or names[0]


def loader(weights: str | None, device: str, cores: int) -> Callable[[str | None], Served]:
    """For an inference server: the network of a file of weights, of those given here to begin with."""
    where = choose_device(device)

    def load_from(path: str | None) -> Served:
        path = path or _path(weights, where)
        loaded = _read(path)
        names = loaded.architecture.headsets

        def evaluator_of(headset: str) -> Evaluator:
            _check_headset(path, headset, names)
            return _evaluator(loaded, where, headset, headset, cores)

        return Served(names, loaded.architecture.synopsis, evaluator_of)

    return load_from


def _where(device: str) -> str:
    return device if device == FLOAT else choose_device(device)


def _path(weights: str | None, device: str) -> str:
    """A file of weights, by its path or by the name of one that comes with the program."""
    usual = FULL if device == "cuda" else LITE
    return str({None: usual, "lite": LITE, "full": FULL}.get(weights, weights))


def _check_headset(path: str, headset: str, names: tuple[str, ...]) -> None:
    if headset not in names:
        raise WeightsError(f"{path}: there is no headset {headset!r}; there are {', '.join(names)}")


@functools.lru_cache(maxsize=4)
def _headsets_at(address: str) -> tuple[str, ...]:
    return headsets_at(address)


@functools.lru_cache(maxsize=32)
def _remote(address: str, policy: str, opponent: str) -> Evaluator:
    return RemoteEvaluator(address, policy, opponent)


def choose_device(device: str) -> str:
    """`cuda` or `cpu`. Torch is loaded only where there is a GPU to be seen."""
    if device == "cpu" or (device == "auto" and not _sees_gpu()):
        return "cpu"
    if is_installed("torch"):
        import torch

        if torch.cuda.is_available():
            return "cuda"
    if device == "auto":
        return "cpu"
    raise WeightsError("there is no CUDA device here, or torch is not installed; use device = cpu")


def _sees_gpu() -> bool:
    return Path("/dev/nvidia0").exists() or Path("/dev/nvidiactl").exists()


@functools.lru_cache(maxsize=4)
def _load(path: str) -> Weights:
    return _read(path)


def _read(path: str) -> Weights:
    if not Path(path).exists():
        raise WeightsError(f"{path}: there are no weights; name others, or use evaluator = heuristic")
    return load(path)


@functools.lru_cache(maxsize=32)
def _make(path: str, device: str, policy: str, opponent: str, cores: int, value: str = VALUE) -> Evaluator:
    weights = _load(path)
    try:
        return _evaluator(weights, device, policy, opponent, cores, value)
    except ModuleNotFoundError as error:
        raise missing_extra(error, f"{path} on {device}") or error from None
    except (KeyError, TypeError, RuntimeError) as error:  # such as a header without the range of a layer
        raise WeightsError(f"{path}: cannot be run on {device}: {_described(error)}") from None


def tried(evaluator: Evaluator, name: str) -> Evaluator:
    """The evaluator, once it has evaluated the first position of a game for both players; WeightsError if it cannot."""
    position = Infostates.draw(StateSet(START_FEN, True), 1, SENSE)
    features, legal = position.features(synopsis_read_by(evaluator)), Legal(*position.legal())
    for opponent in (False, True):
        try:
            priors, values = evaluator.evaluate(features, legal, opponent)
        except WeightsError:
            raise
        except Exception as error:
            raise WeightsError(f"{name}: cannot evaluate the first position: {_described(error)}") from None
        if not (np.isfinite(priors).all() and abs(float(priors.sum()) - 1) < 0.01 and np.isfinite(values).all()):
            raise WeightsError(f"{name}: what it says of the first position is no policy or no value")
    return evaluator


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _evaluator(weights: Weights, device: str, policy: str, opponent: str, cores: int, value: str = VALUE) -> Evaluator:
    names = weights.architecture.headsets
    value = value if value in names else names[0]
    opponent = opponent if opponent in names else policy
    if device == "cuda":
        from penumbra.network.model import from_weights
        from penumbra.network.torch_evaluator import TorchEvaluator

        return TorchEvaluator(from_weights(weights), device, policy=policy, value=value, opponent=opponent)
    from penumbra.network.cache import CachedEvaluator
    from penumbra.network.quantization import int8_evaluator
    from penumbra.network.quantization.rounding import ranges_of

    heads: dict[str, Any] = {"policy": policy, "value": value, "opponent": opponent, "threads": cores}
    ranges = None if device == FLOAT else ranges_of(weights)
    if ranges is not None and int8_evaluator.is_possible(weights):
        return CachedEvaluator(int8_evaluator.Int8Evaluator(weights, **heads, ranges=ranges))
    from penumbra.network.onnx_evaluator import OnnxEvaluator
    from penumbra.network.quantization.calibration import is_fast_here

    return CachedEvaluator(OnnxEvaluator(weights, **heads, ranges=ranges if is_fast_here() else None))
