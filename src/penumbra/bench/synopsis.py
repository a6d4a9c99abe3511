"""How fast full information states are summarised: all 104 planes of 128 states, on one core."""

from __future__ import annotations

from penumbra import core
from penumbra.bench.report import Row, rate
from penumbra.training.sample_positions import ELL, full_rows, on_threads

BATCH = 256


def run(seconds: float) -> list[Row]:
    """`synopsis.rate`."""
    batches = [full_rows(kind, BATCH)[0] for kind in (core.SENSE, core.MOVE)]
    with on_threads(1):
        speed = rate(lambda: sum(len(batch.synopsis()) for batch in batches), seconds)
    note = f"batches of {BATCH}, {ELL} states a row, middle games of real players; {core.BUILD} build, 1 thread"
    return [Row("synopsis.rate", speed, "synopses/s", note=note)]
