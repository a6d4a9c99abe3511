"""How alike two orders are, and whether chance would make them so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ranks(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """0 for the smallest; equals share the mean of their ranks."""
    numbers = np.asarray(values, np.float64)
    _, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: NDArray[np.float64] = (last - (counts + 1) / 2)[which]
    return mean


def correlation(a: Sequence[float] | NDArray[np.float64], b: Sequence[float] | NDArray[np.float64]) -> float:
    """Pearson's; NaN for fewer than three points, or where one side never changes."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if len(x) < 3 or x.std() == 0 or y.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def chance(count: int) -> float:
    """The size below which 95 % of the correlations of unrelated numbers stay (Fisher's transformation)."""
    return float(np.tanh(1.96 / np.sqrt(count - 3))) if count > 3 else 1.0


def verdict(found: float, count: int, *, positive: bool) -> bool | None:
    """Whether a correlation over so many points has that sign; None if chance would give as much."""
    if np.isnan(found) or abs(found) <= chance(count):
        return None
    return (found > 0) == positive


def rank_correlation(a: Sequence[float] | NDArray[np.float64], b: Sequence[float] | NDArray[np.float64]) -> float:
    """Spearman's."""
    return correlation(ranks(a), ranks(b))
