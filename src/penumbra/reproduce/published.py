"""The paper's own numbers, as data: `paper/*.csv`, each of which names its source in its first line."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "paper"
MARK = "# source: "


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a file, by its name without the ending."""
    lines = _lines(name)
    return tuple(csv.DictReader(line for line in lines if not line.startswith("#")))


def source(name: str) -> str:
    """Where the numbers of a file stand in the paper."""
    return _lines(name)[0].removeprefix(MARK)


def column(name: str, key: str, value: str) -> dict[str, float]:
    """A column of numbers by another one."""
    return {row[key]: float(row[value]) for row in rows(name)}


def fact(name: str) -> float:
    """A number that stands in the text or in a caption."""
    return column("facts", "fact", "value")[name]


def cross(name: str) -> dict[tuple[str, str], float]:
    """A cross table, by headset and data."""
    return {
        (row["headset"], data): float(value) for row in rows(name) for data, value in row.items() if data != "headset"
    }


@cache
def _lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.csv").read_text().splitlines()
