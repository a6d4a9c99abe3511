"""The evaluator that remembers: the same answers, and nothing asked twice."""

from __future__ import annotations

import numpy as np
import pytest

from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network import cache
from penumbra.network.cache import CachedEvaluator
from penumbra.network.loading import policy_evaluator


class Counting:
    """Priors and values that depend on everything there is to depend on; knows what it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        self.asked.append(len(features))
        rows = np.repeat(np.arange(len(features)), np.diff(legal.offsets))
        priors = features[rows, 0].astype(np.float32) + legal.actions + 1000 * opponent
        return priors.astype(np.float32), (features.sum(axis=1) + opponent).astype(np.float32)


def questions(rng: np.random.Generator, states: int) -> tuple[Features, Legal]:
    """Rows drawn from a few states, each of two possible numbers of actions."""
    which = rng.integers(states, size=12)
    counts = 1 + which % 3 + rng.integers(2, size=12)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    actions = np.concatenate([np.arange(count) + 7 * int(state) for count, state in zip(counts, which, strict=True)])
    return np.stack([which, which**2], axis=1).astype(np.uint64), Legal(actions.astype(np.int32), offsets)


def test_the_same_answers_and_nothing_twice() -> None:
    plain, counting = Counting(), Counting()
    memory = CachedEvaluator(counting)
    rng = np.random.default_rng(0)
    for turn in range(60):
        features, legal = questions(rng, 10)
        for got, wanted in zip(
            memory.evaluate(features, legal, turn % 2 == 1),
            plain.evaluate(features, legal, turn % 2 == 1),
            strict=True,
        ):
            assert got.dtype == np.float32
            np.testing.assert_array_equal(got, wanted)
    assert sum(counting.asked) == 10 * 2 * 2  # states, numbers of actions, players
    assert 0 not in counting.asked


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST", 20)
    counting = Counting()
    memory = CachedEvaluator(counting)
    rng = np.random.default_rng(1)
    for _ in range(200):
        features, legal = questions(rng, 500)
        memory.evaluate(features, legal, False)
        assert len(memory.known[False]) <= 20 + 12


def test_networks_on_a_cpu_remember() -> None:
    assert isinstance(policy_evaluator("lite", "cpu", "Top"), CachedEvaluator)
