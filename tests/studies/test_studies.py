"""Every study says what it takes, and its smallest run ends as it should."""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from importlib import import_module
from pathlib import Path

import chess
import numpy as np
import pytest

from penumbra.arena.score import GameResult, Score
from penumbra.core import GameRecord
from penumbra.interop.stockfish import find_stockfish
from penumbra.network import weights
from penumbra.network.model import from_weights
from penumbra.network.torch_evaluator import TorchEvaluator
from penumbra.players.opponents.attacker import SCRIPTS
from penumbra.training.centipawns import read_positions
from studies import attacks, chaos, chess_positions, clock, device, factorial, imitations, loaded_core, series, synopses
from tests.support import DATA, ROOT
from tests.support.processes import run_python
from tests.support.small_networks import some_weights
from tests.support.training_games import make_archive, write_recipe

STUDIES = sorted(path.stem for path in (ROOT / "studies").glob("[a-z]*.py"))
SERIES = """
games = 4
opening_plies = 3
[[arm]]
name = "Wild"
kind = "random"
[[opponent]]
name = "Hasty"
kind = "attacker"
"""


@pytest.fixture(autouse=True)
def threads_restored(restore_threads: None) -> None:
    """Some studies use one thread."""


def arguments(monkeypatch: pytest.MonkeyPatch, *given: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["study", *map(str, given)])


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_says_what_it_takes(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments(monkeypatch, "--help")
    with pytest.raises(SystemExit) as end:
        import_module(f"studies.{name}").main()
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: ") and f"python -m studies.{name}" in said


FACTORIAL = """
games = 1
opening_plies = 2
[[arm]]
name = "base"
kind = "attacker"
[[opponent]]
name = "Wild"
kind = "random"
[[factor]]
name = "castling"
[[factor]]
name = "promoting"
"""


def test_no_factor_is_confounded_with_a_product_of_two_others() -> None:
    signs = factorial.design(16)
    assert (signs.sum(axis=0) == 0).all()
    assert (signs.T @ signs == 32 * np.eye(16)).all()
    products = np.stack([signs[:, i] * signs[:, j] for i in range(16) for j in range(i)], axis=1)
    assert (signs.T @ products == 0).all()


def test_effects_are_found_beside_those_of_opponents() -> None:
    worth = {"A": 0.6, "B": 0.3}
    games = [
        {"a": "".join("+" if s > 0 else "-" for s in row), "b": b, "result": worth[b] + 0.1 * row[0] - 0.05 * row[2]}
        for row in factorial.design(3)
        for b in worth
    ]
    found, errors = factorial.effects(games, 3)
    assert np.allclose(found, (0.2, 0.0, -0.1)) and (errors < 1e-6).all()
    with pytest.raises(SystemExit, match="too few"):
        factorial.effects(games[:2], 3)


def test_the_arms_of_a_factorial_have_the_base_and_their_factors() -> None:
    base = series.Side("base", "penumbra", settings={"nodes": 9, "settings": {"c": 1.0}})
    factor = factorial.Factor("m", {"settings": {"m": 0.0}}, {"settings": {"m": 1.0}, "nodes": 8})
    arms = factorial.arms(base, (factor,))
    assert [arm.name for arm in arms] == ["+", "-"]
    assert arms[0].settings == {"nodes": 9, "settings": {"c": 1.0, "m": 0.0}}
    assert arms[1].settings == {"nodes": 8, "settings": {"c": 1.0, "m": 1.0}}


def test_a_factorial_is_played_and_reported(tmp_path: Path) -> None:
    plan, out = tmp_path / "factors.toml", tmp_path / "factors.jsonl"
    plan.write_text(FACTORIAL)
    command = ("-m", "studies.factorial", plan)
    run_python(*command, "--out", out, "--workers", "1", "--minutes", "1")
    said = run_python(*command, "--report", out)
    assert said.stdout.startswith("4 games") and "castling" in said.stdout and "promoting" in said.stdout


def test_a_series_begins_no_game_after_its_last_moment(tmp_path: Path) -> None:
    plan, out = tmp_path / "series.toml", tmp_path / "series.jsonl"
    plan.write_text(SERIES)
    said = run_python("-m", "studies.series", plan, "--out", out, "--workers", "1", "--minutes", "1", "--begin", "0")
    assert said.stdout == "0 games finished\n" and not out.read_text()


def test_attacks_counts_games_by_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments(monkeypatch, "--factor", "50", "--nodes", "8", "--seeds", "1")
    attacks.main()
    said = capsys.readouterr().out
    assert said.startswith("factor 50: ") and f" of {len(SCRIPTS)} won" in said


def test_chess_positions_are_frozen_with_scores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_stockfish() is None:
        pytest.skip("Stockfish is not installed")
    out = tmp_path / "positions.jsonl.gz"
    arguments(monkeypatch, DATA / "real_games.jsonl", "--out", out, "--positions", "3", "--depth", "1")
    chess_positions.main()
    assert f"{out}: 3 of " in capsys.readouterr().out
    found = read_positions(out)
    assert len({position.game for position in found}) == 3
    for position in found:
        board = chess.Board(position.states[0])
        legal = {move.uci() for move in board.legal_moves}
        assert set(position.scores) == (legal if board.is_check() else {*legal, "pass"})


def test_clock_keeps_its_games_and_names_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments(monkeypatch, "--games", "2", "--player", "random", "--opponents", "random", "--out", tmp_path)
    assert clock.main() == 0
    assert "random" in capsys.readouterr().out
    assert (tmp_path / "random" / "match.json").is_file()
    assert clock.shortcomings("x", Score([]), 2) == ["x: 2 games are not settled"]


def test_loaded_core_counts_what_is_lost_on_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And leaves this process the cores that it had."""
    before = os.sched_getaffinity(0)
    arguments(monkeypatch, "--games", "1", "--player", "random", "--clocks", "9+0")
    assert loaded_core.main() == 0
    assert capsys.readouterr().out.startswith("9+0: 1 games, 0 lost on time, least left ")
    assert os.sched_getaffinity(0) == before
    lost = GameResult(0, True, "b", "time", "", 4, 1.0, (-0.5, 2.0), b"", 0, used=(3.5, 1.0))
    said = "3+0: 1 games, 1 lost on time, least left -0.50 s, 4 plies and 4.5 s thought a game"
    assert loaded_core.line("3+0", Score([lost])) == said


def test_device_measures_kernels_and_evaluators() -> None:
    assert device.kernels(1, 0.01) > 0
    assert device.evaluations(TorchEvaluator(from_weights(some_weights()), "cpu"), 8, 0.01) > 0


def test_synopses_compares_sorts_by_the_same_examples(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive, out = make_archive(tmp_path / "games.db"), tmp_path / "synopses.json"
    size = ("--recipe", str(write_recipe(tmp_path)), "--headsets", "All", "Wild", "--batch", "16", "--device", "cpu")
    some = ("--seeds", "4", "5", "--steps", "2", "--multiplicity", "1", "--weights", tmp_path / "weights")
    arguments(monkeypatch, "--archive", archive, "--out", out, *size, *some)
    synopses.main()
    data = json.loads(out.read_text())
    assert [(run["synopsis"], run["seed"]) for run in data["runs"]] == [(s, i) for i in (4, 5) for s in synopses.SORTS]
    assert len({run["headsets"]["All"]["sizes"]["all"]["examples"] for run in data["runs"]}) == 1
    for run in data["runs"]:
        sizes = run["headsets"]["All"]["sizes"]
        assert sum(part["examples"] for name, part in sizes.items() if name != "all") == sizes["all"]["examples"] > 0
        file = tmp_path / "weights" / f"{run['synopsis']}-{run['seed']}.safetensors"
        assert weights.load(file).architecture.synopsis == run["synopsis"]
    pairs = {(row["of"], row["to"]) for row in data["differences"]}
    assert pairs == {("shares", "binary"), ("graded", "binary"), ("graded", "shares")}
    capsys.readouterr()
    arguments(monkeypatch, "--report", out)
    synopses.main()
    said = capsys.readouterr().out
    assert "All, states: all" in said and "graded     2 seeds" in said and "graded - binary" in said


def test_synopses_leaves_out_what_is_not_done_in_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = make_archive(tmp_path / "games.db")
    given = ("--archive", archive, "--out", tmp_path / "out", "--recipe", str(write_recipe(tmp_path)))
    few = ("--headsets", "All", "--batch", "8", "--multiplicity", "1", "--device", "cpu")
    arguments(monkeypatch, *given, *few, "--minutes", "0", "--steps", "100")
    synopses.main()
    assert "out of time: binary, seed 0" in capsys.readouterr().out and not (tmp_path / "out").exists()
    arguments(monkeypatch, *given, "--headsets", "Nobody")
    with pytest.raises(SystemExit, match="has no headset 'Nobody'; it has All, Top, Wild"):
        synopses.main()


def test_imitations_are_even_where_half_of_the_points_is_inside_the_interval() -> None:
    def score(*winners: str) -> Score:
        return Score([GameResult(i, True, w, "", "", 1, 1.0, (None, None), b"", 0) for i, w in enumerate(winners)])

    assert imitations.is_even(score("a", "b", "b", "a", "b"))
    assert not imitations.is_even(score(*"aaaaaaaa"))


def test_a_series_goes_on_where_it_was_stopped_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, out = tmp_path / "series.toml", tmp_path / "series.jsonl"
    plan.write_text(SERIES)
    command = ("-m", "studies.series", plan, "--out", out, "--workers", "1", "--minutes", "1")
    for finished in (4, 0):
        run = run_python(*command, cwd=ROOT)
        assert (run.returncode, run.stdout) == (0, f"{finished} games finished\n"), run.stderr
    games = series.read(out)
    assert [(game["a"], game["b"], game["game"]) for game in games] == [("Wild", "Hasty", i) for i in range(4)]
    openings = [GameRecord.from_bytes(base64.b64decode(game["record"])).moves[:3] for game in games]
    assert openings[0] == openings[1] != openings[2] == openings[3]
    series.report([*games, games[0]])
    assert "Wild - Hasty" in (printed := capsys.readouterr().out) and "4 different games" in printed


def test_chaos_ends_with_the_games_of_an_undisturbed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chaos, "POPULATION", chaos.POPULATION.replace("games = 120", "games = 6"))
    found = chaos.Chaos(tmp_path, random.Random(1))
    assert chaos.run(found, 0, "generation") == []
    assert found.tally["generation"] == 1
    monkeypatch.setattr(chaos, "kept", lambda path, before: {("run", 1): b"a game that goes"})
    monkeypatch.setattr(chaos, "contents", lambda path: {})
    assert "is not what an undisturbed run makes" in chaos.run(found, 0, "generation")[0]


def test_chaos_hears_of_stack_traces_and_of_runs_that_never_end(tmp_path: Path) -> None:
    command = chaos.Command(("players",), tmp_path / "log")
    command.process.wait()
    assert command.end() == 0
    command.log.write_text("Traceback (most recent call last):")
    with pytest.raises(chaos.Fault, match="has printed:\nTraceback"):
        command.end()
    hanging = chaos.Command(("archive", "stats", "/dev/stdin"), tmp_path / "log")
    with pytest.raises(chaos.Fault, match="has not ended within 0 seconds"):
        hanging.end(0.0)
