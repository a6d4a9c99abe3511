"""What the saliency figure, the saliency table and the ablation share: logs of training runs, by plane and headset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penumbra.rbc.synopsis import PLANES
from penumbra.reproduce import runs
from penumbra.reproduce.games import games
from penumbra.reproduce.request import Cost, ReproductionError, Request
from penumbra.training import saliency
from penumbra.training.saliency import Saliency

Floats = NDArray[np.float64]
Log = dict[str, dict[int, Saliency]]  # by headset and step


@dataclass(frozen=True)
class Study:
    """Logs of saliency, and in words where they come from."""

    logs: Sequence[Log]
    origin: str


def cost(request: Request) -> Cost:
    return Cost(2) if request.logs else runs.cost(request)


def study(request: Request) -> Study:
    """The logs that are given, or those of runs trained for this."""
    if request.logs:
        return Study([_read(path) for path in request.logs], ", ".join(str(path) for path in request.logs))
    found = games(request, request.games or request.of(runs.SCALES).games)
    trained = runs.trained(request, found)
    sizes = request.of(runs.SCALES)
    if request.recipe is None and request.scale != "paper":
        size = f"{sizes.n_depth} blocks of {sizes.n_width} channels, {sizes.steps:,} batches of {sizes.batch}"
    else:
        size = f"the recipe {request.recipe or runs.PAPER_RECIPE}"
    return Study([_read(run.log) for run in trained], f"{len(trained)} run(s) on {found.origin}: {size}")


def _read(path: Path) -> Log:
    if not path.is_file():
        raise ReproductionError(f"{path}: there is no such log; `penumbra train --saliency 200` writes one")
    log = saliency.read(path)
    if any(len(found.ones) != len(PLANES) for steps in log.values() for found in steps.values()):
        raise ReproductionError(f"{path}: is of a network that reads shares; the paper's planes are the binary ones")
    return log


def over_training(logs: Sequence[Log]) -> Saliency:
    """The mean over batches, headsets and runs, each headset of each run counting the same."""
    return saliency.average([saliency.average(list(steps.values())) for log in logs for steps in log.values()])


def order(values: Floats) -> list[int]:
    """Planes, the most salient first."""
    return [int(plane) for plane in np.argsort(-values, kind="stable")]
