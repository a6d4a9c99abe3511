"""What came of an experiment, and its files: NAME.csv, NAME.md, NAME.png, and NAME.json for the report."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penumbra.whole_files import replacing_text, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Grid:
    """A table: a heading, and rows as long as it."""

    heading: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def markdown(self) -> str:
        lines = [self.heading, ["---"] * len(self.heading), *([shown(cell) for cell in row] for row in self.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Claim:
    """Something that the paper's numbers say: does it hold for ours? None where ours cannot tell."""

    text: str
    paper: str
    ours: str
    holds: bool | None
    more: int | None = None  # how much would tell it, where it cannot be told; None: no number is known
    of: str = ""  # of what, or why there is no number

    @property
    def needs(self) -> str:
        """What would tell it."""
        if self.holds is not None:
            return ""
        return self.of if self.more is None else f"{self.more:,} {self.of}"

    @property
    def verdict(self) -> str:
        return {True: "holds", False: "does not hold", None: "cannot be told"}[self.holds]


@dataclass(frozen=True)
class Result:
    """One experiment's outcome."""

    name: str
    title: str
    data: Grid  # all numbers, ours and the paper's
    figure: Figure
    notes: Sequence[str]  # what ours are measured on; what differs from the paper, and why
    claims: Sequence[Claim] = ()
    shown: Sequence[Grid] = field(default_factory=list)  # in the Markdown, where `data` is not made for eyes
    public: Sequence[str] = ()  # baselines that were the public programs, not our kinds after them

    def write(self, folder: Path, scale: str, cost: str, seconds: float) -> None:
        """All files; the last one says that the others are there."""
        from penumbra.review.pictures.files import save

        folder.mkdir(parents=True, exist_ok=True)
        with replacing_text(folder / f"{self.name}.csv", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.data.heading)
            writer.writerows([plain(cell) for cell in row] for row in self.data.rows)
        save(self.figure, folder / f"{self.name}.png")
        before = _before(folder / f"{self.name}.json")
        about = {
            "name": self.name,
            "title": self.title,
            "scale": scale,
            "cost": before.get("cost", cost),
            "seconds": round(seconds + before.get("seconds", 0.0), 1),
            "notes": list(self.notes),
            "claims": [asdict(claim) for claim in self.claims],
            "public": list(self.public),
            "tables": [grid.markdown() for grid in self.shown or [self.data]],
        }
        write_text(folder / f"{self.name}.md", page(about, f"{self.name}.png"))
        write_text(folder / f"{self.name}.json", json.dumps(about, indent=1) + "\n")


def _before(path: Path) -> dict[str, Any]:
    """What an earlier run in this folder has said: one that was resumed cost what both did."""
    try:
        before: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return before


def page(about: dict[str, Any], picture: str, level: int = 1) -> str:
    """The Markdown of what NAME.json holds, with a picture at that path."""
    claims = [Claim(**claim) for claim in about["claims"]]
    parts = [
        f"{'#' * level} {about['title']}",
        f"`penumbra reproduce {about['name']} --scale {about['scale']}`: {about['cost']} estimated, "
        f"{about['seconds']:,.0f} seconds taken in all its runs.",
        "\n".join(f"- {note}" for note in about["notes"]),
        claims_grid(claims).markdown() if claims else "",
        f"![{about['title']}]({picture})",
        *about["tables"],
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def claims_grid(claims: Sequence[Claim]) -> Grid:
    heading = ["in the paper", "paper's numbers", "ours", ""]
    rows = [[claim.text, claim.paper, claim.ours, claim.verdict] for claim in claims]
    if any(claim.holds is None for claim in claims):
        heading.append("what would tell it")
        rows = [[*row, claim.needs] for row, claim in zip(rows, claims, strict=True)]
    return Grid(heading, rows)


def shown(cell: Cell) -> str:
    """As a reader wants it."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.4g}" if isinstance(cell, float) else cell


def plain(cell: Cell) -> Cell:
    """As a program wants it."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return float(f"{cell:.6g}") if isinstance(cell, float) else cell
