"""`penumbra bench belief`: scores equal those counted by hand from FENs, and games are followed as their player was."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import pytest

from penumbra.bench import belief, belief_score
from penumbra.bench.belief import BeliefRow, Plan, bootstrap, read_records, rows_of, tau, walk
from penumbra.bench.belief_score import MIXED, Comparison, compare
from penumbra.commands import bench
from penumbra.core import MOVE, SENSE, Infostates
from penumbra.dsmcp import Agent
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.domain import Situation
from tests.support import DATA
from tests.support.command_line import penumbra
from tests.support.situations import real_records

GAMES = DATA / "real_games.jsonl"
QUICK = Plan(particles=24, cap=600, turns=8, configuration=Configuration(device="cpu"))

Moment = tuple[Situation, Infostates, str]  # what compare is asked


@pytest.fixture(scope="module")
def moments() -> list[Moment]:
    """The decisions of a real game at sets of more than one state, with the beliefs that the benchmark scored."""
    found: list[Moment] = []

    def look(x: Situation, particles: Infostates, truth: str) -> Comparison:
        found.append((x, particles, truth))
        return compare(x, particles, truth)

    chosen, evaluator = tau(QUICK.configuration, "All", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(belief, "compare", look)
        for record in real_records()[:2]:
            walk(record, True, chosen, evaluator, QUICK, seed=1)
            walk(record, False, chosen, evaluator, QUICK, seed=1)
    assert len(found) > 20
    assert {x.kind for x, _, _ in found} == {SENSE, MOVE}
    return found


# -- one decision


def state(fen: str) -> str:
    """A state without the clocks."""
    return " ".join(fen.split()[:4])


def by_hand(fens: list[str], weights: list[float], truth: str) -> tuple[float, float]:
    """The log losses of the squares and of the state when each state has its weight."""
    board = chess.Board(truth)
    boards = [chess.Board(fen) for fen in fens]
    squares = 0.0
    for square in chess.SQUARES:
        piece = board.piece_at(square)
        p = sum(weight for b, weight in zip(boards, weights, strict=True) if b.piece_at(square) == piece)
        squares -= math.log(p)
    p = sum(weight for fen, weight in zip(fens, weights, strict=True) if state(fen) == state(truth))
    return squares, -math.log(p)


def test_the_uniform_distribution_costs_what_it_costs_by_hand(moments: list[Moment]) -> None:
    for x, particles, truth in moments:
        fens = x.states.fens()
        squares, lost = by_hand(fens, [1 / len(fens)] * len(fens), truth)
        uniform = compare(x, particles, truth).uniform
        assert uniform.squares == pytest.approx(squares)
        assert uniform.state == pytest.approx(lost)
        assert uniform.rank == (len(fens) + 1) / 2


def test_a_particle_stands_for_the_one_state_that_it_shares_with_the_set(moments: list[Moment]) -> None:
    for x, particles, truth in moments:
        fens = x.states.fens()
        held = {state(fen) for fen in fens}
        shared = [held & {state(fen) for fen in particles.fens(row)} for row in range(len(particles))]
        assert {len(states) for states in shared} == {1}
        counts = Counter(next(iter(states)) for states in shared)
        weights = [(1 - MIXED) * counts[state(fen)] / len(particles) + MIXED / len(fens) for fen in fens]
        squares, lost = by_hand(fens, weights, truth)
        found = compare(x, particles, truth)
        assert found.belief.squares == pytest.approx(squares)
        assert found.belief.state == pytest.approx(lost)
        assert found.belief.probability == pytest.approx(math.exp(-lost))
        better = sum(counts[state(fen)] > counts[state(truth)] for fen in fens)
        equal = sum(counts[state(fen)] == counts[state(truth)] for fen in fens)
        assert found.belief.rank == better + (equal + 1) / 2
        assert (found.states, found.particles, found.distinct) == (len(fens), len(particles), len(counts))
        assert found.missing == (counts[state(truth)] == 0)


def knowing(x: Situation, fens: list[str]) -> Infostates:
    """Opponents that know the state, one for each FEN."""
    return Infostates.from_fens([[fen] for fen in fens], not x.states.owner, x.kind)


def test_a_belief_in_nothing_but_the_truth_costs_next_to_nothing(moments: list[Moment]) -> None:
    for x, _, truth in moments:
        found = compare(x, knowing(x, [truth] * 5), truth)
        assert not found.missing
        assert found.belief.rank == 1
        assert found.belief.state == pytest.approx(-math.log(1 - MIXED + MIXED / found.states))
        assert 0 <= found.belief.squares < 64 * -math.log(1 - MIXED)
        assert found.belief.squares < found.uniform.squares


def test_a_belief_without_the_truth_costs_what_the_uniform_part_leaves(moments: list[Moment]) -> None:
    for x, _, truth in moments:
        wrong = next(fen for fen in x.states if state(fen) != state(truth))
        found = compare(x, knowing(x, [wrong] * 5), truth)
        assert found.missing
        assert found.belief.state == pytest.approx(math.log(found.states / MIXED))
        assert found.belief.rank == 1 + found.states / 2  # all but one are equal, and behind
        assert found.uniform.squares < found.belief.squares <= found.uniform.squares - 64 * math.log(MIXED)


def test_a_truth_that_is_not_in_the_set_is_refused(moments: list[Moment]) -> None:
    x, particles, _ = moments[-1]
    with pytest.raises(ValueError, match="not among those held possible"):
        compare(x, particles, "4k3/8/8/8/8/8/8/4K3 w - - 0 1")


# -- one game


def test_a_game_is_followed_until_its_set_is_cut() -> None:
    chosen, evaluator = tau(QUICK.configuration, "Top", "")
    record = real_records()[2]
    whole = walk(record, True, chosen, evaluator, replace(QUICK, cap=2_000), seed=1)
    assert (whole.refills, whole.cut) == (2 * QUICK.turns, 0)
    cut = walk(record, True, chosen, evaluator, QUICK, seed=1)
    assert cut.refills > 2 and cut.cut > 0
    assert cut.refills + cut.cut == 2 * QUICK.turns
    assert max(look.score.states for look in cut.looks) <= QUICK.cap
    sizes = [(look.turn, look.kind, look.score.states) for look in cut.looks]
    assert sizes == [(look.turn, look.kind, look.score.states) for look in whole.looks][: len(sizes)]


def test_beliefs_are_refilled_within_their_share_of_a_steps_time_and_nothing_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, float | None]] = []
    refilled: Callable[..., Any] = Agent.refilled

    def note(agent: Agent[Any, Any], n: int, began: float, seconds: float | None) -> Any:
        asked.append((n, seconds))
        return refilled(agent, n, began, seconds)

    monkeypatch.setattr(Agent, "refilled", note)
    monkeypatch.delattr(Agent, "choose")
    chosen, evaluator = tau(QUICK.configuration, "Top", "")
    found = walk(real_records()[0], True, chosen, evaluator, Plan(seconds=0.05, turns=3), seed=1)
    assert found.refills == len(asked) == 6
    assert asked == [(4096, 0.05)] * 6  # as many as there is time for
    asked.clear()
    walk(real_records()[0], True, chosen, evaluator, Plan(particles=40, turns=3), seed=1)
    assert asked == [(40, None)] * 6


def test_the_recognised_headset_is_the_opponents_or_top() -> None:
    configuration = Configuration(device="cpu")
    assert tau(configuration, "recognised", "TroutBot")[0] == "Trout"
    assert tau(configuration, "recognised", "nobody")[0] == "Top"
    assert tau(configuration, "recognised", "nobody")[1] is tau(configuration, "Top", "Trout")[1]
    with pytest.raises(ValueError, match=r"there is no headset 'Carlsen'; there are All, Top, .*, recognised"):
        tau(configuration, "Carlsen", "Trout")
    with pytest.raises(ValueError, match="has no headsets"):
        tau(Configuration(evaluator="heuristic"), "Top", "Trout")


# -- many games


def rows(**options: Any) -> list[BeliefRow]:
    plan = Plan(**({"particles": 8, "cap": 300, "turns": 5} | options))
    return belief.run(GAMES, plan, ("Top", "recognised"), games=3)


def without_times(found: list[BeliefRow]) -> list[dict[str, object]]:
    return [{key: value for key, value in row.as_dict().items() if key != "seconds"} for row in found]


def test_bins_hold_every_decision_once_and_a_seed_repeats_them() -> None:
    found = rows()
    whole = {row.headset: row for row in found if row.states == "all"}
    assert list(whole) == ["Top", "recognised"]
    for name, total in whole.items():
        parts = [row for row in found if row.headset == name and row.states != "all"]
        assert sum(row.decisions for row in parts) == total.decisions > 10
        assert sum(row.decisions * row.value for row in parts) == pytest.approx(total.decisions * total.value)
        assert total.difference.mean == pytest.approx(total.value - (total.peer_value or 0))
    assert whole["Top"].peer_value == whole["recognised"].peer_value  # the same sets
    assert without_times(rows()) == without_times(found)
    assert without_times(rows(seed=1)) != without_times(found)


def test_sizes_fall_into_their_bins() -> None:
    labels = [belief._label(number) for number in range(len(belief.LARGEST) + 1)]
    assert labels == ["2", "3-8", "9-32", "33-128", "129-512", "513-2048", "2049-10000", "10001+"]
    score = belief_score.Score(1.0, 1.0, 1.0)
    looks = [belief.Look(1, SENSE, 0.0, 0.0, Comparison(score, score, n, 1, 1, False)) for n in (2, 3, 8, 9, 10_001)]
    found = rows_of("Top", [belief.Walk("Top", looks, 5, 0)], QUICK)
    assert [(row.states, row.decisions) for row in found] == [
        ("2", 1),
        ("3-8", 2),
        ("9-32", 1),
        ("10001+", 1),
        ("all", 5),
    ]


def test_intervals_are_over_games() -> None:
    assert bootstrap([[1.0, 3.0]], 0) == belief.Difference(2.0, None, None)
    same = bootstrap([[2.0], [2.0, 2.0], []], 0)
    assert (same.mean, same.low, same.high) == (2.0, 2.0, 2.0)
    two = bootstrap([[0.0] * 100, [1.0] * 100], 0)  # many decisions, but of two games only
    assert (two.mean, two.low, two.high) == (0.5, 0.0, 1.0)
    many = bootstrap([[i % 2] for i in range(400)], 0)
    assert many.low is not None and many.high is not None
    assert 0.44 < many.low < 0.46 and 0.54 < many.high < 0.56


def test_an_archive_gives_the_games_of_the_file_it_was_made_from(tmp_path: Path) -> None:
    archive = tmp_path / "games.db"
    assert penumbra("archive", "import", archive, GAMES).returncode == 0
    for games in (2, None):
        from_file, from_archive = (read_records(path, games, 5, pytest.fail) for path in (GAMES, archive))
        assert [record.hash for record in from_archive] == [record.hash for record in from_file]
        assert len(from_file) == games or len(from_file) == 6


# -- the command


def test_the_command_prints_the_agreed_rows() -> None:
    options = ("--games", "2", "--particles", "8", "--cap", "300", "--turns", "4", "--headsets", "All,recognised")
    answer = penumbra("bench", "belief", "--archive", GAMES, "--json", *options)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert {row["headset"] for row in found} == {"All", "recognised"}
    for row in found:
        assert list(row)[:5] == ["name", "value", "unit", "peer", "peer_value"]
        assert row["name"] == f"belief.{row['headset']}.{row['states']}"
        assert (row["unit"], row["peer"]) == ("nats/board", "uniform")
        assert set(row["difference"]) == {"mean", "low", "high"}
    shown = penumbra("bench", "belief", "--archive", GAMES, *options)
    assert shown.returncode == 0
    assert "left out: " in shown.stdout and "8 particles" in shown.stdout


def test_seconds_bound_a_belief() -> None:
    options = ("--games", "1", "--turns", "3", "--headsets", "Top", "--seconds", "0.05", "--json")
    answer = penumbra("bench", "belief", "--archive", GAMES, *options)
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"0.05 s a step, .* threads that had [0-9.]+ processors", json.loads(answer.stdout)[-1]["note"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["belief"], "bench belief needs --archive"),
        (["belief", "--archive", "nowhere.jsonl"], "nowhere.jsonl: there is no such file or folder"),
        (["belief", "--archive", "broken.jsonl"], "broken.jsonl, line 1: is not JSON"),
        (["belief", "--archive", "empty.jsonl"], "empty.jsonl: there are no games in it"),
        (["belief", "--archive", "broken.db"], "broken.db: is "),
        (["belief", "--archive", str(GAMES), "--headsets", "Carlsen"], "there is no headset 'Carlsen'"),
        (["belief", "--archive", str(GAMES), "--seconds", "1", "--particles", "9"], "exclude each other"),
        (["belief", "--archive", str(GAMES), "--time", "1"], "--time is not for `penumbra bench belief`"),
        (["rules", "--seconds", "1"], "--seconds is for `penumbra bench belief` alone"),
        (["rules", "--archive", str(GAMES)], "--archive is for `penumbra bench belief` alone"),
        (["--particles", "9"], "--particles is for `penumbra bench belief` alone"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.jsonl").write_text("{not a game\n")
    Path("empty.jsonl").touch()
    Path("broken.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    answer = penumbra("bench", *arguments)
    assert answer.returncode == 1
    assert answer.stderr.startswith("penumbra: ") and answer.stderr.count("\n") == 1
    assert message in answer.stderr


def test_a_broken_game_is_told_and_the_others_are_followed(tmp_path: Path) -> None:
    some = tmp_path / "some.jsonl"
    some.write_text("{not a game\n" + GAMES.read_text())
    answer = penumbra("bench", "belief", "--archive", some, "--games", "1", "--turns", "1", "--particles", "2")
    assert answer.returncode == 0
    assert answer.stderr.startswith(f"penumbra: {some}, line 1: is not JSON") and answer.stderr.count("\n") == 1


def test_without_a_subject_everything_but_belief_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        @staticmethod
        def run(seconds: float) -> list[Any]:
            assert seconds == 2.0
            return []

    asked: list[str] = []

    def load(name: str) -> type[Module]:
        asked.append(name)
        return Module

    monkeypatch.setattr(bench, "import_module", load)
    assert penumbra("bench", "--json").stdout == "[]\n"
    assert asked == [f"penumbra.bench.{subject.replace('-', '_')}" for subject in bench.Subject if subject != "belief"]
