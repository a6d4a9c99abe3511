"""Boards and pieces on matplotlib axes, one unit to a square, a1 at the lower left of the picture's own view."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

Color = str | tuple[float, ...]

PIECES = "PNBRQK"
_SHAPES = dict(zip(PIECES, "♟♞♝♜♛♚", strict=True))  # filled shapes for both sides; matplotlib's own font has them
_FONT = FontProperties(family="DejaVu Sans")
INK = "#22262b"
_SQUARES = [[(f, r), (f + 1, r), (f + 1, r + 1), (f, r + 1)] for r in range(8) for f in range(8)]


def set_up(ax: Axes, margin: float = 0.0) -> None:
    """An empty board without axes."""
    ax.set_xlim(-margin, 8 + margin)
    ax.set_ylim(-margin, 8 + margin)
    ax.set_aspect("equal")
    ax.axis("off")


def fill_squares(ax: Axes, colors: Sequence[Color], border: float, grid: float = 0.0) -> None:
    """The 64 squares, with a border, and white lines between them if those have a width."""
    edges = "white" if grid else "face"
    squares = PolyCollection(_SQUARES, facecolors=colors, edgecolors=edges, linewidths=grid or 0.2)
    ax.add_collection(squares, autolim=False)
    ax.add_patch(Rectangle((0, 0), 8, 8, fill=False, edgecolor=INK, linewidth=border, zorder=3, clip_on=False))


def is_dark(square: int) -> bool:
    """a1 is dark, and stays so when the board is turned round."""
    return (square // 8 + square) % 2 == 0


def label_squares(ax: Axes, files: str, ranks: str, size: float, offset: float) -> None:
    """Letters below and numbers beside the board, both in the order of the picture from its lower left."""
    for at in range(8):
        ax.text(at + 0.5, -offset, files[at], ha="center", va="center", fontsize=size, color=INK)
        ax.text(-offset, at + 0.5, ranks[at], ha="center", va="center", fontsize=size, color=INK)


def draw_piece(ax: Axes, square: int, letter: str, alpha: float = 1.0, scale: float = 1.0) -> None:
    """A piece as a letter of a FEN: white ones filled with white, black ones with black."""
    rank, file = divmod(square, 8)
    white = letter.isupper()
    place = Affine2D().scale(scale).translate(file + 0.5, rank + 0.5)
    for edge, width in (("white" if not white else INK, 1.6 * scale), (None, 0.0)):
        patch = PathPatch(
            place.transform_path(_shape(letter.upper())),
            facecolor="white" if white else INK,
            edgecolor=edge or "none",
            linewidth=width,
            joinstyle="round",
            alpha=alpha,
            zorder=4,
        )
        ax.add_patch(patch)


@cache
def _shape(letter: str) -> Outline:
    """The outline of a piece around (0, 0), all of them standing on one line."""
    path = TextPath((0, 0), _SHAPES[letter], size=1.0, prop=_FONT)
    king = TextPath((0, 0), _SHAPES["K"], size=1.0, prop=_FONT).get_extents()
    box = path.get_extents()
    height = 0.78
    return (
        Affine2D()
        .translate(-(box.x0 + box.x1) / 2, -(king.y0 + king.y1) / 2)
        .scale(height / (king.y1 - king.y0))
        .transform_path(path)
    )
