"""Memory that is warm and memory that leaks are told apart."""

import numpy as np
import pytest

from tests.server.figures import left_behind

GAMES = np.arange(0, 900, 2)  # begun by each second
EVENTS = (12_000 * (1 - np.exp(-GAMES / 200)) + np.random.default_rng(1).normal(0, 300, len(GAMES))).astype(int)
NOISE = np.random.default_rng(2).normal(0, 0.5, len(GAMES))  # megabytes


@pytest.mark.parametrize("leak", [0.0, 30.0])  # kilobytes a game
def test_what_grows_with_open_games_is_no_leak(leak: float) -> None:
    memory = 95 + 0.001 * EVENTS + leak * GAMES / 1_000 + NOISE
    assert left_behind(memory.tolist(), EVENTS.tolist(), GAMES.tolist()) == pytest.approx(leak, abs=5)
