"""Tables 3 and 4: the Elo of PenumbraMixture over two settings, as a grid.

`table3`: caution κ (a share of playouts gives the opponent ℓ = 4) by paranoia φ (the weight of the least value seen).
`table4`: the bandit's rule, UCB1 or aVoP, by its exploration constant c, with κ = φ = 20 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penumbra.reproduce import league, published, variants
from penumbra.reproduce.league import Variant, shown_elo
from penumbra.reproduce.plots import heat, new_figure
from penumbra.reproduce.request import Cost, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.telling import TWO_SIDES, games_for_gap, needing, rounded
from penumbra.reproduce.variants import cautious, exploring

GAMES = "games in this table"
Elo = dict[tuple[str, str], tuple[float, float]]  # (Elo, interval) by row and column


@dataclass(frozen=True)
class EloGrid:
    """One of the two tables."""

    name: str
    TITLE: str
    row: str  # the setting down the side
    column: str  # the setting along the top
    variant: Callable[[str, str], Variant]  # of a row and a column
    claims: Callable[[Elo, Elo, int], list[Claim]]  # of the paper's and ours, and of how many games these are

    def cost(self, request: Request) -> Cost:
        return variants.cost(request, self.name)

    def run(self, request: Request) -> Result:
        ratings, notes = variants.rated(request, self.name)
        there = {rating.name: rating for rating in ratings.players}
        paper: Elo = {
            (row[self.row], row[self.column]): (float(row["elo"]), float(row["margin"]))
            for row in published.rows(self.name)
        }
        ours: Elo = {}
        rows: list[list[Cell]] = []
        for (row, column), (elo, margin) in paper.items():
            found = there.get(self.variant(row, column).name)
            if found is not None:
                ours[row, column] = found.elo, found.margin
                rows.append([row, column, round(found.elo), round(found.margin), found.games, elo, margin])
        heading = [self.row, self.column, "Elo", "±", "games", "paper's Elo", "paper's ±"]
        across, down = list(dict.fromkeys(b for _, b in paper)), list(dict.fromkeys(a for a, _ in paper))
        shown = Grid(
            [f"{self.row} \\ {self.column}", *across],
            [[a, *(self._cell(ours.get((a, b)), paper[a, b]) for b in across)] for a in down],
        )
        figure, axes = new_figure(self.TITLE, 11, 4, 2)
        for ax, title, cells in zip(axes, ("ours", "paper"), (ours, paper), strict=True):
            values = np.array([[cells.get((a, b), (np.nan, 0.0))[0] for b in across] for a in down])
            heat(ax, values, down, across, title, digits=0)
            ax.set(xlabel=self.column, ylabel=self.row)
        notes = [*notes, "In each cell: ours, and the paper's in brackets."]
        games = sum(int(row[4] or 0) for row in rows)
        real = tuple(sorted(league.public_programs(request)))
        return Result(
            self.name, self.TITLE, Grid(heading, rows), figure, notes, self.claims(paper, ours, games), [shown], real
        )

    def _cell(self, ours: tuple[float, float] | None, paper: tuple[float, float]) -> str:
        return f"{shown_elo(*ours) if ours else '–'} ({shown_elo(*paper)})"


def trend(text: str, paper: Elo, ours: Elo, axis: int, games: int) -> Claim:
    """That Elo falls along an axis of the grid: from the mean of its first cells to that of its last."""

    def means(cells: Elo) -> dict[str, tuple[float, float]]:
        found = {}
        for value in dict.fromkeys(key[axis] for key in cells):
            elo, margins = np.array([cell for key, cell in cells.items() if key[axis] == value]).T
            found[value] = float(elo.mean()), float(np.sqrt((margins**2).sum()) / len(margins))
        return found

    said = ["; ".join(f"{value} % {elo:.0f}" for value, (elo, _) in means(cells).items()) for cells in (paper, ours)]
    averages = list(means(ours).values())
    (first, margin), (last, other) = averages[0], averages[-1]
    interval = float(np.hypot(margin, other))
    clear = len(averages) > 1 and abs(last - first) > interval
    theirs = [elo for elo, _ in means(paper).values()]
    more = games_for_gap(games, interval / TWO_SIDES, theirs[0] - theirs[-1])
    return Claim(text, said[0], said[1], last < first if clear else None, *needing(more, games, GAMES))


def caution_claims(paper: Elo, ours: Elo, games: int) -> list[Claim]:
    return [
        trend("paranoia does not help: mean Elo falls from φ = 0 to 30 %", paper, ours, 0, games),
        trend("nor does caution: mean Elo falls from κ = 0 to 30 %", paper, ours, 1, games),
    ]


def exploration_claims(paper: Elo, ours: Elo, games: int) -> list[Claim]:
    """The paper's rules and constants are all within their intervals of each other."""

    def spread(cells: Elo) -> tuple[float, float]:
        numbers = [elo for elo, _ in cells.values()]
        return max(numbers) - min(numbers), 2 * max(margin for _, margin in cells.values())

    (theirs, width), (own, own_width) = spread(paper), spread(ours)
    text = "neither the rule nor c matters: best and worst within two half intervals"
    told = own > own_width or own_width <= 2 * width  # wide intervals hold anything
    said = [f"{gap:.0f} apart, intervals {both:.0f}" for gap, both in ((theirs, width), (own, own_width))]
    more = rounded(games * (own_width / (2 * width)) ** 2)  # intervals at most twice as wide as the paper's
    return [Claim(text, said[0], said[1], own <= own_width if told else None, more, GAMES)]


TABLE3 = EloGrid(
    "table3",
    "Table 3: caution and paranoia",
    "paranoia",
    "caution",
    lambda paranoia, caution: cautious(int(caution), int(paranoia)),
    caution_claims,
)
TABLE4 = EloGrid(
    "table4",
    "Table 4: exploration",
    "rule",
    "c",
    lambda rule, c: exploring(rule, int(c)),
    exploration_claims,
)
