"""`penumbra planes`: the 104 planes of a synopsis as labelled boards in a grid."""

from __future__ import annotations

import textwrap
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from penumbra.core import Infostates
from penumbra.rbc.synopsis import PLANES, Plane
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
CLEAR = ("#eceef0", "#dfe3e6")  # light and dark squares that are not set


def draw_planes(moment: Moment, ell: int, seed: int, path: Path) -> None:
    """Writes the synopsis of at most `ell` states, drawn by `seed` where there are more, as PNG or SVG."""
    save(planes_figure(moment, ell, seed), path)


def planes_figure(moment: Moment, ell: int, seed: int) -> Figure:
    """The picture, not yet in a file."""
    x = moment.situation
    drawn = Infostates.draw(x.states, 1, moment.kind, ell, x.context, seed)
    planes = drawn.synopsis()[0]
    figure = Figure(figsize=(COLUMNS * 1.42, ROWS * 1.84 + 0.9), facecolor="white")
    grid = figure.add_gridspec(ROWS, COLUMNS, left=0.018, right=0.993, bottom=0.05, top=0.928, wspace=0.12, hspace=0.38)
    for plane in PLANES:
        ax = figure.add_subplot(grid[plane.number // COLUMNS, plane.number % COLUMNS])
        _draw_plane(ax, plane, int(planes[plane.number]), moment.player)
    count = int(drawn.counts[0])
    summary = moment.size if count == len(x.states) else f"{moment.size}, {count} of them summarised"
    figure.text(0.018, 0.972, moment.title, fontsize=19, fontweight="bold", color=INK, va="center")
    figure.text(0.995, 0.972, summary, fontsize=15, color=INK, va="center", ha="right")
    legend = [Patch(color=color, label=SORTS[sort]) for sort, color in COLORS.items()]
    figure.legend(
        handles=legend, loc="lower center", ncols=len(legend), fontsize=12, frameon=False, bbox_to_anchor=(0.5, 0)
    )
    return figure


def _draw_plane(ax: Axes, plane: Plane, mask: int, player: bool) -> None:
    """The player's own side is at the bottom; squares are labelled as on the real board."""
    set_up(ax)
    colors = [COLORS[plane.sort] if mask >> square & 1 else CLEAR[is_dark(square)] for square in range(64)]
    fill_squares(ax, colors, border=0.8, grid=0.4)
    first, bottom = plane.number % COLUMNS == 0, plane.number // COLUMNS == ROWS - 1
    if first or bottom:
        ranks = "12345678" if player else "87654321"
        label_squares(ax, "abcdefgh" if bottom else " " * 8, ranks if first else " " * 8, size=6, offset=0.55)
    name = textwrap.fill(f"{plane.number}  {plane.name}", width=23)
    ax.text(4, 8.35, name, ha="center", va="bottom", fontsize=7.7, linespacing=1.0, color=INK)
