"""How fast training examples are made from whole games, on one core."""

from __future__ import annotations

from dataclasses import replace

from penumbra.bench.report import Row, rate
from penumbra.training.examples import Examples, ExampleSettings, clean, make_examples
from penumbra.training.sample_positions import on_threads, records

MULTIPLICITY = 8
SMALL_CAP = 1_000
ENGINE_STATES = 16  # of each set


def run(seconds: float) -> list[Row]:
    """`examples.rate`, the same with a smaller cap, and that with the engine's chances to win."""
    settings = ExampleSettings(multiplicity=MULTIPLICITY)
    smaller = replace(settings, cap=SMALL_CAP)
    asking = replace(smaller, engine_states=ENGINE_STATES)
    return [
        _row("examples.rate", settings, seconds),
        _row("examples.rate.small_cap", smaller, seconds),
        _row("examples.rate.engine", asking, seconds),
    ]


def _row(name: str, settings: ExampleSettings, seconds: float) -> Row:
    """All games at least once, and always all of them, so that the mix is the same for every `seconds`."""
    made: list[Examples] = []

    def work() -> int:
        made[:] = [make_examples(records(), settings)]
        return len(made[0])

    with on_threads(1):
        speed = rate(work, seconds)
    cleaned = clean(made[0], settings.ell)
    left_out = cleaned.too_small / cleaned.rows
    note = (
        f"{len(records())} games of real players, multiplicity {settings.multiplicity}, cap {settings.cap:,}: "
        f"{cleaned.flagged_share:.1%} of rows from cut sets, {left_out:.1%} left out for it; 1 thread"
    )
    if settings.engine_states:
        note += f"; the engine asked of {settings.engine_states} states of each set and of the true one"
    return Row(name, speed, "examples/s", note=note)
