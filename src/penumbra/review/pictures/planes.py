"""`penumbra planes`: the planes of a synopsis as labelled boards in a grid."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from penumbra.core import Infostates
from penumbra.rbc.synopsis import LAYOUTS, PLANES, Plane, Synopsis, unpack
from penumbra.review.pictures.board import INK, fill_squares, is_dark, label_squares, set_up
from penumbra.review.pictures.files import save
from penumbra.review.pictures.moments import Moment

COLUMNS = 13
ROWS = len(PLANES) // COLUMNS
COLORS = {"constant": "#5f6772", "context": "#2f6fa7", "and": "#2e7d4f", "or": "#c2681f", "derived": "#7a4a9c"}
SORTS = {
    "constant": "constant",
    "context": "what the player owns or remembers",
    "and": "true in every state",
    "or": "true in some state",
    "derived": "derived from such",
}
SHARE_COLORS = {"share": "#a3314f", "scalar": "#8a6d1d"}
SHARE_SORTS = {"share": "true in a share of the states", "scalar": "one number"}
CLEAR = ("#eceef0", "#dfe3e6")  # light and dark squares that are not set


def draw_planes(moment: Moment, ell: int, seed: int, path: Path, synopsis: Synopsis = "binary") -> None:
    """Writes the synopsis of at most `ell` states, drawn by `seed` where there are more, as PNG or SVG."""
    save(planes_figure(moment, ell, seed, synopsis), path)


def planes_figure(moment: Moment, ell: int, seed: int, synopsis: Synopsis = "binary") -> Figure:
    """The picture, not yet in a file. A share is the darker the larger it is."""
    x = moment.situation
    drawn = Infostates.draw(x.states, 1, moment.kind, ell, x.context, seed)
    layout = LAYOUTS[synopsis]
    values = _values(drawn, synopsis)
    rows = -(-len(layout.planes) // COLUMNS)
    figure = Figure(figsize=(COLUMNS * 1.42, rows * 1.84 + 0.9), facecolor="white")
    edges = {"bottom": 0.05 * ROWS / rows, "top": 1 - 0.072 * ROWS / rows}
    grid = figure.add_gridspec(rows, COLUMNS, left=0.018, right=0.993, **edges, wspace=0.12, hspace=0.38)
    for place, plane in enumerate(layout.planes):
        row, column = divmod(place, COLUMNS)
        ax = figure.add_subplot(grid[row, column])
        _draw_plane(ax, plane, values[place], moment.player, first=column == 0, bottom=row == rows - 1)
    count = int(drawn.counts[0])
    summary = moment.size if count == len(x.states) else f"{moment.size}, {count} of them summarised"
    height = 1 - 0.028 * ROWS / rows
    figure.text(0.018, height, moment.title, fontsize=19, fontweight="bold", color=INK, va="center")
    figure.text(0.995, height, summary, fontsize=15, color=INK, va="center", ha="right")
    there = {plane.sort for plane in layout.planes}
    colors, names = COLORS | SHARE_COLORS, SORTS | SHARE_SORTS
    legend = [Patch(color=color, label=names[sort]) for sort, color in colors.items() if sort in there]
    figure.legend(
        handles=legend, loc="lower center", ncols=len(legend), fontsize=12, frameon=False, bbox_to_anchor=(0.5, 0)
    )
    return figure


def _values(drawn: Infostates, synopsis: Synopsis) -> NDArray[np.float64]:
    """[planes, 64], from 0 to 1."""
    planes = unpack(drawn.features(synopsis))[0]
    values: NDArray[np.float64] = planes.reshape(len(planes), 64) / LAYOUTS[synopsis].largest
    return values


def _draw_plane(
    ax: Axes, plane: Plane, values: NDArray[np.float64], player: bool, *, first: bool, bottom: bool
) -> None:
    """The player's own side is at the bottom; squares are labelled as on the real board."""
    set_up(ax)
    color = (COLORS | SHARE_COLORS)[plane.sort]
    fill_squares(ax, [_blend(CLEAR[is_dark(s)], color, float(values[s])) for s in range(64)], border=0.8, grid=0.4)
    if first or bottom:
        ranks = "12345678" if player else "87654321"
        label_squares(ax, "abcdefgh" if bottom else " " * 8, ranks if first else " " * 8, size=6, offset=0.55)
    name = textwrap.fill(f"{plane.number}  {plane.name}", width=23)
    ax.text(4, 8.35, name, ha="center", va="bottom", fontsize=7.7, linespacing=1.0, color=INK)


def _blend(clear: str, color: str, value: float) -> str:
    """A square's colour; what is hardly ever true can still be told from what never is."""
    if value == 0:
        return clear
    share = 0.12 + 0.88 * value
    mixed = (round(255 * ((1 - share) * a + share * b)) for a, b in zip(to_rgb(clear), to_rgb(color), strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
