"""What every experiment of the paper must have written."""

from __future__ import annotations

import csv
import json

from matplotlib.image import imread

from penumbra.reproduce.request import Request

TOURNAMENTS = ("table2", "table3", "table4")


def check_files(name: str, given: Request) -> None:
    with (given.out / f"{name}.csv").open() as file:
        rows = list(csv.reader(file))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1
    text = (given.out / f"{name}.md").read_text()
    assert f"({name}.png)" in text and "nan" not in text.split("![")[1]
    assert imread(given.out / f"{name}.png").std() > 0
    assert json.loads((given.out / f"{name}.json").read_text())["scale"] == "tiny"
