"""What the figures of this folder have in common: axes, bars with intervals, and heat maps with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from penumbra.review.pictures.board import INK

OURS, PAPERS = "#c2681f", "#2f6fa7"
Floats = NDArray[np.float64]


def new_figure(title: str, width: float = 9.0, height: float = 5.5, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with one row of axes."""
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    figure.suptitle(title, fontsize=13, color=INK)
    axes = [figure.add_subplot(1, columns, i + 1) for i in range(columns)]
    for ax in axes:
        ax.grid(alpha=0.3)
    return figure, axes


def dots(ax: Axes, names: Sequence[str], columns: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """A line for each name, the first on top; each column is (value, half width of its interval) by name."""
    for shift, (color, (label, values)) in enumerate(zip((OURS, PAPERS), columns.items(), strict=False)):
        at = np.arange(len(names)) + 0.18 * (2 * shift - 1)
        numbers, margins = np.array(values, np.float64).reshape(-1, 2).T
        ax.errorbar(numbers, at, xerr=margins, fmt="o", color=color, label=label, markersize=5, capsize=2)
    ax.set_yticks(range(len(names)), list(names), fontsize=9)
    ax.invert_yaxis()
    ax.legend(fontsize=9)


def heat(ax: Axes, values: Floats, rows: Sequence[str], columns: Sequence[str], title: str, digits: int = 1) -> None:
    """A matrix in colours, each number in its cell; NaN stays blank."""
    ax.grid(visible=False)
    ax.imshow(values, cmap="YlOrBr", aspect="auto")
    ax.set_xticks(range(len(columns)), list(columns), rotation=60, ha="right", fontsize=8)
    ax.set_yticks(range(len(rows)), list(rows), fontsize=8)
    low, high = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else (0.0, 1.0)
    for i, j in np.ndindex(*values.shape):
        if np.isfinite(values[i, j]):
            dark = values[i, j] > low + 0.7 * (high - low)
            ax.text(
                j,
                i,
                f"{values[i, j]:.{digits}f}",
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark else INK,
            )
    ax.set_title(title, fontsize=10)
