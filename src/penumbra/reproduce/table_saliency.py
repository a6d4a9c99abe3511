"""The appendix' table of planes: loss PBS, action PbS, PbS 0, PbS 1 and rank of all 104."""

from __future__ import annotations

import numpy as np

from penumbra.rbc.synopsis import PLANES
from penumbra.reproduce import planes_study, published
from penumbra.reproduce.orders import rank_correlation, verdict
from penumbra.reproduce.planes_study import order, over_training, study
from penumbra.reproduce.plots import OURS, new_figure
from penumbra.reproduce.request import Cost, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result

NAME, TITLE = "table-saliency", "Saliency of the 104 planes"
COLUMNS = ("loss PBS", "action PbS", "action PbS 0", "action PbS 1")


def cost(request: Request) -> Cost:
    return planes_study.cost(request)


def run(request: Request) -> Result:
    found = study(request)
    mean = over_training(found.logs)
    ours = dict(
        zip(COLUMNS, (mean.pbs["loss"], mean.pbs_of_bits("action"), *mean.per_bit["action"]), strict=True),
    )
    paper = {name: published_column(name) for name in COLUMNS}
    places = order(ours["action PbS"])
    rows: list[list[Cell]] = []
    for plane in PLANES:
        row: list[Cell] = [plane.number, plane.name]
        for name in COLUMNS:
            row += [float(ours[name][plane.number]), float(paper[name][plane.number])]
        rows.append([*row, places.index(plane.number), int(published.rows("planes")[plane.number]["rank"])])
    heading = ["plane", "name"]
    for name in (*COLUMNS, "rank"):
        heading += [name, f"{name} (paper)"]
    figure, axes = new_figure(TITLE, 12, 5.5, 2)
    claims = []
    for ax, name in zip(axes, COLUMNS[:2], strict=True):
        ax.scatter(paper[name], ours[name], color=OURS, s=14)
        for top in order(paper[name])[:8]:
            at = paper[name][top], ours[name][top]
            ax.annotate(f"{top} {PLANES[top].name} ", at, ha="right", va="bottom", fontsize=7)
        ax.set(xlabel=f"paper: {name}", ylabel=f"ours: {name}", xscale="log", yscale="log")
    for name in COLUMNS:
        there = np.isfinite(ours[name])
        alike = rank_correlation(ours[name][there], paper[name][there])
        holds = verdict(alike, int(there.sum()), positive=True)
        said = f"rank correlation {alike:.2f} over {int(there.sum())} planes"
        claims.append(Claim(f"order of the planes by {name}", "1", said, holds))
    notes = [
        f"Ours: {found.origin}; the mean over {len(found.logs)} run(s), over headsets, each counting the same, and "
        "over training. The paper's is over five runs; of which headsets is not said.",
        "The unit of a gradient depends on the network and its loss, and the paper does not say which number of the "
        "policy it differentiates (ours: ln π of the chosen action), so that ranks compare, not sizes. "
        "A dash: no bit of that plane ever had that value.",
    ]
    return Result(NAME, TITLE, Grid(heading, rows), figure, notes, claims)


def published_column(name: str) -> planes_study.Floats:
    """[104] of the paper's table."""
    values = published.column("planes", "plane", name)
    return np.array([values[str(plane.number)] for plane in PLANES])
