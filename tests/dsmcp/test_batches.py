"""How many playouts go side by side."""

from __future__ import annotations

import numpy as np
import pytest
from examples.phantom_tic_tac_toe import domain as phantom
from examples.phantom_tic_tac_toe.domain import PhantomTicTacToe
from examples.phantom_tic_tac_toe.evaluators import UniformEvaluator

from penumbra.core import set_threads
from penumbra.dsmcp import Agent, Settings
from penumbra.dsmcp.domain import rows_at_once
from penumbra.dsmcp.settings import LEAST_B, ROUNDS
from penumbra.network import SERVED_ROWS
from penumbra.network.cache import CachedEvaluator
from penumbra.network.inference_server import RemoteEvaluator
from penumbra.players.penumbra.opponent_model import OpponentModel


@pytest.mark.parametrize("in_flight", [1, 2])
@pytest.mark.parametrize("evaluations", [100, 5_000, 25_000, 1_000_000])
def test_a_search_is_many_batches_of_as_many_playouts_as_that_allows(evaluations: int, in_flight: int) -> None:
    settings = Settings(in_flight=in_flight)
    b = settings.fitting_b(evaluations)
    assert settings.b % b == 0
    assert b == LEAST_B or b * 12 * in_flight * ROUNDS <= evaluations
    assert b == settings.b or 2 * b * 12 * in_flight * ROUNDS > evaluations


def test_no_fewer_rows_are_asked_for_than_are_answered_at_once(restore_threads: None) -> None:
    """Each question to a GPU takes its time: a small b would make the search slow, which would make b smaller yet."""

    class Gpu(UniformEvaluator):
        rows_at_once = 64

    settings = Settings(adapt=True, table_entries=1 << 12, seed=1)
    agent = Agent(PhantomTicTacToe(), Gpu(), settings, *phantom.start(0))
    agent.speed = 300.0
    assert agent.adapted(0.1).b == 64
    assert Settings(b=16).fitting_b(100, 64) == 16  # b never grows


def test_wrapped_evaluators_tell_how_many_rows_are_answered_at_once() -> None:
    inner = UniformEvaluator()
    assert rows_at_once(inner) == 1 and rows_at_once(RemoteEvaluator("nowhere", "Top", "All")) == SERVED_ROWS
    inner.rows_at_once = 9  # type: ignore[attr-defined]
    model = OpponentModel({"All": inner, "Top": inner}, np.random.default_rng(0))
    assert {rows_at_once(evaluator) for evaluator in (CachedEvaluator(inner), model, model.replies)} == {9}


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
