"""A search whose outcome is known: the same on every processor, whatever evaluates, within small tolerances.

`reference.toml` holds what it came to where it was written (`python -m studies.reference`), with the hashes of the
weights that it was made with. `penumbra doctor --deep` compares.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penumbra.bench.search import SEED, middle_game
from penumbra.core import NodeTable, threads
from penumbra.dsmcp import Settings
from penumbra.dsmcp.domain import Evaluator
from penumbra.dsmcp.playouts import Budget, Search
from penumbra.extras import is_installed
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.network.loading import OWN, VALUE, own_headset
from penumbra.network.weights import FULL, LITE, load
from penumbra.rbc.domain import ReconBlindChess

FILE = Path(__file__).with_name("reference.toml")
WEIGHTS = {"lite": LITE, "full": FULL}
NODES = 1500
BATCH = 32
LIKELIEST = 2  # actions whose priors and visits are compared
EIGHT_BITS, SINGLE, ROUNDED = "eight bits", "single precision", "eight bits of onnxruntime"
# How far what an evaluator says may be from what is stored of its kind. The integers of our kernels are the same
# everywhere; those of onnxruntime depend on the processor's instructions.
TOLERANCES = {"heuristic": 0.005, EIGHT_BITS: 0.01, SINGLE: 0.01, ROUNDED: 0.05}
OF_SEARCHES = 0.2  # searches make larger ones of small differences: stored numbers of two kinds differ by 0.11
Outcome = Mapping[str, float]


def search(evaluator: Evaluator) -> dict[str, float]:
    """π̄ and ν at a root in a middle game, and what a search of it comes to."""
    x, particles = middle_game()
    domain = ReconBlindChess()
    settings = Settings(b=BATCH, seed=SEED, in_flight=1)
    found: Search[Any, Any] = Search(
        domain, evaluator, NodeTable(settings.table_entries), settings, np.random.default_rng(SEED), x, particles
    )
    actions, _ = domain.root(x, True)
    root = found.prepare_root(actions, BATCH)
    found.run(root, Budget(nodes=NODES))
    visits, totals = found.table.statistics(root.key, root.actions)[:, :2].T
    outcome = {"value": root.value, "search: value": float(totals.sum() / visits.sum())}
    for i in np.argsort(-root.pi)[:LIKELIEST].tolist():
        outcome[f"prior of action {root.actions[i]}"] = float(root.pi[i])
        outcome[f"search: visits of action {root.actions[i]}"] = float(visits[i] / visits.sum())
    return outcome


def evaluators() -> dict[str, tuple[str, Callable[[], Evaluator]]]:
    """All that this processor and installation have: (kind, what makes it), by name."""
    from penumbra.network.quantization import int8_evaluator

    found: dict[str, tuple[str, Callable[[], Evaluator]]] = {"heuristic": ("heuristic", HeuristicEvaluator)}
    for build in int8_evaluator.builds():
        found[f"int8 kernels, {build}"] = (EIGHT_BITS, functools.partial(_int8, build))
    if is_installed("onnxruntime"):
        found["onnxruntime"] = (SINGLE, functools.partial(_onnx, False))
        found["onnxruntime, int8"] = (ROUNDED, functools.partial(_onnx, True))
    if is_installed("torch"):
        found["torch"] = (SINGLE, _torch)
    return found


def _heads() -> dict[str, Any]:
    return {"policy": own_headset(load(LITE).architecture.headsets, OWN), "value": VALUE, "opponent": "Top"}


def _int8(build: str) -> Evaluator:
    from penumbra.network.quantization.int8_evaluator import Int8Evaluator

    weights = load(LITE)
    return Int8Evaluator(weights, **_heads(), threads=threads(), ranges=_ranges(), build=build)


def _onnx(rounded: bool) -> Evaluator:
    from penumbra.network.onnx_evaluator import OnnxEvaluator

    return OnnxEvaluator(load(LITE), **_heads(), threads=threads(), ranges=_ranges() if rounded else None)


def _torch() -> Evaluator:
    from penumbra.network.model import from_weights
    from penumbra.network.torch_evaluator import TorchEvaluator

    return TorchEvaluator(from_weights(load(LITE)), "cpu", **_heads())


def _ranges() -> Any:
    from penumbra.network.quantization.rounding import ranges_of

    return ranges_of(load(LITE))


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stored() -> tuple[Mapping[str, str], Mapping[str, Outcome]]:
    """(the hashes of the weights by name, outcomes by the kind of evaluator)."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return data["weights"], data["search"]


def difference(kind: str, found: Outcome, expected: Outcome) -> tuple[float, str]:
    """(the largest difference, as a share of what is allowed; of what)."""
    shares = {
        name: abs(found.get(name, 2.0) - value) / (OF_SEARCHES if name.startswith("search: ") else TOLERANCES[kind])
        for name, value in expected.items()
    }
    return max((share, name) for name, share in shares.items())
