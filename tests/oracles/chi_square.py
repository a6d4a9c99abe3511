"""Tests of uniformity that need no tables. Draws come from fixed seeds, so a test passes always or never."""

import math
from collections.abc import Sequence


def upper_limit(degrees: int, z: float = 4.0) -> float:
    """What a chi-square variable exceeds as rarely as a normal one exceeds `z` (Wilson, Hilferty); 4: 1 in 30,000."""
    spread = 2 / (9 * degrees)
    return float(degrees * (1 - spread + z * math.sqrt(spread)) ** 3)


def subset_statistic(counts: Sequence[int], draws: int, size: int) -> float:
    """How far from uniform `draws` random subsets of `size` are, given how often each element was in one.

    Chi-square with len(counts) - 1 degrees of freedom: inclusions in a subset drawn without replacement have variance
    p (1 - p) and are correlated so as to lose one degree.
    """
    elements = len(counts)
    share = size / elements
    variance = draws * share * (1 - share) * elements / (elements - 1)
    return sum((count - draws * share) ** 2 for count in counts) / variance
