"""`penumbra situation`: the board as a player may imagine it, from the marginals of its set of states.

The large board has the player's own pieces, and on every square the share of states in which an opposing piece stands
there. The small boards show the same for each kind of piece.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke
from numpy.typing import NDArray

from penumbra.rbc.actions import view
from penumbra.review.pictures.board import INK, PIECES, Color, draw_piece, fill_squares, is_dark, label_squares, set_up
from penumbra.review.pictures.files import save
from penumbra.review.pictures.moments import Moment

BOARD = ("#f3efe6", "#e3dccd")  # light and dark squares where nothing can stand
NAMES = dict(zip(PIECES, ("pawns", "knights", "bishops", "rooks", "queens", "king"), strict=True))
HEAT = LinearSegmentedColormap.from_list("heat", ["#fbeecb", "#f5c677", "#e8894a", "#c9503b"])
HALO = [Stroke(linewidth=2.2, foreground="white"), Normal()]
SURE = 0.999


def draw_situation(moment: Moment, path: Path) -> None:
    """Writes the picture as PNG or SVG."""
    shares = _shares(moment)
    figure = Figure(figsize=(14.2, 9), facecolor="white")
    _draw_large(figure.add_axes((0.015, 0.03, 0.56, 0.88)), moment, shares)
    for i, letter in enumerate(PIECES):
        left, bottom = 0.605 + 0.195 * (i % 2), 0.64 - 0.27 * (i // 2)
        _draw_small(figure.add_axes((left, bottom, 0.19, 0.265)), moment, letter, shares[:, 7 + i])
    bar = figure.add_axes((0.635, 0.062, 0.335, 0.016))
    scale = figure.colorbar(ScalarMappable(Normalize(0, 100), HEAT), cax=bar, orientation="horizontal")
    scale.set_label("% of the states in which an opposing piece stands there", fontsize=10.5, color=INK)
    figure.text(0.043, 0.952, moment.title, fontsize=19, fontweight="bold", color=INK, va="center")
    figure.text(0.972, 0.952, moment.size, fontsize=19, color=INK, va="center", ha="right")
    save(figure, path)


def _shares(moment: Moment) -> NDArray[np.float64]:
    """[64, 13]: the share of states with each content on each square of the picture.

    White sees the board with a1 at the lower left, Black with h8 there, as they would at a table.
    """
    counts = moment.situation.states.marginals().astype(np.float64)
    real = counts[[view(square, moment.player) for square in range(64)]]
    return (real if moment.player else real[::-1]) / len(moment.situation.states)


def _files_and_ranks(player: bool) -> tuple[str, str]:
    return ("abcdefgh", "12345678") if player else ("hgfedcba", "87654321")


def _draw_large(ax: Axes, moment: Moment, shares: NDArray[np.float64]) -> None:
    set_up(ax, margin=0.45)
    fill_squares(ax, _colors(shares[:, 7:13].sum(axis=1)), border=1.5)
    for square in range(64):
        own, opposing = shares[square, 1:7], shares[square, 7:13]
        if own.any():
            draw_piece(ax, square, _letter(int(own.argmax()), moment.player))
        elif opposing.any():
            _draw_opposing(ax, square, opposing, not moment.player)
    label_squares(ax, *_files_and_ranks(moment.player), size=12, offset=0.28)


def _draw_opposing(ax: Axes, square: int, shares: NDArray[np.float64], color: bool) -> None:
    """The likeliest piece, the fainter the less likely, and how likely it is that some piece stands there."""
    total, likeliest = float(shares.sum()), int(shares.argmax())
    draw_piece(ax, square, _letter(likeliest, color), alpha=0.25 + 0.75 * float(shares[likeliest]))
    if total < SURE:
        rank, file = divmod(square, 8)
        percent = "<1" if total < 0.005 else f"{min(total, 0.99):.0%}".rstrip("%")
        at_corner = file + 0.95, rank + 0.95
        text = ax.text(*at_corner, percent, ha="right", va="top", fontsize=9.5, color=INK, zorder=5)
        text.set_path_effects(HALO)


def _draw_small(ax: Axes, moment: Moment, letter: str, shares: NDArray[np.float64]) -> None:
    set_up(ax, margin=0.7)
    fill_squares(ax, _colors(shares), border=0.9)
    label_squares(ax, *_files_and_ranks(moment.player), size=6.5, offset=0.4)
    # The kind of piece, and how many of it there are on average.
    ax.set_ylim(-0.7, 9.6)
    draw_piece(ax, 64, letter if not moment.player else letter.lower(), scale=1.1)
    ax.text(1.15, 8.5, NAMES[letter], ha="left", va="center", fontsize=12, color=INK)
    expected = f"{shares.sum():.2f}".rstrip("0").rstrip(".")
    ax.text(8, 8.5, expected, ha="right", va="center", fontsize=11, color=INK)


def _colors(shares: NDArray[np.float64]) -> list[Color]:
    return [HEAT(float(share)) if share else BOARD[is_dark(square)] for square, share in enumerate(shares)]


def _letter(kind: int, color: bool) -> str:
    return PIECES[kind] if color else PIECES[kind].lower()
