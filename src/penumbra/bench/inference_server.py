"""Games that share one inference process, beside one game that has a process and the same cores to itself."""

from __future__ import annotations

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from penumbra.arena.pool import cores
from penumbra.bench.report import Row
from penumbra.bench.search import CPU_BATCH, SEED, measure
from penumbra.core import set_threads
from penumbra.dsmcp import Settings
from penumbra.network.inference_server import inference_process
from penumbra.network.loading import choose_device, network_evaluator, network_headsets

BATCH = 256  # b on a GPU


def run(seconds: float) -> list[Row]:
    """`shared.search`: nodes a second of all games together; the peer is one of them alone."""
    where = choose_device("auto")
    b = BATCH if where == "cuda" else CPU_BATCH
    games = max(2, cores() - 1)
    with tempfile.TemporaryDirectory() as folder, inference_process(Path(folder) / "inference", None, where) as device:
        alone = sum(searches(1, device, b, seconds))
        together = sum(searches(games, device, b, seconds))
    note = f"{games} processes of one thread, b {b}, one inference process on {where}"
    return [Row("shared.search", together, "nodes/s", "one game alone", alone, note)]


def searches(games: int, device: str, b: int, seconds: float) -> list[float]:
    """Nodes a second of each of some searches at once, in a process of its own."""
    with ProcessPoolExecutor(games, get_context("spawn")) as pool:
        list(pool.map(_search, [device] * games, [b] * games, [0.1] * games))  # all have started
        return list(pool.map(_search, [device] * games, [b] * games, [seconds] * games))


def _search(device: str, b: int, seconds: float) -> float:
    set_threads(1)
    evaluator = network_evaluator(None, device, network_headsets(None, device)[0])
    return measure(evaluator, Settings(b=b, seed=SEED), seconds)[0]
