"""The benchmarks of the kernels: full sets where they promise full sets, and the agreed rows."""

from __future__ import annotations

import numpy as np
import pytest

from penumbra import core
from penumbra.bench import examples, playouts, synopsis
from penumbra.training import sample_positions
from penumbra.training.sample_positions import ELL, full_rows, full_situations, records


def test_the_games_are_whole_and_follow_the_rules() -> None:
    assert len(records()) == 16
    for record in records():
        assert record.replay().record().moves == record.moves
        assert record.reason is not None


def test_situations_come_from_middle_games_with_both_sets_over_the_limit() -> None:
    situations = full_situations()
    for kind in (core.SENSE, core.MOVE):
        assert len([s for s in situations if s.kind == kind]) > 25
    for situation in situations:
        assert min(len(situation.actor), len(situation.other)) > ELL
        assert situation.truth in situation.actor and situation.truth in situation.other
        assert situation.actor.turn == situation.actor.owner != situation.other.owner
    assert {s.actor.owner for s in situations} == {True, False}


@pytest.mark.parametrize("kind", [core.SENSE, core.MOVE])
def test_rows_are_full_and_belong_together(kind: int) -> None:
    actor, other = full_rows(kind, 100)
    assert actor.counts.tolist() == other.counts.tolist() == [ELL] * 100
    assert actor.steps.tolist() == [kind] * 100
    assert len(np.unique(actor.keys())) == 100
    nodes = playouts._nodes(kind, 100)
    _, after_other, ended = core.advance(nodes.actor, nodes.other, nodes.actions, ELL, ELL)
    assert not np.any(ended)
    if kind == core.MOVE:
        assert np.median(after_other.counts) == ELL


def test_the_agreed_rows_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """On few rows and games, to be quick."""
    monkeypatch.setattr(synopsis, "BATCH", 40)
    monkeypatch.setattr(playouts, "BATCH", 40)
    monkeypatch.setattr(playouts, "SCALING_BATCH", 40)
    monkeypatch.setattr(examples, "records", lambda: sample_positions.records()[2:4])
    before = core.threads()
    rows = [*synopsis.run(0.01), *playouts.run(0.01), *examples.run(0.01)]
    assert core.threads() == before
    names = [row.name for row in rows]
    assert {"synopsis.rate", "synopsis.graded", "playouts.rate", "examples.rate", "playouts.threads.1"} <= set(names)
    assert len(set(names)) == len(names)
    assert all(row.value > 0 for row in rows)
    assert "cap 5,000" in rows[names.index("examples.rate")].note


def test_threads_are_doubled_up_to_all_cores() -> None:
    assert playouts._thread_counts(1) == [1]
    assert playouts._thread_counts(6) == [1, 2, 4, 6]
    assert playouts._thread_counts(16) == [1, 2, 4, 8, 16]
