"""Puzzles on the server: nothing is told before the answer, and answers are judged, refused or never understood."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from penumbra.review.puzzles.judging import left_by, sure_moves
from penumbra.review.puzzles.puzzle import GRADES, KINDS, SENSES, Puzzle, line_of, read_puzzles, shipped
from penumbra.server.application import ServerSettings, make_app
from tests.server.scripted import BASE, refused
from tests.support.command_line import penumbra
from tests.support.evidence import scale

ALL = [puzzle for found in read_puzzles(shipped()).values() for puzzle in found]
SOME = [next(p for p in ALL if p.kind == kind) for kind in KINDS if any(p.kind == kind for p in ALL)]


def serving(folder: Path, puzzles: list[Puzzle] | None = None) -> TestClient:
    file = None
    if puzzles is not None:
        file = folder / "puzzles.jsonl"
        file.write_text(line_of("a", puzzles))
    return TestClient(make_app(ServerSettings(folder, puzzles=file)), base_url=BASE)


def right(puzzle: Puzzle) -> dict[str, str]:
    return {"square" if puzzle.kind in SENSES else "move": puzzle.solutions[0]}


def wrong(puzzle: Puzzle) -> dict[str, str]:
    return (
        {"square": next(s for s in ("a1", "h1", "d4") if s not in puzzle.solutions)}
        if puzzle.kind in SENSES
        else {"move": "pass"}
    )


def answered(client: TestClient, puzzle: Puzzle, answer: object) -> Any:
    answer = client.post(f"/api/puzzles/{puzzle.id}", json=answer)
    return answer.json()


def test_all_puzzles_of_the_package_are_listed_and_each_can_be_asked(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        listed = client.get("/api/puzzles").json()
        assert sorted(item["id"] for item in listed) == sorted(p.id for p in ALL)
        assert all(item["kind"] in KINDS and item["grade"] in GRADES for item in listed)
        for puzzle in SOME:
            asked = client.get(f"/api/puzzles/{puzzle.id}").json()
            assert asked["states"] == list(puzzle.states) and asked["phase"] == (
                "sense" if puzzle.kind in SENSES else "move"
            )
            assert asked["own"] and "pass" in asked["moves"] and asked["question"].endswith((".", "?"))


@pytest.mark.parametrize("puzzle", SOME, ids=lambda p: p.kind)
def test_nothing_is_told_of_the_truth_and_the_solution_before_the_answer(tmp_path: Path, puzzle: Puzzle) -> None:
    """The same bytes whichever state is the true one, and whatever the solution and the reason were said to be."""
    told = []
    others = [puzzle, *(replace(puzzle, truth=truth) for truth in (0, len(puzzle.states) - 1))]
    for other in [*others, replace(puzzle, solutions=("a8",), reason="Zugzwang")]:
        with serving(tmp_path, [other]) as client:
            answers = [client.get(path).text for path in ("/api/puzzles", f"/api/puzzles/{puzzle.id}")]
            for bad in (
                {},
                {"square": "e9"},
                {"move": "a1a1"},
                {"square": "e4", "move": "pass"} if other.kind != "sense" else {},
            ):
                answers.append(client.post(f"/api/puzzles/{puzzle.id}", json=bad).text)
            told.append("\n".join(answers))
            if len(told) <= len(others):
                told[-1] += str(answered(client, puzzle, wrong(puzzle)))
    assert told[0] == told[1] == told[2] and told[0].startswith(told[3])
    assert "solutions" not in told[3] and "truth" not in told[3] and puzzle.reason not in told[3]
    asked = json.loads(told[3].split("\n")[1])
    assert not {"difficulty", "solutions", "reason", "truth"} & set(asked)


@pytest.mark.parametrize("puzzle", SOME, ids=lambda p: p.kind)
def test_right_and_wrong_answers_are_judged_with_the_reason(tmp_path: Path, puzzle: Puzzle) -> None:
    with serving(tmp_path, [puzzle]) as client:
        no = answered(client, puzzle, wrong(puzzle))
        assert not no["right"] and no["solutions"] == list(puzzle.solutions) and puzzle.reason in no["reason"]
        yes = answered(client, puzzle, right(puzzle))
        assert yes["right"]
        if puzzle.kind != "sense":
            assert yes["reason"] == puzzle.reason and yes["shown"] is None and yes["solutions"]
            return
        assert yes["solutions"] == [] and yes["shown"]["seen"] and "pass" in yes["shown"]["moves"]
        moves = sure_moves(left_by(puzzle, puzzle.solutions[0]))
        end = answered(client, puzzle, {**right(puzzle), "move": moves[0]})
        assert end["right"] and end["solutions"] == moves
        assert not answered(client, puzzle, {**right(puzzle), "move": "pass"})["right"]


def test_what_is_no_answer_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        assert refused(client.get("/api/puzzles/nothing").json()) == "unknown puzzle"
        assert refused(client.post("/api/puzzles/nothing", json={}).json()) == "unknown puzzle"
        path = f"/api/puzzles/{SOME[0].id}"
        for body in (b"", b"[]", b"{", b'{"square": 4}', b'{"square": "e9"}', b'{"extra": 1}', b'"\\ud800"'):
            answer = client.post(path, content=body)
            assert answer.status_code == 400 and refused(answer.json()) == "malformed"
        assert refused(client.post(path, content=b" " * 2_000).json()) == "too long"
        assert refused(client.post(path, json={}).json()) == "illegal"
        assert refused(client.delete(path).json()) == "unknown request"


WORDS = st.sampled_from(["e4", "a1", "e2e4", "e7e8q", "pass", "", "h9", "\ud800", "e1g1"]) | st.text(max_size=6)
BODIES = st.dictionaries(st.sampled_from(["square", "move", "kind"]), WORDS | st.none() | st.integers(), max_size=3)


@settings(deadline=None, max_examples=scale(100, 5_000), suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SOME), BODIES)
def test_any_answer(client: TestClient, puzzle: Puzzle, body: dict[str, Any]) -> None:
    answer = client.post(f"/api/puzzles/{puzzle.id}", content=json.dumps(body))
    assert answer.status_code == 200 or (answer.status_code == 400 and refused(answer.json()))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return serving(tmp_path_factory.mktemp("games"))


def test_puzzles_of_a_file_take_the_place_of_those_of_the_package(tmp_path: Path) -> None:
    few = random.Random(1).sample(ALL, 3)
    with serving(tmp_path, few) as client:
        assert {item["id"] for item in client.get("/api/puzzles").json()} == {p.id for p in few}
    (tmp_path / "broken.jsonl").write_text("x\n")
    for name, said in (("broken.jsonl", "not a line"), ("none.jsonl", "no such file")):
        answer = penumbra("serve", "--port", "0", "--puzzles", tmp_path / name)
        assert answer.returncode and said in answer.stderr and answer.stderr.count("\n") == 1
