"""Our own kernels in eight bits, in each build that this processor runs: the numbers of a slow version, near those of
32 bits, for any batch and threads."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from penumbra.dsmcp.domain import Legal
from penumbra.network import loading, weights
from penumbra.network.cache import CachedEvaluator
from penumbra.network.onnx_evaluator import OnnxEvaluator
from penumbra.network.onnx_graph import rounded_values
from penumbra.network.quantization import calibration, int8_evaluator
from penumbra.network.quantization.int8_evaluator import Int8Evaluator, builds
from penumbra.network.quantization.rounding import ranges_of
from penumbra.network.weights import FULL, LITE, Weights
from penumbra.rbc.synopsis import LAYOUTS, Synopsis, unpack
from penumbra.training.examples import ExampleSettings, make_examples
from penumbra.training.sample_positions import records, synopses
from tests.oracles import eight_bits as slow
from tests.support.small_networks import some_weights

pytestmark = pytest.mark.skipif(not builds(), reason="this processor has neither AVX2 nor AVX-512 VNNI")


@pytest.fixture(params=builds())
def build(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def positions_of(synopsis: Synopsis) -> tuple[np.ndarray, Legal]:
    examples = make_examples(records()[:12], ExampleSettings(cap=200, seed=9, settle=False, synopsis=synopsis))
    some = examples.take(np.arange(0, len(examples), 3)[:203])
    return some.synopses, Legal(some.legal, some.legal_offsets)


@pytest.fixture(scope="module")
def positions() -> tuple[np.ndarray, Legal]:
    return positions_of("binary")


def first_rows(positions: tuple[np.ndarray, Legal], n: int) -> tuple[np.ndarray, Legal]:
    features, legal = positions
    return features[:n], Legal(legal.actions[: legal.offsets[n]], legal.offsets[: n + 1])


def evaluator(given: Weights, build: str, threads: int = 1) -> Int8Evaluator:
    ranges = ranges_of(given)
    assert ranges is not None
    return Int8Evaluator(
        given, policy="Top", value="All", opponent="Trout", threads=threads, ranges=ranges, build=build
    )


@pytest.mark.parametrize(("width", "synopsis"), [(64, "binary"), (128, "binary"), (64, "shares"), (64, "graded")])
def test_the_numbers_of_the_slow_version(width: int, synopsis: Synopsis, build: str) -> None:
    assert width in int8_evaluator.WIDTHS
    given = calibration.with_ranges(some_weights(width, synopsis), synopses(32, synopsis))
    features, legal = first_rows(positions_of(synopsis), 12)
    assert (legal.actions < 64).any() and (legal.actions == 64 + 4096).any()
    ranges = dict(ranges_of(given) or {})
    for opponent, headset in ((False, "Top"), (True, "Trout")):
        priors, values = evaluator(given, build).evaluate(features, legal, opponent)
        planes = unpack(features) / LAYOUTS[synopsis].largest
        wanted, worth = slow.evaluate(given, ranges, headset, "All", planes, legal)
        # A sum that lies between two bytes may be rounded either way.
        np.testing.assert_allclose(priors, wanted, atol=2e-3)
        np.testing.assert_allclose(values, worth, atol=2e-3)
        assert np.abs(priors - wanted).mean() < 1e-4


@pytest.mark.parametrize("synopsis", get_args(Synopsis))
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_there_can_be(
    sign: int, synopsis: Synopsis, build: str, positions: tuple[np.ndarray, Legal]
) -> None:
    """All bytes 255 and all weights ±127: nothing overflows on the way, neither in 16 bits nor in 32.

    Bits are bytes of 1, but of 255 beside shares, which are 255 here as well. Then the first convolution has the
    largest sums of all: of one sign for half of its outputs, and of the other, which are 0, for the rest.
    """
    given = some_weights(128, synopsis)
    for name, tensor in given.tensors.items():
        if name.endswith(("first.weight", "second.weight")):
            tensor[:] = 0.01 * (sign if "second" in name else 1)
        elif name.endswith(("norm.weight", "running_var")):
            tensor[:] = 1
        elif name.endswith(("norm.bias", "running_mean")):
            tensor[:] = 0
    largest = LAYOUTS[synopsis].largest
    features = np.full((2, LAYOUTS[synopsis].words), 2**64 - 1, np.uint64)
    _, legal = first_rows(positions, 2)
    ranges = dict.fromkeys(rounded_values(given, "Top"), (0.0, 0.5))  # so small that every byte is 255
    ranges["headsets.Top.policy_block.sum.relu"] = (0.0, 0.01 * 9 * 128 * 0.5 * 1.1 + 0.5)  # but here none is
    if largest == 255:
        given.tensors["tower.0.first.weight"][::2] *= -1
        ranges["tower.0.first.relu"] = (0.0, 0.01 * 9 * len(LAYOUTS[synopsis].planes) * 1.1)
    made = Int8Evaluator(given, policy="Top", value="All", opponent="Top", threads=1, ranges=ranges, build=build)
    priors, values = made.evaluate(features, legal, False)
    wanted, worth = slow.evaluate(given, ranges, "Top", "All", unpack(features) / largest, legal)
    np.testing.assert_allclose(priors, wanted, atol=1e-5)
    np.testing.assert_allclose(values, worth, atol=1e-5)
    assert wanted.max() - wanted.min() > 1e-3


@pytest.mark.parametrize(("path", "most"), [(LITE, 0.02), (FULL, 0.025)])
def test_as_near_to_32_bits_as_onnxruntime_in_eight(
    path: Path, most: float, build: str, positions: tuple[np.ndarray, Legal]
) -> None:
    given = weights.load(path)
    features, legal = first_rows(positions, 120)
    heads = {"policy": "Penumbra", "value": "All", "opponent": "Trout", "threads": 1}
    exact = OnnxEvaluator(given, **heads)  # type: ignore[arg-type]
    other = OnnxEvaluator(given, **heads, ranges=ranges_of(given))  # type: ignore[arg-type]
    ours = Int8Evaluator(given, **heads, ranges=ranges_of(given), build=build)  # type: ignore[arg-type]
    p, v = exact.evaluate(features, legal, False)

    def divergence(q: np.ndarray) -> float:
        return float((p * (np.log(p + 1e-9) - np.log(q + 1e-9))).sum() / len(features))

    q, w = ours.evaluate(features, legal, False)
    assert 0 < divergence(q) < min(most, 1.2 * divergence(other.evaluate(features, legal, False)[0]))
    assert np.abs(v - w).mean() < 0.04


def test_neither_the_batch_nor_the_threads_matter(build: str, positions: tuple[np.ndarray, Legal]) -> None:
    features, legal = positions
    given = weights.load(LITE)
    whole = evaluator(given, build).evaluate(features, legal, False)
    again = evaluator(given, build, threads=3).evaluate(features, legal, False)
    for row in range(0, len(features), 17):
        first, end = legal.offsets[row], legal.offsets[row + 1]
        alone = Legal(legal.actions[first:end], np.array([0, end - first]))
        priors, values = evaluator(given, build).evaluate(features[row : row + 1], alone, False)
        np.testing.assert_array_equal(priors, whole[0][first:end])
        assert values[0] == whole[1][row]
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_bad_questions_are_refused(build: str, positions: tuple[np.ndarray, Legal]) -> None:
    features, legal = first_rows(positions, 3)
    made = evaluator(weights.load(LITE), build)
    for bad, message in (
        (Legal(legal.actions.copy(), legal.offsets[:-1]), "the offsets are not those"),
        (Legal(np.full_like(legal.actions, 4161), legal.offsets), "there is no action 4161"),
        (Legal(legal.actions, legal.offsets[[0, 2, 1, 3]]), "the offsets do not rise"),
    ):
        with pytest.raises(ValueError, match=message):
            made.evaluate(features, bad, False)
    with pytest.raises(ValueError, match="the network reads binary synopses and was given graded ones"):
        made.evaluate(*first_rows(positions_of("graded"), 3), False)
    with pytest.raises(ValueError, match="the network reads graded synopses and was given binary ones"):
        calibration.with_ranges(some_weights(64, "graded"), features)
    with pytest.raises(ValueError, match="features of 103 words a row for a network that reads 104"):
        made.network("Top").evaluate(np.ascontiguousarray(features[:, 1:]), legal.actions, legal.offsets)


def test_who_has_it() -> None:
    given = weights.load(LITE)
    made = loading._evaluator(given, "cpu", "Top", "Trout", 1)
    assert isinstance(made, CachedEvaluator) and isinstance(made.evaluator, Int8Evaluator)
    assert not int8_evaluator.is_possible(some_weights(width=12))
