"""`penumbra bench`: the rows it prints."""

from __future__ import annotations

import json

import pytest

from penumbra.bench import analysis, env, states
from penumbra.bench.report import Row, to_json
from tests.support.processes import run_penumbra as run


def test_bench_rules_prints_the_agreed_rows() -> None:
    rows = json.loads(run("bench", "rules", "--json", "--time", "0.05").stdout)
    assert [list(row) for row in rows] == [["name", "value", "unit", "peer", "peer_value", "ratio", "note"]] * 2
    assert [(row["name"], row["unit"], row["peer"]) for row in rows] == [
        ("rules.game", "plies/s", None),
        ("rules.localgame", "plies/s", "reconchess"),
    ]
    assert rows[1]["ratio"] == pytest.approx(rows[1]["value"] / rows[1]["peer_value"])


def test_bench_states_measures_the_agreed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """On small sets, to be quick: what such a set adds to the process is chance, so its own size is taken."""
    monkeypatch.setattr(states, "_resident", lambda field: 0)
    monkeypatch.setattr(states, "LARGE", 1_000)
    monkeypatch.setattr(states, "SCALES", (10, 100, 10**9))
    monkeypatch.setattr(states, "MEMORY_STATES", 40_000)
    rows = states.run(0.05)
    assert [row.name for row in rows] == [
        "states.expand",
        "states.expand.tight",
        "states.scaling.10",
        "states.scaling.100",
        "states.memory",
    ]
    assert rows[0].peer == "python-chess"
    assert rows[-1].value <= 40  # bytes per state


def test_bench_analysis_measures_queries_beside_the_bare_search() -> None:
    (row,) = analysis.run(0.2)
    assert (row.name, row.peer) == ("analysis.search", "bench search")
    assert row.value > 0 and row.peer_value is not None and row.peer_value > 0


def test_rows_become_json() -> None:
    assert json.loads(to_json([Row("a", 2.0, "b", "c", 4.0, "d")])) == [
        {"name": "a", "value": 2.0, "unit": "b", "peer": "c", "peer_value": 4.0, "ratio": 0.5, "note": "d"}
    ]


def test_bench_env_measures_every_observation_beside_reconchess() -> None:
    rows = env.run(0.05, warm_up=2)
    assert [row.name for row in rows][:4] == ["env.binary", "env.graded", "env.knowledge", "env.aec"]
    assert all(row.peer == "reconchess" and row.unit == "steps/s" for row in rows[:4])
    assert rows[2].value > rows[0].value > 0
    assert all(row.peer == "OpenSpiel" and row.value == rows[2].value for row in rows[4:])
