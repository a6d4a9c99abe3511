"""Which network plays: the lite one on a CPU, the full one on CUDA, or weights that the user names.

Weights and evaluators are made once for each process and shared by all its games.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path

from penumbra.core import threads
from penumbra.dsmcp.domain import Evaluator
from penumbra.network.weights import FULL, LITE, Weights, WeightsError, load

Recognise = Callable[[tuple[str, ...]], str]  # the headset that stands for the opponent, of those there are


def network_evaluator(weights: str | None, device: str, recognise: Recognise) -> Evaluator:
    """An evaluator with π of `Top`, ν of `All` and τ̂ of the headset recognised; WeightsError if there can be none."""
    where = choose_device(device)
    path = str(weights) if weights else str(FULL if where == "cuda" else LITE)
    names = _load(path).architecture.headsets
    policy = "Top" if "Top" in names else names[0]
    return _make(path, where, policy, recognise(names), threads())


def policy_evaluator(weights: str | None, device: str, headset: str) -> Evaluator:
    """An evaluator with the policy of one headset for both players."""
    where = choose_device(device)
    path = str(weights) if weights else str(FULL if where == "cuda" else LITE)
    names = _load(path).architecture.headsets
    if headset not in names:
        raise WeightsError(f"{path}: there is no headset {headset!r}; there are {', '.join(names)}")
    return _make(path, where, headset, headset, threads())


def choose_device(device: str) -> str:
    """`cuda` or `cpu`. Torch is loaded only where there is a GPU to be seen."""
    if device == "cpu" or (device == "auto" and not _sees_gpu()):
        return "cpu"
    if importlib.util.find_spec("torch") is not None:
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
    if not Path(path).exists():
        raise WeightsError(f"{path}: there are no weights; name others, or use evaluator = heuristic")
    return load(path)


@functools.lru_cache(maxsize=32)
def _make(path: str, device: str, policy: str, opponent: str, cores: int) -> Evaluator:
    weights = _load(path)
    names = weights.architecture.headsets
    value = "All" if "All" in names else names[0]
    opponent = opponent if opponent in names else policy
    if device == "cuda":
        from penumbra.network.model import from_weights
        from penumbra.network.torch_evaluator import TorchEvaluator

        return TorchEvaluator(from_weights(weights), device, policy=policy, value=value, opponent=opponent)
    from penumbra.network.onnx_evaluator import OnnxEvaluator

    return OnnxEvaluator(weights, policy=policy, value=value, opponent=opponent, threads=cores)
