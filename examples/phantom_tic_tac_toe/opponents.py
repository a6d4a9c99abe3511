"""Three fixed stochastic opponents: each draws its cell from a policy of what it has marked and what it has learnt."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np

from examples.phantom_tic_tac_toe.domain import CELLS, FULL, Side, cells, has_line
from examples.phantom_tic_tac_toe.evaluators import Policy
from penumbra.dsmcp.domain import Floats

NOISE = 0.25  # share of cells that the last two draw at random
CORNERS = (0, 2, 6, 8)
CENTRE = 4


@cache
def uniform(side: Side) -> Floats:
    """Any cell not known to be taken."""
    return spread(cells(FULL & ~side.tried))


@cache
def greedy(side: Side) -> Floats:
    """Ends a line if it can, else takes the centre, else a corner; with noise."""
    free = cells(FULL & ~side.tried)
    winning = tuple(cell for cell in free if has_line(side.marks | 1 << cell))
    corners = tuple(cell for cell in CORNERS if cell in free)
    favourites = winning or ((CENTRE,) if CENTRE in free else corners or free)
    return (1 - NOISE) * spread(favourites) + NOISE * spread(free)


@cache
def in_order(side: Side) -> Floats:
    """The first cell not yet tried, from left to right and from top to bottom; with noise."""
    free = cells(FULL & ~side.tried)
    return (1 - NOISE) * spread(free[:1]) + NOISE * spread(free)


def spread(favourites: tuple[int, ...]) -> Floats:
    probabilities = np.zeros(CELLS, np.float32)
    probabilities[list(favourites)] = 1 / len(favourites)
    return probabilities


OPPONENTS: Final[Mapping[str, Policy]] = {"uniform": uniform, "greedy": greedy, "in order": in_order}
