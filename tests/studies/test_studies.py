"""Every study says what it takes, and its smallest run ends as it should."""

from __future__ import annotations

import base64
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import chess
import numpy as np
import pytest
import torch

from penumbra.arena.score import GameResult, Score
from penumbra.core import GameRecord
from penumbra.interop.stockfish import find_stockfish
from penumbra.network import weights
from penumbra.network.model import from_weights
from penumbra.network.torch_evaluator import TorchEvaluator
from penumbra.players.opponents.attacker import SCRIPTS
from penumbra.training.centipawns import read_positions
from penumbra.training.recipe import read_recipe
from studies import (
    _disturbed,
    _guests,
    attacks,
    chaos,
    chess_positions,
    clock,
    device,
    engine_weights,
    factorial,
    faults,
    imitations,
    loaded_core,
    nodes,
    series,
    synopses,
    values,
)
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


def test_no_fault_of_the_old_release_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quickest of them; and one that is there is called so."""
    arguments(monkeypatch, ROOT, "local-game", "bad-arguments", "requests")
    with pytest.raises(SystemExit) as end:
        faults.main()
    lines = capsys.readouterr().out.splitlines()
    assert end.value.code == 0 and len(lines) == 3 and all(": gone: " in line for line in lines), lines
    monkeypatch.setitem(faults.FAULTS, "local-game", (11, lambda _: (True, "seen")))
    arguments(monkeypatch, ROOT, "local-game")
    with pytest.raises(SystemExit) as end:
        faults.main()
    assert (end.value.code, capsys.readouterr().out) == (1, "11 local-game: FAULT: seen\n")


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


NODES = """
opening_plies = 2
games = 2
[[arm]]
name = "Penumbra"
kind = "penumbra"
settings = { evaluator = "heuristic", cap = 2000, settings = { table_entries = 4096 } }
[[opponent]]
name = "Wild"
kind = "random"
"""


def test_strength_by_nodes_is_played_reported_and_drawn(tmp_path: Path) -> None:
    plan, out, picture = tmp_path / "nodes.toml", tmp_path / "nodes.jsonl", tmp_path / "nodes.png"
    plan.write_text(NODES)
    command = ("-m", "studies.nodes", plan)
    run_python(*command, "--nodes", "16", "0", "--out", out, "--workers", "1", "--minutes", "1")
    played = series.read(out)
    assert [game["a"] for game in played] == ["0", "16"] * 2
    assert {decision[1] for decision in played[0]["decisions"][0]} <= {"policy", "only action", "sure win"}
    said = run_python(*command, "--report", out, "--picture", picture).stdout.splitlines()
    assert [line.split()[:2] for line in said] == [["0", "nodes"], ["16", "nodes"]] and "+0 ± 0 Elo" in said[0]
    assert picture.stat().st_size > 10_000
    refused = run_python(*command, "--nodes", "-1", "--out", out)
    assert refused.returncode == 1 and "no number of nodes below 0" in refused.stderr


def test_elo_by_nodes_follows_who_won() -> None:
    games = [
        {"a": a, "b": "Wild", "game": game, "result": float(game % 4 < wins)}
        for a, wins in (("0", 1), ("100", 3))
        for game in range(40)
    ]
    rated = nodes.ratings(games)
    assert rated.of("0").elo == 0 and rated.of("100").elo > 250


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
        castling = {move.uci() for move in chess_positions.forbidden_castlings(board)}
        assert set(position.scores) == legal | castling | (set() if board.is_check() else {"pass"})


def test_chess_positions_have_castling_that_chess_alone_forbids() -> None:
    board = chess.Board("4r3/8/8/8/8/8/8/R3K2R w KQ - 0 1")  # in check; neither way does the king end attacked
    assert {move.uci() for move in chess_positions.forbidden_castlings(board)} == {"e1g1", "e1c1"}
    board = chess.Board("5rr1/8/8/8/8/8/8/RN2K2R w KQ - 0 1")  # through check to an attacked square; past a knight
    assert chess_positions.forbidden_castlings(board) == []
    assert chess_positions.forbidden_castlings(chess.Board("5r2/8/8/8/8/8/8/4K2R w K - 0 1")) == [
        chess.Move.from_uci("e1g1")
    ]
    assert chess_positions.forbidden_castlings(chess.Board("8/8/8/8/8/8/8/4K2R w K - 0 1")) == []  # chess allows it


def test_weights_of_the_engine_are_fitted_to_scores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_stockfish() is None:
        pytest.skip("Stockfish is not installed")
    scores, header = tmp_path / "scores.jsonl", tmp_path / "weights.h"
    for most in (20, 40):  # the second goes on
        arguments(monkeypatch, "score", DATA / "real_games.jsonl", "--out", scores, "--positions", str(most))
        engine_weights.main()
        assert len(scores.read_text().splitlines()) == most
    arguments(monkeypatch, "fit", scores, "--out", header, "--steps", "3")
    engine_weights.main()
    assert "fitted: 0." in capsys.readouterr().out
    moved = engine_weights.read_header(header)[0, engine_weights.LAYOUT["kTempo"]]
    assert moved != engine_weights.plain_weights()[0, engine_weights.LAYOUT["kTempo"]]


def test_clock_keeps_its_games_and_names_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments(monkeypatch, "--games", "2", "--player", "random", "--opponents", "random", "--out", tmp_path)
    assert clock.main() == 0
    assert "random" in capsys.readouterr().out
    assert (tmp_path / "random" / "match.json").is_file()
    assert clock.shortcomings("x", Score([]), 2) == ["x: 2 games are not settled"]


def test_loaded_core_goes_on_where_it_was_stopped_and_reports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And leaves this process the cores that it had."""
    before, out = os.sched_getaffinity(0), tmp_path / "loaded.jsonl"
    given = ("--out", out, "--player", "random", "--opponents", "random", "attacker", "--clocks", "9+0", "8+0.1")
    for games in ("3", "4"):
        arguments(monkeypatch, *given, "--games", games)
        assert loaded_core.main() == 0
        with out.open("a") as file:
            file.write('{"clock": "9+')  # as a kill leaves it
    assert os.sched_getaffinity(0) == before
    said = capsys.readouterr().out
    assert said.count("9+0: 3 games, 0 lost on time, 0 by the opponent; least left ") == 1
    assert said.count("8+0.1: 4 games, ") == 1 and said.count("  attacker: 2 games, ") == 2
    played = [(game["clock"], game["opponent"], game["game"]) for game in loaded_core.read(out)]
    assert len(played) == len(set(played)) == 8
    arguments(monkeypatch, *given, "--games", "5", "--busy", "2")
    with pytest.raises(SystemExit, match="under other conditions"):
        loaded_core.main()
    arguments(monkeypatch, *given, "--games", "5", "--minutes", "0")
    assert loaded_core.main() == 0 and "9+0: 4 games, " in capsys.readouterr().out


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL])
def test_loaded_core_leaves_nobody_behind(tmp_path: Path, ended_by: signal.Signals) -> None:
    """However it is ended, its busy processes and its worker go too."""
    given = ("--out", tmp_path / "loaded.jsonl", "--player", "random", "--opponents", "random", "--busy", "2")
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-m", "studies.loaded_core", *map(str, given)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
    end = time.monotonic() + 120
    while len(_disturbed.descendants(process.pid)) < 3:  # two are busy, one plays
        assert process.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
        time.sleep(0.05)
    process.send_signal(ended_by)
    assert process.wait(60) == (130 if ended_by is signal.SIGTERM else -signal.SIGKILL)
    while _disturbed.of_session(process.pid):
        assert time.monotonic() < end, "somebody stays behind"
        time.sleep(0.05)


def test_loaded_core_counts_who_lost_on_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(number: int, winner: str) -> str:
        result = GameResult(number, True, winner, "time", "", 4, 1.0, (-0.5, 2.0), b"", 0, used=(3.5, 1.0))
        return json.dumps(loaded_core.as_line(("3+0", "hunter", number), result)) + "\n"

    files = [tmp_path / "a", tmp_path / "b"]
    files[0].write_text(lost(0, "b"))
    files[1].write_text(lost(1, "a"))
    arguments(monkeypatch, "--report", *files)
    assert loaded_core.main() == 1
    said = "2 games, 1 lost on time, 1 by the opponent; least left -0.50 s, 4 plies and 4.5 s thought a game\n"
    assert capsys.readouterr().out == f"3+0: {said}  hunter: {said}"
    arguments(monkeypatch, "--report", files[1])
    assert loaded_core.main() == 0


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


def test_values_compares_targets_and_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive, recipe, out = make_archive(tmp_path / "games.db"), write_recipe(tmp_path), tmp_path / "values.json"
    few = ("--seeds", "4", "--steps", "3", "--arms", "result", "mixed-0.6", "--multiplicity", "1", "--device", "cpu")
    tiny = ("--headsets", "All", "--batch", "16", "--engine-states", "4", "--positions", "3", "--synopsis", "graded")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for minutes in ("0", "9"):
        given = ("--archive", archive, "--out", out, "--recipe", recipe, "--minutes", minutes)
        arguments(monkeypatch, *given, *few, *tiny)
        values.main()
        if minutes == "0":
            assert json.loads(out.read_text())["runs"] == []
            assert "out of time: 2 networks are not done" in capsys.readouterr().out
    data, said = json.loads(out.read_text()), capsys.readouterr().out
    assert [run["arm"] for run in data["runs"]] == ["result", "mixed-0.6"]
    assert (
        "the engine alone (set): winner" in said and "value_loss above result" in said and "pawns: said (won)" in said
    )
    for one in data["runs"]:
        figures = one["headsets"]["All"]
        assert 0 <= figures["value_centipawns"] <= 1000 and 0 <= figures["calibration_error"] <= 1
        assert figures["examples"] == data["about"]["kept"]["kept"]
    assert data["runs"][0]["headsets"] != data["runs"][1]["headsets"]
    by_class = [row[0] for row in data["material"]["All"]["result"] if row]
    assert sum(by_class) == data["about"]["kept"]["kept"]
    arguments(monkeypatch, "--report", out)
    values.main()
    assert capsys.readouterr().out in said


def test_values_goes_on_from_a_checkpoint_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = read_recipe(write_recipe(tmp_path))
    recipe = replace(recipe, examples=replace(recipe.examples, engine_states=4))
    values.make_tables(recipe, [make_archive(tmp_path / "games.db")], tmp_path)
    work = values.Work(recipe, tmp_path, "cpu", time.monotonic() + 600, 0, None, 1)
    straight = values.Worker(work).train("mixed-0.3", 1, 100).network.state_dict()
    late = itertools.chain([0.0], itertools.count(1e9))
    monkeypatch.setattr(time, "monotonic", late.__next__)  # too late at the first look
    with pytest.raises(synopses.OutOfTime):
        values.Worker(work).train("mixed-0.3", 1, 100)
    monkeypatch.undo()
    assert (tmp_path / "mixed-0.3-1.pt").exists()
    parted = values.Worker(work).train("mixed-0.3", 1, 100).network.state_dict()
    assert all(torch.equal(tensor, parted[name]) for name, tensor in straight.items())


def test_values_are_compared_by_what_the_pieces_are_worth() -> None:
    pieces = torch.tensor([[8, 2, 2, 2, 1, 1, 8, 2, 2, 2, 0, 1], [0, 0, 0, 1, 0, 1, 3, 1, 1, 0, 1, 1]])
    assert values.material(pieces).tolist() == [9, 5 - (3 + 3 + 3 + 9)]


def test_values_refuses_to_go_on_with_another_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, out = make_archive(tmp_path / "games.db", games=12), tmp_path / "values.json"
    out.write_text(json.dumps({"about": {"given": {"n_width": 5}}, "runs": []}))
    arguments(
        monkeypatch, "--archive", archive, "--out", out, "--recipe", str(write_recipe(tmp_path)), "--headsets", "All"
    )
    with pytest.raises(SystemExit, match="has networks of another n_width; choose another file"):
        values.main()


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
    found = _disturbed.Chaos(tmp_path, random.Random(1))
    assert chaos.run(found, 0, "generation") == []
    assert found.tally["generation"] == 1
    monkeypatch.setattr(chaos, "kept", lambda path, before: {("run", 1): b"a game that goes"})
    monkeypatch.setattr(chaos, "contents", lambda path: {})
    assert "is not what an undisturbed run makes" in chaos.run(found, 0, "generation")[0]


def test_chaos_leaves_guests_of_a_server_their_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chaos, "PAUSE", 0.4)
    monkeypatch.setattr(_disturbed, "LONGEST_STOP", 0.5)
    found = _disturbed.Chaos(tmp_path, random.Random(1))
    assert chaos.run(found, 0, "server") == []
    assert found.tally["turns of guests"] > 0


@pytest.mark.evidence
def test_chaos_leaves_improvement_its_rounds(tmp_path: Path) -> None:
    found = _disturbed.Chaos(tmp_path, random.Random(1))
    assert chaos.run(found, 0, "improvement") == []
    assert found.tally["improvement"] == 1


def test_chaos_sees_what_improvement_has_lost(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"updates": 3}\n{"upda')
    chaos.save_tiny(tmp_path / "weights.safetensors")
    assert chaos.improved(tmp_path, {}) == {"population.db": set(), "selfplay.db": set()}
    with pytest.raises(_disturbed.Fault, match=r"selfplay\.db: has lost games"):
        chaos.improved(tmp_path, {"selfplay.db": {b"a game"}})
    (tmp_path / "weights.safetensors").write_bytes((tmp_path / "weights.safetensors").read_bytes()[:-9])
    with pytest.raises(_disturbed.Fault, match=r"weights\.safetensors"):
        chaos.improved(tmp_path, {})


def test_a_guest_notices_what_is_told_otherwise_twice_or_with_an_impossible_clock() -> None:
    guest = _guests.Guest(0, random.Random(0), "random", game="g")
    events = [{"type": "turn", "step": 0}, {"type": "sensed", "step": 0}]
    state = {"clocks": {"white": 9.0, "black": 9.0}}
    guest.told["g"] = events[:1]
    guest.check_greeting({"events": events, "state": state})
    assert guest.told["g"] == events
    for told, left, said in (
        (events[:1], 9.0, "told otherwise"),
        ([*events, events[1]], 9.0, "told twice"),
        (events, 9999.0, "a clock shows"),
        (events, -1.0, "a clock shows"),
    ):
        with pytest.raises(_guests.Wrong, match=said):
            guest.check_greeting({"events": told, "state": {"clocks": {"white": 9.0, "black": left}}})
    with pytest.raises(_guests.Wrong, match="lost on time"):
        guest.finish({"winner": "white", "reason": "TIMEOUT"})


def test_chaos_makes_the_time_of_day_jump(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_disturbed.JUMPING)
    script = "import time; print(time.time(), time.time_ns() / 1e9, time.monotonic())"
    run = run_python("-c", script, PYTHONPATH=str(tmp_path))
    shown, nanoseconds, monotonic = map(float, run.stdout.split())
    assert 1 < abs(shown - time.time()) < 90_000 and 1 < abs(nanoseconds - time.time()) < 90_000
    assert 0 <= time.monotonic() - monotonic < 60


def test_chaos_sees_who_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_disturbed, "SECONDS_TO_LEAVE", 0.2)
    command = _disturbed.Command(("players",), tmp_path / "log")
    command.end()
    command.process = subprocess.Popen(["sh", "-c", "sleep 100 & exit"], start_new_session=True)
    with pytest.raises(_disturbed.Fault, match="has left 1 processes behind"):
        command.end()
    command.expect_nobody()


def test_chaos_hears_of_stack_traces_and_of_runs_that_never_end(tmp_path: Path) -> None:
    command = _disturbed.Command(("players",), tmp_path / "log")
    command.process.wait()
    assert command.end() == 0
    command.log.write_text("Traceback (most recent call last):")
    with pytest.raises(_disturbed.Fault, match="has printed:\nTraceback"):
        command.end()
    hanging = _disturbed.Command(("archive", "stats", "/dev/stdin"), tmp_path / "log")
    with pytest.raises(_disturbed.Fault, match="has not ended within 0 seconds"):
        hanging.end(0.0)
