"""The example that trains a policy: it runs, it learns from the right sums, and at full length it beats Random."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from examples.train_a_policy import Policy, Settings, advantages, legal_of, share_won, train  # noqa: E402


def test_a_tiny_version_runs_from_start_to_end() -> None:
    settings = Settings(steps=3 * 8 * 16, games=8, rollout=16, batch=64, seed=3)
    policy, curve = train(settings)
    assert [steps for steps, _, _ in curve] == [128, 256, 384]
    torch.manual_seed(settings.seed)
    fresh = Policy(104)
    pairs = zip(policy.parameters(), fresh.parameters(), strict=True)
    assert all(bool((learned != before).any()) for learned, before in pairs)
    assert 0 <= share_won(policy, 4) <= 1


def test_advantages_are_the_discounted_sums_of_the_rises_of_a_game() -> None:
    settings = Settings(gamma=0.9, lam=0.5)
    rng = np.random.default_rng(1)
    rewards, values = rng.normal(size=(6, 2)), rng.normal(size=(7, 2))
    ends = np.array([[0, 0], [0, 1], [0, 0], [1, 0], [0, 0], [0, 0]])
    found = advantages(torch.tensor(rewards), torch.tensor(ends), torch.tensor(values), settings).numpy()
    for game in range(2):
        for t in range(6):
            expected, weight = 0.0, 1.0
            for later in range(t, 6):
                after = 0.0 if ends[later, game] else values[later + 1, game]
                expected += weight * (rewards[later, game] + 0.9 * after - values[later, game])
                if ends[later, game]:
                    break
                weight *= 0.9 * 0.5
            assert found[t, game] == pytest.approx(expected)


def test_illegal_actions_have_no_probability() -> None:
    mask = np.zeros((2, 4161), np.int8)
    mask[0, [3, 70, 4160]] = 1
    mask[1, 5] = 1
    legal = legal_of(mask)
    assert [row[row >= 0].tolist() for row in legal] == [[3, 70, 4160], [5]]
    log_policy, value = Policy(104)(torch.ones((2, 104, 8, 8), dtype=torch.uint8), legal)
    assert (log_policy.exp()[legal < 0] == 0).all()
    assert log_policy.exp().sum(1).tolist() == pytest.approx([1, 1])
    assert value.shape == (2,)


@pytest.mark.evidence
def test_the_policy_beats_random_clearly() -> None:
    policy, _ = train(Settings())
    assert share_won(policy, 400) > 0.85
