"""How many playouts go side by side."""

from __future__ import annotations

import pytest
from examples.phantom_tic_tac_toe import domain as phantom
from examples.phantom_tic_tac_toe.domain import PhantomTicTacToe
from examples.phantom_tic_tac_toe.evaluators import UniformEvaluator

from penumbra.core import set_threads
from penumbra.dsmcp import Agent, Settings
from penumbra.dsmcp.settings import LEAST_B, ROUNDS


@pytest.mark.parametrize("in_flight", [1, 2])
@pytest.mark.parametrize("evaluations", [100, 5_000, 25_000, 1_000_000])
def test_a_search_is_many_batches_of_as_many_playouts_as_that_allows(evaluations: int, in_flight: int) -> None:
    settings = Settings(in_flight=in_flight)
    b = settings.fitting_b(evaluations)
    assert settings.b % b == 0
    assert b == LEAST_B or b * 12 * in_flight * ROUNDS <= evaluations
    assert b == settings.b or 2 * b * 12 * in_flight * ROUNDS > evaluations


def test_b_follows_the_speed_measured_and_only_where_it_may_be_adapted(restore_threads: None) -> None:
    set_threads(1)  # where nothing runs side by side
    settings = Settings(adapt=True, table_entries=1 << 12, seed=1)
    agent = Agent(PhantomTicTacToe(), UniformEvaluator(), settings, *phantom.start(0))
    agent.speed = 20_000.0
    assert agent.adapted(1.0) == settings.replace(b=64, in_flight=1)
    assert agent.adapted(0.1) == settings.replace(b=8, in_flight=1)
    assert agent.adapted(None) is settings
    agent.settings = settings.replace(adapt=False)
    assert agent.adapted(0.1) is agent.settings
