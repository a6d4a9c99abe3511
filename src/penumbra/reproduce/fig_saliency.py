"""The saliency figure: through training, by headset for one plane, and for the planes that matter most and least.

(a) and (b): loss PBS and action PbS of plane 8, dark squares, for each headset. (c) and (d): the same of the five most
salient planes and of the least salient one, for the headset `Top`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from penumbra.rbc.synopsis import PLANES
from penumbra.reproduce import planes_study, published
from penumbra.reproduce.planes_study import Log, Study, order, over_training, study
from penumbra.reproduce.request import Cost, ReproductionError, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.review.pictures.board import INK
from penumbra.training.saliency import Saliency

NAME, TITLE = "fig-saliency", "Saliency through training"
DARK_SQUARES, HEADSET, MOST = 8, "Top", 5
COLORS = colormaps["tab20"]
MEASURES: dict[str, Callable[[Saliency], planes_study.Floats]] = {
    "loss PBS": lambda found: found.pbs["loss"],
    "action PbS": lambda found: found.pbs_of_bits("action"),
}


def cost(request: Request) -> Cost:
    return planes_study.cost(request)


def run(request: Request) -> Result:
    found = study(request)
    log = found.logs[0]
    if HEADSET not in log:
        raise ReproductionError(f"{found.origin}: no headset {HEADSET} was measured; there are {', '.join(log)}")
    rows: list[list[Cell]] = [
        [headset, step, plane.number, *(float(measure(at)[plane.number]) for measure in MEASURES.values())]
        for headset, steps in log.items()
        for step, at in steps.items()
        for plane in PLANES
        if headset == HEADSET or plane.number == DARK_SQUARES
    ]
    top = over_training([{HEADSET: log[HEADSET]}])
    chosen = {name: _chosen(measure(top)) for name, measure in MEASURES.items()}
    shown = Grid(
        ["", *(f"{word} salient" for word in ("most", "2nd most", "3rd most", "4th most", "5th most", "least"))],
        [[name, *(f"{plane} {PLANES[plane].name}" for plane in planes)] for name, planes in chosen.items()],
    )
    grid = Grid(["headset", "step", "plane", *MEASURES], rows)
    return Result(NAME, TITLE, grid, _figure(log, chosen), _notes(found), _claims(chosen), [shown])


def _chosen(values: planes_study.Floats) -> list[int]:
    planes = order(values)
    return [*planes[:MOST], planes[-1]]


def _figure(log: Log, chosen: dict[str, list[int]]) -> Figure:
    figure = Figure(figsize=(13, 9), facecolor="white", layout="constrained")
    figure.suptitle(TITLE, fontsize=13, color=INK)
    for row, (name, measure) in enumerate(MEASURES.items()):
        by_headset = figure.add_subplot(2, 2, 2 * row + 1, title=f"plane {DARK_SQUARES}, dark squares: {name}")
        for color, (headset, steps) in enumerate(log.items()):
            values = [measure(at)[DARK_SQUARES] for at in steps.values()]
            by_headset.plot(list(steps), values, label=headset, color=COLORS(color % COLORS.N))
        by_plane = figure.add_subplot(2, 2, 2 * row + 2, title=f"headset {HEADSET}: {name}")
        for plane in chosen[name]:
            steps = log[HEADSET]
            label = f"{plane} {PLANES[plane].name}"
            by_plane.plot(list(steps), [measure(at)[plane] for at in steps.values()], label=label)
        for ax in (by_headset, by_plane):
            ax.set_xlabel("step of training")
            ax.grid(alpha=0.3)
            ax.legend(fontsize=7)
    return figure


def _notes(found: Study) -> list[str]:
    return [
        f"Ours: {found.origin}; batches of the games kept for validation.",
        "The paper's curves are not given as numbers, and its unit is not said. PBS and PbS are as "
        "`penumbra.training.saliency` defines them.",
    ]


def _claims(chosen: dict[str, list[int]]) -> list[Claim]:
    """Against the paper's table, which is over all headsets."""
    claims = []
    for name in MEASURES:
        values = published.column("planes", "plane", name)
        theirs = order(np.array([values[str(plane)] for plane in range(len(PLANES))]))
        ours = chosen[name]
        shared = sorted(set(ours[:MOST]) & set(theirs[:MOST]))
        said = [", ".join(map(str, planes)) for planes in (theirs[:MOST], ours[:MOST])]
        claims.append(
            Claim(f"the five most salient planes by {name} (three are the same)", said[0], said[1], len(shared) >= 3)
        )
        same = theirs[0] == ours[0]
        claims.append(Claim(f"the most salient plane by {name}", str(theirs[0]), str(ours[0]), same))
    return claims
