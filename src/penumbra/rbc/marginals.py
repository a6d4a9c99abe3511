"""Where pieces stand in a set of states, as shares of its states by real square, for the page and for game files."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penumbra.core import StateSet
from penumbra.rbc.actions import SQUARE_NAMES, view

KINDS = "PNBRQK"
FAINT = 0.005  # shares below it are left out

Shares = dict[str, dict[str, float]]  # {"e4": {"N": 0.25}}


def opposing_pieces(states: StateSet) -> Shares:
    """The share of states in which each opposing kind of piece stands on each square."""
    return shares(states.marginals()[:, 7:] / len(states), states.owner)


def shares(p: NDArray[np.float64], viewer: bool) -> Shares:
    """A float64[64, 6] in the viewer's squares, by names of real squares."""
    squares: Shares = {}
    for square, kind in zip(*np.nonzero(p >= FAINT), strict=True):
        name = SQUARE_NAMES[view(int(square), viewer)]
        squares.setdefault(name, {})[KINDS[kind]] = round(float(p[square, kind]), 3)
    return squares
