"""How much would tell what cannot be told: the size at which four tries of five would, were the paper's gap ours too.

A gap g is told from chance where it is more than z standard deviations, and in four tries of five it comes out within
0.84 of them from g, so that the deviation may be g / (z + 0.84); it falls with the root of the number of games.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penumbra.reproduce.orders import chance, rank_correlation

ONE_SIDE = 1.645  # z of a likelihood of 95 %
TWO_SIDES = 1.960  # of an interval of 95 %
FOUR_OF_FIVE = 0.842
TRIES = 200
LARGEST = 1_000  # times as many games; beyond it nothing is planned
OTHER_WAY = "ours points the other way, so that no number can be planned"
ENOUGH = "the paper's gap would have shown in these games: ours is smaller, or none"


def needing(more: int | None, games: float, unit: str) -> tuple[int | None, str]:
    """(how much more, of what) for a claim; where there are as many games already, what that means."""
    return (None, ENOUGH) if more is not None and more <= rounded(games) else (more, unit)


def games_for_gap(games: float, deviation: float, gap: float, z: float = TWO_SIDES) -> int | None:
    """Games that tell such a gap, where `games` gave that standard deviation; None: none would."""
    if gap <= 0 or not math.isfinite(deviation):
        return None
    return rounded(games * (deviation * (z + FOUR_OF_FIVE) / gap) ** 2)


def points_for_correlation(found: float) -> int | None:
    """Points that tell a correlation of this size from none."""
    if not 0 < abs(found) < 1:
        return None
    return 3 + math.ceil(((TWO_SIDES + FOUR_OF_FIVE) / math.atanh(abs(found))) ** 2)


def games_for_order(games: float, deviations: Sequence[float], paper: Sequence[float]) -> int | None:
    """Games after which the order of players as far apart as the paper's comes out, by simulation; None: too many."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(TRIES, len(paper)))
    truth = np.asarray(paper)
    times = 1.0
    while times <= LARGEST:
        tries = truth + noise * np.asarray(deviations) / math.sqrt(times)
        told = np.mean([rank_correlation(truth, one) > chance(len(truth)) for one in tries])
        if told >= 0.8:
            return rounded(games * times)
        times *= 1.25
    return None


def rounded(number: float) -> int:
    """Two digits, upwards: more would pretend to be exact."""
    if number <= 10:
        return math.ceil(number)
    unit: int = 10 ** (math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
