"""How fast training examples are made from whole games, on one core."""

from __future__ import annotations

from penumbra.bench.middle_games import on_threads, records
from penumbra.bench.report import Row, rate
from penumbra.training.examples import ExampleSettings, clean, make_examples

MULTIPLICITY = 8


def run(seconds: float) -> list[Row]:
    """`examples.rate`, and the same with a smaller cap."""
    settings = ExampleSettings(multiplicity=MULTIPLICITY)
    smaller = ExampleSettings(multiplicity=MULTIPLICITY, cap=1_000)
    return [_row("examples.rate", settings, seconds), _row("examples.rate.small_cap", smaller, seconds)]


def _row(name: str, settings: ExampleSettings, seconds: float) -> Row:
    """At least all games once, so that the mix is the same for every `seconds`."""
    with on_threads(1):
        speed = rate(lambda: len(make_examples(records(), settings)), seconds)
        cleaned = clean(make_examples(records(), settings), settings.limit)
    note = (
        f"{len(records())} games of real players, multiplicity {settings.multiplicity}, cap {settings.cap:,}: "
        f"{cleaned.flagged_share:.0%} of rows from cut sets, {cleaned.too_small / cleaned.rows:.0%} left out for it; 1 thread"
    )
    return Row(name, speed, "examples/s", note=note)
