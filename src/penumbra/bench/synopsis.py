"""How fast full information states are summarised on one core: 128 states to binary planes, or to shares as well."""

from __future__ import annotations

from penumbra import core
from penumbra.bench.report import Row, rate
from penumbra.training.sample_positions import ELL, full_rows, on_threads

BATCH = 256


def run(seconds: float) -> list[Row]:
    """`synopsis.rate` for the binary planes, `synopsis.graded` for them and the shares."""
    batches = [full_rows(kind, BATCH)[0] for kind in (core.SENSE, core.MOVE)]
    with on_threads(1):
        binary = rate(lambda: sum(len(batch.synopsis()) for batch in batches), seconds)
        graded = rate(lambda: sum(len(batch.shares()) for batch in batches), seconds)
    note = f"batches of {BATCH}, {ELL} states a row, middle games of real players; {core.BUILD} build, 1 thread"
    return [
        Row("synopsis.rate", binary, "synopses/s", note=note),
        Row("synopsis.graded", graded, "synopses/s", note=f"the shares, with the binary planes on the way; {note}"),
    ]
