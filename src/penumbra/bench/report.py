"""A row of measurements, and how rows are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One measurement, beside the same done by a peer where there is one."""

    name: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the peer's value ours is."""
        return self.value / self.peer_value if self.peer_value else None

    def as_dict(self) -> dict[str, object]:
        """The object of the JSON list, its keys in a fixed order."""
        fields = asdict(self)
        note = fields.pop("note")
        return {**fields, "ratio": self.ratio, "note": note}


def rate(work: Callable[[], int], seconds: float) -> float:
    """Units of work done per second; `work` does some and says how many. At least one call is made."""
    done = 0
    start = perf_counter()
    while True:
        done += work()
        elapsed = perf_counter() - start
        if elapsed >= seconds:
            return done / elapsed


def rates(works: Sequence[Callable[[], int]], seconds: float, slices: int = 4) -> list[float]:
    """The rate of each kind of work, `seconds` for each, in turns: a machine that slows down slows all of them."""
    turns = [[rate(work, seconds / slices) for work in works] for _ in range(slices)]
    return [slices / sum(1 / speed for speed in speeds) for speeds in zip(*turns, strict=True)]


def to_json(rows: Sequence[Row]) -> str:
    """One list of objects."""
    return json.dumps([row.as_dict() for row in rows], indent=2)


def show(rows: Sequence[Row], console: Console) -> None:
    """A table for people."""
    table = Table()
    for heading in ("name", "value", "unit", "peer", "peer value", "ratio", "note"):
        table.add_column(heading, justify="right" if heading in ("value", "peer value", "ratio") else "left")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.1f}"
        peer_value = "" if row.peer_value is None else f"{row.peer_value:,.0f}"
        value = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.2f}"
        table.add_row(row.name, value, row.unit, row.peer or "", peer_value, ratio, row.note)
    console.print(table)
