"""`cross1`, `cross5` and `crosswin`: each headset on each headset's data, by top-1, top-5 and winner accuracy.

A headset that learned to mimic a player should predict that player best: the largest number of a column is to stand on
the diagonal. Where it does not, the gap is held against what chance gives in so many examples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penumbra.reproduce import accuracy, published
from penumbra.reproduce.orders import rank_correlation, verdict
from penumbra.reproduce.plots import heat, new_figure
from penumbra.reproduce.request import Cost, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.table1 import notes
from penumbra.reproduce.telling import TWO_SIDES, games_for_gap, needing
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
        claims = [diagonal(evaluation, self.measure, paper)]
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


@dataclass(frozen=True)
class Lost:
    """A column that another headset than the player's own comes first in."""

    data: str
    best: str
    gap: float  # between them
    deviation: float  # of the gap, as if the two had been asked about different examples, each of its own game
    examples: int

    @property
    def by_chance(self) -> bool:
        return self.gap <= TWO_SIDES * self.deviation

    def to_tell(self, paper: Mapping[tuple[str, str], float]) -> int | None:
        """Examples that would tell it, were the gap the paper's between the same two."""
        if (self.data, self.data) not in paper or (self.best, self.data) not in paper:
            return None
        gap = (paper[self.data, self.data] - paper[self.best, self.data]) / 100
        return games_for_gap(self.examples, self.deviation, gap)


def diagonal(evaluation: Evaluation, measure: str, paper: Mapping[tuple[str, str], float]) -> Claim:
    """Whether each player's own headset is the best; what another one is better by may be chance."""
    theirs, ours = best_of_columns(dict(paper)), evaluation.best_of_columns(measure)
    same, lost = sum(name == best for name, best in theirs.items()), []
    for j, name in enumerate(evaluation.data):
        if ours[name] != name:
            rates = [float(evaluation.cross[measure][evaluation.headsets.index(of), j]) for of in (ours[name], name)]
            examples = int(evaluation.examples[j])
            deviation = math.sqrt(sum(rate * (1 - rate) for rate in rates) / examples)
            lost.append(Lost(name, ours[name], rates[0] - rates[1], deviation, examples))
    beaten, open_ = [each for each in lost if not each.by_chance], [each for each in lost if each.by_chance]
    said = f"{len(ours) - len(lost)} of {len(ours)}"
    for what, columns in (("not on", beaten), ("within chance on", open_)):
        said += f"; {what} {', '.join(f'{each.data} ({each.best})' for each in columns)}" if columns else ""
    wanted = same / len(theirs) * len(ours)
    holds = True if len(ours) - len(lost) >= wanted else False if len(ours) - len(beaten) < wanted else None
    text, theirs_said = "players are predicted best by their own headsets", f"{same} of {len(theirs)}"
    if holds is not None:
        return Claim(text, theirs_said, said, holds)
    needed = [(each.to_tell(paper), each) for each in open_]
    more, hardest = max(needed, key=lambda pair: math.inf if pair[0] is None else pair[0])
    if more is None:
        return Claim(text, theirs_said, said, None, of=f"the paper has no gap between the two on {hardest.data}")
    return Claim(text, theirs_said, said, None, *needing(more, hardest.examples, f"examples of {hardest.data}"))


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
