"""`cross1`, `cross5` and `crosswin`: each headset on each headset's data, by top-1, top-5 and winner accuracy.

A headset that learned to mimic a player should predict that player best: the largest number of a column is to stand on
the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penumbra.reproduce import accuracy, published
from penumbra.reproduce.orders import rank_correlation, verdict
from penumbra.reproduce.plots import heat, new_figure
from penumbra.reproduce.request import Cost, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.table1 import notes
from penumbra.training.evaluation import Evaluation


@dataclass(frozen=True)
class CrossTable:
    """One of the three."""

    name: str
    measure: str
    TITLE: str

    def cost(self, request: Request) -> Cost:
        return accuracy.cost(request)

    def run(self, request: Request) -> Result:
        judged = accuracy.judge(request)
        evaluation, paper = judged.evaluation, published.cross(self.name)
        table = 100 * evaluation.cross[self.measure]
        headsets, data = evaluation.headsets, evaluation.data
        rows: list[list[Cell]] = [
            [headset, of, round(float(table[i, j]), 2), paper.get((headset, of))]
            for i, headset in enumerate(headsets)
            for j, of in enumerate(data)
        ]
        shown = Grid(
            ["headset \\ data of", *data],
            [
                [headset, *(self._cell(float(table[i, j]), paper.get((headset, of))) for j, of in enumerate(data))]
                for i, headset in enumerate(headsets)
            ],
        )
        figure, axes = new_figure(self.TITLE, 15, 6, 2)
        heat(axes[0], table, headsets, data, "ours")
        names = list(dict.fromkeys(row["headset"] for row in published.rows(self.name)))
        heat(axes[1], np.array([[paper[a, b] for b in names] for a in names]), names, names, "paper")
        data_grid = Grid(["headset", "data", "ours %", "paper %"], rows)
        both = [*notes(judged), "In each cell: ours, and the paper's in brackets where it has one."]
        return Result(self.name, self.TITLE, data_grid, figure, both, self._claims(evaluation), [shown])

    def _cell(self, ours: float, paper: float | None) -> str:
        return f"{ours:.1f}" + ("" if paper is None else f" ({paper:.1f})")

    def _claims(self, evaluation: Evaluation) -> list[Claim]:
        paper = published.cross(self.name)
        theirs = best_of_columns(paper)
        ours = evaluation.best_of_columns(self.measure)
        right = [name for name, best in ours.items() if name == best]
        wrong = [f"{name} ({best})" for name, best in ours.items() if name != best]
        said = f"{len(right)} of {len(ours)}" + (f"; not on {', '.join(wrong)}" if wrong else "")
        same = sum(name == best for name, best in theirs.items())
        holds = len(right) / len(ours) >= same / len(theirs)
        claims = [Claim("players are predicted best by their own headsets", f"{same} of {len(theirs)}", said, holds)]
        table = evaluation.cross[self.measure]
        pairs = [
            (float(table[i, j]), paper[headset, data])
            for i, headset in enumerate(evaluation.headsets)
            for j, data in enumerate(evaluation.data)
            if (headset, data) in paper and headset != data and np.isfinite(table[i, j])
        ]
        alike = rank_correlation([a for a, _ in pairs], [b for _, b in pairs])
        likeness = verdict(alike, len(pairs), positive=True)
        text = "order of all cells beside the diagonal"
        return [*claims, Claim(text, "1", f"rank correlation {alike:.2f} over {len(pairs)} cells", likeness)]


def best_of_columns(cells: dict[tuple[str, str], float]) -> dict[str, str]:
    """The headset that is best on each headset's data."""
    best: dict[str, str] = {}
    for headset, data in cells:
        if data not in best or cells[headset, data] > cells[best[data], data]:
            best[data] = headset
    return best


CROSS1 = CrossTable("cross1", "top1", "Top-1 accuracy across headsets")
CROSS5 = CrossTable("cross5", "top5", "Top-5 accuracy across headsets")
CROSSWIN = CrossTable("crosswin", "winner", "Winner accuracy across headsets")
