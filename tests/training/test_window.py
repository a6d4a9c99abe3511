"""Examples that stream: memory is bounded, every game is visited, and all of them are drawn alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from penumbra.training.data import Table, top_players
from penumbra.training.examples import split
from penumbra.training.recipe import Recipe
from penumbra.training.trainer import Trainer
from penumbra.training.window import REUSE, Window, bytes_of_rows, table_for
from tests.support.training_games import records

ROWS = 400
TRAINING, _ = split(records())


def window_of(recipe: Recipe, rows: int = ROWS) -> Window:
    settings = replace(recipe.examples, window=rows)
    window = table_for(replace(recipe, examples=settings), TRAINING, top_players(records()), "cpu")
    assert isinstance(window, Window)
    window.fill()
    return window


def draw(window: Window, headset: str, batches: int, size: int = 64) -> Iterator[list[int]]:
    """The games of the rows that are drawn, batch by batch."""
    generator, again = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    for _ in range(batches):
        rows = window.rows[headset][torch.randint(window.counts[headset], (size,), generator=again)].long()
        games = window.columns["game"][rows].tolist()
        window.draw(headset, size, generator)
        yield games


def test_memory_is_bounded_and_every_game_is_visited(recipe: Recipe) -> None:
    whole = Table(TRAINING, recipe.plans, top_players(records()), replace(recipe.examples, multiplicity=1), "cpu")
    whole.fill()
    assert whole.counts["All"] > 3 * ROWS  # of one pass
    most = bytes_of_rows(ROWS, recipe.examples) + 4 * ROWS * len(recipe.plans)
    window = window_of(recipe)
    visits: Counter[int] = Counter()
    for games in draw(window, "All", 8 * REUSE * whole.counts["All"] // 64):
        visits.update(games)
        held = sum(tensor.nbytes for tensor in (*window.columns.values(), *window.rows.values()))
        assert held <= most and window.counts["All"] <= ROWS
    assert set(visits) == set(range(len(TRAINING)))
    assert window.tally.games >= 7 * len(TRAINING)
    # A game is drawn as often as it has rows: none is favoured for being early, late, or long.
    rows = Counter(whole.records[game].hash for game in whole.columns["game"][: whole.counts["All"]].tolist())
    shares = np.array([visits[game] / rows[window.records[game].hash] for game in range(len(TRAINING))])
    assert shares.max() < 2 * shares.min()


def test_rows_are_those_of_their_games(recipe: Recipe) -> None:
    """However often rows were exchanged: who wins stands in the record, and headsets have their players' rows."""
    window = window_of(recipe)
    for headset in ("All", "Wild"):
        for _ in draw(window, headset, 40):
            pass
    for headset, rows in window.rows.items():
        assert len(rows) == len(set(rows.tolist())) == window.counts[headset]
        for row in rows.tolist():
            record = window.records[int(window.columns["game"][row])]
            won = {None: 0, True: 1, False: -1}[record.winner]
            assert int(window.columns["outcome"][row]) in (won, -won)
            assert headset != "Wild" or "Wild" in (record.white_name, record.black_name)
    assert 0 < len(window.rows["Wild"]) < len(window.rows["All"])


def test_every_pass_draws_states_anew(recipe: Recipe) -> None:
    window = window_of(recipe, rows=100_000)  # all games at once
    assert window.tally.games == len(TRAINING)
    while window.tally.games < 2 * len(TRAINING):
        window.draw("All", 4_096, None)
    columns = window.columns
    rows = window.rows["All"].long()
    many = rows[columns["states"][rows] > 1_000 // 8]  # of which ℓ are drawn
    sets = {tuple(planes) for planes in columns["planes"][many].tolist()}
    assert len(many) > 100 and len(sets) > 0.7 * len(many)  # two draws of each step, and few are the same


def test_training_on_a_window(recipe: Recipe) -> None:
    trainer = Trainer(replace(recipe, training=replace(recipe.training, steps=20)), "cpu")
    window = window_of(recipe)
    trainer.train(window, lambda entry: None)
    trainer.recalibrate(window, batches=3)
    assert trainer.step == 20


def test_a_window_too_small_is_refused(recipe: Recipe) -> None:
    with pytest.raises(ValueError, match="window = 10: one of the games alone may have"):
        window_of(recipe, rows=10)
