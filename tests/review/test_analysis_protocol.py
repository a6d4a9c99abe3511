"""The analysis protocol: what is asked is answered once, by its id, as the schema says and as the bot would play."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from penumbra import review
from penumbra.arena.game_loop import play_strictly
from penumbra.core import Game, GameRecord
from penumbra.interop.game_files import to_json
from penumbra.interop.history import write_record
from penumbra.players.opponents.hunter import Hunter
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.players.penumbra.recording import real_action
from penumbra.rbc.player_view import PlayerView
from penumbra.rbc.walk import walk
from penumbra.review.analysis_engine import AnalysisEngine
from penumbra.review.analysis_query import Query, QueryError, observation_of, parse
from tests.support import ROOT
from tests.support.processes import environment, run_penumbra

SCHEMA = json.loads((Path(review.__file__).parent / "analysis_protocol.schema.json").read_text())
QUICK = Configuration(evaluator="heuristic", nodes=40, seed=0)
FENS = ["4k3/8/8/8/8/8/4R3/K7 w - - 0 1", "3k4/8/8/8/8/8/4R3/K7 w - - 0 1"]


def fits(data: Any, name: str) -> bool:
    """Whether the schema has it so."""
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})
    return bool(validator.is_valid(data))


def answers_to(*queries: dict[str, Any] | str, base: Configuration = QUICK, at_once: int = 1) -> list[dict[str, Any]]:
    """All answers of an engine that is given these lines and then ends; each fits the schema."""
    answers: list[dict[str, Any]] = []
    engine = AnalysisEngine(lambda answer: answers.append(json.loads(json.dumps(answer))), base, at_once)
    for query in queries:
        engine.take(query if isinstance(query, str) else json.dumps(query))
    engine.close()
    for answer in answers:
        jsonschema.validate(answer, {**SCHEMA, "$ref": "#/$defs/answer"})
    return answers


def of_type(answers: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [answer for answer in answers if answer["type"] == kind]


@pytest.fixture(scope="module")
def record() -> GameRecord:
    return play_strictly(Hunter(6), RandomPlayer(6), Game(None, None, 10)).record()


@pytest.fixture(scope="module")
def game(record: GameRecord) -> dict[str, Any]:
    return dict(json.loads(to_json(record)))


def events(record: GameRecord, color: bool, steps: int) -> list[dict[str, Any]]:
    """What one player is told in its first steps, as the protocol has it."""
    view = PlayerView(color, Game().fen())
    for step in [step for step in walk(record) if step.color == color][:steps]:
        for observation in step.told:
            view.observe(observation, step.after)
    return [{key: value for key, value in event.items() if key not in ("own", "step", "lost")} for event in view.events]


# -- what comes out


@pytest.mark.parametrize("color", [True, False])
def test_decisions_are_the_bots_own_over_a_whole_game(color: bool) -> None:
    """The bot plays; then its game, and what it observed, are asked about with its seed and nodes."""
    bot = make_penumbra(Configuration(nodes=60, seed=5))
    white, black = (bot, Hunter(3)) if color else (Hunter(3), bot)
    record = play_strictly(white, black, Game(None, None, 12)).record()
    player = "white" if color else "black"
    history = {"id": "game", "player": player, "game": json.loads(to_json(record)), "nodes": 60, "seed": 5}
    steps = 2 * len(bot.decisions)
    told = events(record, color, steps)
    seen = {"id": "told", "player": player, "observations": told, "turns": [1, 99], "nodes": 60, "seed": 5}
    seen |= {"opponent": "Hunter"}
    answers = answers_to(history, seen, base=Configuration())
    for id in ("game", "told"):
        found = [answer for answer in answers if answer["id"] == id and answer["type"] == "decision"]
        assert len(found) >= len(bot.decisions) > 10
        for answer, decision in zip(found, bot.decisions, strict=False):
            visits = {action["action"]: action["visits"] for action in answer["actions"]}
            names = [real_action(int(action), color) for action in decision.actions]
            assert answer["chosen"] == real_action(decision.action, color)
            assert visits == pytest.approx(dict(zip(names, decision.visits.tolist(), strict=True)))
            assert answer["nodes"] == decision.nodes


def test_a_span_of_turns_and_every_turn(game: dict[str, Any]) -> None:
    answers = answers_to(
        {"id": "a", "game": game, "player": "black", "turns": [2, 4]},
        {"id": 7, "game": game, "player": "white", "turns": 3, "details": True},
        {"id": "c", "game": game, "player": "white", "preset": "network"},
    )
    turns = [(a["turn"], a["step"]) for a in of_type(answers, "decision") if a["id"] == "a"]
    assert turns == [(turn, step) for turn in (2, 3, 4) for step in ("sense", "move")]
    detailed = [a for a in of_type(answers, "decision") if a["id"] == 7]
    assert len(detailed) == 2 and all(len(a["planes"]) == 104 and a["truth"] and a["played"] for a in detailed)
    ends = {a["id"]: a["decisions"] for a in of_type(answers, "end")}
    assert ends["a"] == 6 and ends[7] == 2 and ends["c"] == 10


def test_a_live_game_is_advised_on_what_comes_next(record: GameRecord) -> None:
    told = events(record, False, 5)  # two whole turns, and a sense
    (decision, end) = answers_to({"id": "now", "player": "black", "observations": told})
    assert (decision["turn"], decision["step"], end["decisions"]) == (3, "move", 1)
    assert "played" not in decision and "truth" not in decision
    (first, _) = answers_to({"id": "first", "player": "white", "observations": []})
    assert (first["turn"], first["step"]) == (1, "sense")


def test_positions_without_a_history() -> None:
    answers = answers_to(
        {"id": 1, "player": "white", "fens": FENS}, {"id": 2, "player": "white", "fens": FENS[:1], "to_move": True}
    )
    sense, move = of_type(answers, "decision")
    assert (sense["states"], sense["step"]) == (2, "sense")
    assert (move["chosen"], move["reason"]) == ("e2e8", "sure win")


def test_what_a_player_is_told_goes_there_and_back(record: GameRecord) -> None:
    for color in (True, False):
        told = [o for step in walk(record) if step.color == color for o in step.told][:20]
        made = [observation_of(event, color) for event in events(record, color, 30)][:20]
        assert [each[:3] for each in made] == [each[:3] for each in told]


def test_queries_share_the_work_and_repeat_themselves(game: dict[str, Any]) -> None:
    """Several at a time say what each says alone."""
    queries = [{"id": n, "game": game, "player": "white", "turns": n + 1, "nodes": 40} for n in range(4)]
    together = answers_to(*queries, base=Configuration(seed=0), at_once=3)
    alone = [answer for query in queries for answer in answers_to(query, base=Configuration(seed=0))]

    def plain(answers: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
        found = [(a["id"], a["turn"], a["step"], a["chosen"], a["actions"]) for a in of_type(answers, "decision")]
        return sorted(found, key=lambda each: each[:3])

    assert plain(together) == plain(alone) and len(plain(alone)) == 8


def test_a_query_can_be_cancelled_while_it_searches_and_before(game: dict[str, Any]) -> None:
    answers: list[dict[str, Any]] = []
    came = threading.Event()

    def take(answer: dict[str, Any]) -> None:
        answers.append(answer)
        came.set()

    engine = AnalysisEngine(take, Configuration(evaluator="heuristic", seed=0))
    engine.take(json.dumps({"id": "long", "game": game, "player": "white", "turns": 3, "seconds": 600}))
    engine.take(json.dumps({"id": "next", "game": game, "player": "white", "turns": 1, "nodes": 20}))
    time.sleep(1)
    began = time.monotonic()
    for id in ("next", "long", "nobody"):
        engine.take(json.dumps({"id": f"stop {id}", "cancel": id}))
    engine.close()
    assert time.monotonic() - began < 20
    assert [(a["id"], a["found"]) for a in of_type(answers, "cancel")] == [
        ("stop next", True),
        ("stop long", True),
        ("stop nobody", False),
    ]
    assert {(a["id"], a["status"], a["decisions"]) for a in of_type(answers, "end")} == {
        ("long", "cancelled", 0),
        ("next", "cancelled", 0),
    }


# -- what is wrong


@pytest.mark.parametrize(
    ("line", "id", "reason"),
    [
        ("{", None, "not JSON"),
        ("[1]", None, "not an object"),
        ("[" * 100_000, None, "nested too deeply"),
        ('{"player": "white"}', None, "id is missing"),
        ('{"id": "a"}', "a", "player is missing"),
        ('{"id": 3, "player": "red"}', 3, "player = 'red': it is one of white, black"),
        ('{"id": "a", "player": "white", "nodez": 3}', "a", "there is no 'nodez'"),
        ('{"id": "a", "player": "white", "nodes": 0}', "a", "nodes = 0: it must be a whole number from 1"),
        ('{"id": "a", "player": "white", "turns": [5, 2]}', "a", "turns: it is one turn, or a list of the first"),
        (
            '{"id": "a", "player": "white", "fens": ["x"], "observations": [{"type": "turn"}]}',
            "a",
            "exclude each other",
        ),
        ('{"id": "a", "player": "white", "observations": [{"type": "tourn"}]}', "a", "observation 1: type = 'tourn'"),
        (
            '{"id": "a", "player": "white", "observations": [{"type": "sensed", "square": "e5", "seen": {"a1": "P"}}]}',
            "a",
            "observation 1: seen: a1 is not among the squares that this sense shows",
        ),
        ('{"id": "a", "player": "white", "settings": {"speed": 3}}', "a", "settings: there is no 'speed'"),
        ('{"id": "a", "action": "dance"}', "a", "action = 'dance': it is one of version"),
        ('{"id": "a", "cancel": 1.5}', "a", "cancel = 1.5"),
    ],
)
def test_a_malformed_query_is_answered_with_its_id_and_the_reason(line: str, id: Any, reason: str) -> None:
    answers = answers_to(line, {"id": "v", "action": "version"})
    assert answers[0]["type"] == "error" and answers[0]["id"] == id and reason in answers[0]["error"]
    assert "\n" not in answers[0]["error"]
    assert answers[1]["type"] == "version"
    with pytest.raises(QueryError):
        parse(line)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"game": {"type": "Chess"}}, 'it has no "type": "GameHistory"'),
        ({"fens": ["nothing"]}, ""),
        ({"turns": 50}, "there is nothing for white to decide in turns 50 to 50"),
        ({"observations": [{"type": "sensed", "square": "e5", "seen": {"e5": "q"}}]}, "no possible position agrees"),
        ({"observations": [{"type": "turn"}, {"type": "turn"}]}, "observation 2: turn 1: the opponent moved, but what"),
    ],
)
def test_what_cannot_be_analysed_ends_its_query_and_no_other(query: dict[str, Any], reason: str) -> None:
    answers = answers_to({"id": "bad", "player": "white"} | query, {"id": "good", "player": "white"})
    assert [(a["id"], a["type"]) for a in answers] == [("bad", "error"), ("good", "decision"), ("good", "end")]
    assert reason in answers[0]["error"]


def test_an_id_is_used_once_at_a_time(game: dict[str, Any]) -> None:
    query = {"id": "a", "game": game, "player": "white", "turns": 1}
    answers = answers_to(query, query)
    assert [a["error"] for a in of_type(answers, "error")] == ["a query of this id is not yet answered"]
    assert len(of_type(answers, "end")) == 1


def test_the_schema_and_the_reader_agree(game: dict[str, Any]) -> None:
    assert set(SCHEMA["$defs"]["query"]["properties"]) == {field.name for field in fields(Query)}
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    good: list[dict[str, Any]] = [
        {"id": 1, "player": "white", "game": game, "turns": [1, 2], "seconds": 0.5, "details": True},
        {"id": "x", "player": "black", "fens": FENS, "opponent": "Trout", "cap": 5000, "preset": "tree"},
        {"id": "x", "player": "black", "observations": [{"type": "moved", "requested": None, "taken": None}]},
        {"id": "x", "player": "white", "observations": [], "start": None, "turns": 3, "settings": {"c": 1.5}},
    ]
    bad: list[Any] = [
        {"id": True, "player": "white"},
        {"id": 1, "player": "white", "turns": 0},
        {"id": 1, "player": "white", "cap": 5},
        {"id": 1, "player": "white", "fens": []},
        {"id": 1, "player": "white", "observations": [{"type": "sensed", "square": "e9", "seen": {}}]},
        {"id": 1, "player": "white", "observations": [{"type": "moved", "requested": "e2-e4", "taken": None}]},
    ]
    for query in good:
        assert fits(query, "line") and parse(json.dumps(query))
    for query in bad:
        assert not fits(query, "line"), query
        with pytest.raises(QueryError):
            parse(json.dumps(query))


# -- as a process


@pytest.fixture
def engine() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "penumbra", "analyse", "--stdio", "--nodes", "30"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment()) as process:
        yield process
        process.kill()


def test_answers_come_as_they_are_found(engine: subprocess.Popen[str], game: dict[str, Any]) -> None:
    """While the input is still open, and after a line that was none."""
    assert engine.stdin is not None and engine.stdout is not None and engine.stderr is not None
    for line in ("nonsense", json.dumps({"id": "a", "game": game, "player": "white", "turns": 2})):
        engine.stdin.write(line + "\n\n")
        engine.stdin.flush()
    answers = [json.loads(engine.stdout.readline()) for _ in range(4)]
    assert [answer["type"] for answer in answers] == ["error", "decision", "decision", "end"]
    engine.stdin.write(json.dumps({"id": "b", "player": "white", "fens": FENS[:1], "to_move": True}) + "\n")
    engine.stdin.close()
    assert [json.loads(line)["id"] for line in engine.stdout] == ["b", "b"]
    assert engine.wait(30) == 0 and engine.stderr.read() == ""


def test_options_that_do_not_go_together_are_refused() -> None:
    for options in (["--stdio", "--turn", "3"], [], ["game.json", "--at-once", "2"]):
        answer = run_penumbra("analyse", *options)
        assert answer.returncode == 1 and answer.stderr.startswith("penumbra: ") and answer.stderr.count("\n") == 1


@pytest.mark.parametrize("client", ["client.py", "client.mjs"])
def test_the_clients_of_the_documentation_work(client: str, record: GameRecord, tmp_path: Path) -> None:
    program = sys.executable if client.endswith(".py") else shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    write_record(tmp_path / "game.json", record)
    source = ROOT / "examples" / "analysis_client" / client
    command = [program, str(source), str(tmp_path / "game.json"), "black", "2", "40"]
    penumbra = environment(PENUMBRA=f"{sys.executable} -m penumbra")
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, env=penumbra, check=True)
    lines = answer.stdout.splitlines()
    assert len(lines) == 2 and lines[0].startswith("turn 2, sense: sense ") and lines[1].startswith("turn 2, move: ")
    assert len([line for line in source.read_text().splitlines() if line.strip()]) <= 25
