"""`draw_actions`: the same as numpy's way through the sums of the priors, fair, and strict about input."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from penumbra import core

Ints = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]


def policies(rng: np.random.Generator, rows: int) -> tuple[Ints, Rows, npt.NDArray[np.float32]]:
    """Ragged actions, none twice, with priors that sum to one for each row; many of them are 0."""
    sizes = rng.integers(1, 60, size=rows)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    priors = rng.random(offsets[-1]) * (rng.random(offsets[-1]) < 0.6)
    priors[offsets[:-1]] += 1e-3
    priors /= np.repeat(np.add.reduceat(priors, offsets[:-1]), sizes)
    return rng.permutation(offsets[-1]).astype(np.int32), offsets, priors.astype(np.float32)


def plainly(actions: Ints, offsets: Rows, priors: npt.NDArray[np.float32], row: int, uniform: float) -> int:
    first, end = offsets[row], offsets[row + 1]
    sums = np.cumsum(priors[first:end], dtype=np.float64)
    return int(actions[first + np.searchsorted(sums, uniform * sums[-1], side="right")])


@pytest.mark.parametrize("seed", range(5))
def test_actions_are_drawn_by_the_sums_of_the_priors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    legal = policies(rng, 40)
    rows, uniforms = rng.integers(40, size=2000), rng.random(2000)
    uniforms[:40] = 0
    drawn = core.draw_actions(*legal, rows, uniforms)
    assert drawn.tolist() == [plainly(*legal, row, u) for row, u in zip(rows.tolist(), uniforms.tolist(), strict=True)]


def test_actions_come_as_often_as_their_priors_say() -> None:
    actions, offsets = np.array([7, 8, 9, 3], np.int32), np.array([0, 3, 4])
    priors = np.array([0.2, 0, 0.8, 1], np.float32)
    uniforms = (np.arange(1000) + 0.5) / 1000
    drawn = core.draw_actions(actions, offsets, priors, np.zeros(1000, np.int64), uniforms)
    assert [int((drawn == action).sum()) for action in (7, 8, 9)] == [200, 0, 800]
    assert core.draw_actions(actions, offsets, priors, np.array([1]), np.array([0.999])).tolist() == [3]


def test_bad_input_is_named() -> None:
    actions, offsets, priors = np.array([7, 8], np.int32), np.array([0, 1, 2]), np.ones(2, np.float32)
    half = np.array([0.5])
    for row in (-1, 2):
        with pytest.raises(IndexError, match=f"row {row} is not among 2"):
            core.draw_actions(actions, offsets, priors, np.array([row]), half)
    with pytest.raises(ValueError, match="columns differ in length: 2 and 1"):
        core.draw_actions(actions, offsets, priors[:1], np.array([0]), half)
    with pytest.raises(ValueError, match="columns differ in length: 2 and 1"):
        core.draw_actions(actions, offsets, priors, np.array([0, 1]), half)
    with pytest.raises(ValueError, match="the offsets do not run from 0 to the number of actions"):
        core.draw_actions(actions, offsets[:2], priors, np.array([0]), half)
    with pytest.raises(ValueError, match="row 1 has no actions"):
        core.draw_actions(actions, np.array([0, 2, 2]), priors, np.array([0]), half)
