"""The lessons of the tutorial: each can be played to its end, what is wrong is told, and the rules decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penumbra.core import Game
from penumbra.server.lessons import lessons, play
from penumbra.server.messages import LessonWish, Move, Refusal, Sense
from tests.server.lesson_ways import WAY
from tests.server.scripted import refused, server

Action = Sense | Move


def actions(words: list[str | None]) -> list[Action]:
    return [
        Sense(type="sense", step=i, square=word) if i % 2 == 0 else Move(type="move", step=i, move=word)
        for i, word in enumerate(words)
    ]


def done(lesson: int, task: int, words: list[str | None]) -> dict[str, Any]:
    return play(lesson, LessonWish(task=task, actions=actions(words)))


def test_every_task_has_a_way_here() -> None:
    tasks = [(i + 1, j) for i, lesson in enumerate(lessons()) for j in range(len(lesson.task))]
    assert tasks == list(WAY)
    assert len(lessons()) == 5


@pytest.mark.parametrize(("lesson", "task"), WAY)
def test_a_task_is_played_to_its_end(lesson: int, task: int) -> None:
    words = WAY[lesson, task]
    steps = lessons()[lesson - 1].task[task].step
    for n in range(len(words)):
        told = done(lesson, task, words[:n])
        assert told["say"] == steps[n].say
        assert told["state"]["phase"] == steps[n].do
        assert told["right"] is (None if n == 0 else True)
    told = done(lesson, task, words)
    assert told["done"] and told["said"] == steps[-1].right
    with pytest.raises(Refusal, match="this task is done"):
        done(lesson, task, [*words, None])


@pytest.mark.parametrize(("lesson", "task"), WAY)
def test_what_was_not_asked_for_has_not_happened(lesson: int, task: int) -> None:
    """Every step that names a condition refuses something, and says what to do."""
    words = WAY[lesson, task]
    for n, step in enumerate(lessons()[lesson - 1].task[task].step):
        if not step.wrong:
            continue
        before = done(lesson, task, words[:n])
        told = done(lesson, task, [*words[:n], None])  # senses nothing, or passes
        assert told["right"] is False and told["said"] == step.wrong
        assert (told["events"], told["state"]) == (before["events"], before["state"])
    if len(words) > 1:
        with pytest.raises(Refusal, match=r"nothing can follow|time to"):
            play(1, LessonWish(task=0, actions=actions([None, None])))


def test_what_is_said_agrees_with_the_rules() -> None:
    assert [e["taken"] for e in done(2, 0, WAY[2, 0])["events"] if e["type"] == "moved"] == ["d1d5"]
    assert [e["taken"] for e in done(2, 1, WAY[2, 1])["events"] if e["type"] == "moved"] == ["e2e3"]
    assert [e["taken"] for e in done(2, 2, WAY[2, 2])["events"] if e["type"] == "moved"] == [None]
    told = done(3, 1, WAY[3, 1][:2])["events"][-1]
    assert (told["type"], told["capture"], told["lost"]) == ("turn", "f2", "N")
    for word in ("e1e2", None):
        assert done(4, 1, ["e7", word])["right"] is False
    for word in ("e1d1", "e1f2"):
        assert done(4, 1, ["e7", word])["right"] is True


def test_nothing_hidden_is_sent() -> None:
    """The rest of a task's position can be replaced without a change in what is told before it is seen."""
    task = lessons()[0].task[0]
    assert task.fen.count("q") == 1
    told = str(done(1, 0, []))
    assert "q" not in str(done(1, 0, [])["start"]) and task.fen not in told
    assert done(1, 0, [])["start"] == {"c3": "N", "e1": "K"}


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.title)
def test_positions_are_legal(lesson: Any) -> None:
    for task in lesson.task:
        assert Game(task.fen).turn
        assert len(task.step) % 2 == 0
        assert set(task.known) <= {f"{file}{rank}" for file in "abcdefgh" for rank in range(1, 9)}


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("1", {"task": 0, "actions": [{"type": "move", "step": 0, "move": "c3d5"}]}, "wrong step"),
        ("1", {"task": 9, "actions": []}, "unknown lesson"),
        ("9", {"task": 0, "actions": []}, "unknown lesson"),
        ("1", {"task": -1, "actions": []}, "malformed"),
        ("1", {"task": 0}, "malformed"),
        ("x", {"task": 0, "actions": []}, "malformed"),
        ("1", {"task": 0, "actions": [{"type": "sense", "step": 0, "square": "z9"}]}, "malformed"),
    ],
)
def test_a_lesson_that_cannot_be_played(tmp_path: Path, path: str, body: Any, code: str) -> None:
    with server(tmp_path) as client:
        assert refused(client.post(f"/api/lessons/{path}", json=body).json()) == code
        assert len(client.get("/api/lessons").json()) == 5
        illegal = [{"type": "sense", "step": 0, "square": "d5"}, {"type": "move", "step": 1, "move": "c3c4"}]
        assert refused(client.post("/api/lessons/1", json={"task": 0, "actions": illegal}).json()) == "illegal"
