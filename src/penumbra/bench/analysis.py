"""Nodes a second of the analysis protocol, from a line of JSON to its answer, beside the bare search of `bench search`.

Both search the same middle game with the same network, settings and as many particles. The protocol's time is that of
the whole answer: reading the query, tracking all positions up to there, drawing the belief, searching, and writing.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from penumbra.bench.report import Row
from penumbra.bench.search import CPU_BATCH, MIDDLE_GAME, SEED, measure
from penumbra.core import threads
from penumbra.dsmcp.settings import Settings
from penumbra.network.loading import choose_device, load_evaluator
from penumbra.players.penumbra.configuration import Configuration
from penumbra.review.analysis_engine import AnalysisEngine

PARTICLES = 256
ROUNDS = 3  # by turns, so that a machine that slows down slows both


def run(seconds: float) -> list[Row]:
    """`analysis.search`: its peer is the bare search."""
    settings = {"b": CPU_BATCH if choose_device("auto") == "cpu" else 1024, "n_particles": PARTICLES}
    evaluator = load_evaluator()
    answers: list[dict[str, Any]] = []
    ended = threading.Event()

    def take(answer: dict[str, Any]) -> None:
        json.dumps(answer)
        answers.append(answer)
        if answer["type"] != "decision":
            ended.set()

    engine = AnalysisEngine(take, Configuration(preset="mixture", policy="Top", unrecognised="Top", seed=SEED))
    nodes = elapsed = bare = 0.0
    for _ in range(ROUNDS):
        ended.clear()
        began = time.perf_counter()
        engine.take(json.dumps(query(seconds, settings)))
        ended.wait()
        elapsed += time.perf_counter() - began
        if answers[-1]["type"] == "error":
            raise RuntimeError(answers[-1]["error"])
        nodes += answers[-2]["nodes"]
        bare += measure(evaluator, Settings(seed=SEED, b=settings["b"]), seconds)[0]
    engine.close()
    states = answers[-2]["states"]
    note = f"{ROUNDS} queries of {seconds:g} s, {states:,} positions, {PARTICLES} particles, {threads()} threads"
    return [Row("analysis.search", nodes / elapsed, "nodes/s", "bench search", bare / ROUNDS, note)]


def query(seconds: float, settings: dict[str, int]) -> dict[str, Any]:
    """White's decision in the middle game, of which it has seen nothing but its own moves."""
    told: list[dict[str, Any]] = []
    for ply, word in enumerate(MIDDLE_GAME):
        if ply % 2 == 0:
            told += [{"type": "turn"}, {"type": "sensed", "square": None, "seen": {}}]
            told.append({"type": "moved", "requested": word, "taken": word})
    return {
        "id": "bench",
        "player": "white",
        "observations": [*told, {"type": "turn"}],
        "seconds": seconds,
        "cap": 100_000,
        "settings": settings,
    }
