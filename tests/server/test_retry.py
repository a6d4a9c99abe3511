"""A game that goes on otherwise: from a step of another one, with what its player knew then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penumbra.interop.history import read_record
from penumbra.rbc.player_view import PlayerView
from penumbra.rbc.walk import walk
from tests.server.scripted import PASSES, page, refused, server
from tests.support import DATA

FILE = DATA / "paper_game.json"
GAME: dict[str, Any] = json.loads(FILE.read_text())
STEPS = list(walk(read_record(FILE)))


def wish(step: int, **changes: Any) -> dict[str, Any]:
    return {"game": GAME, "step": step, "opponent": {"player": "random"}, **changes}


def told(step: int) -> list[dict[str, Any]]:
    """The events of the player who acts at a step, until then."""
    color = STEPS[step].color
    view = PlayerView(color, STEPS[0].before.fen())
    for earlier in STEPS[:step]:
        if earlier.color == color:
            for observation in earlier.told:
                view.observe(observation, earlier.after)
    return view.events


@pytest.mark.parametrize("step", [0, 1, 2, 13, 16, 19, len(STEPS) - 2])
def test_the_person_knows_what_the_player_knew_and_goes_on_from_there(tmp_path: Path, step: int) -> None:
    color = "white" if STEPS[step].color else "black"
    with server(tmp_path, PASSES) as client:
        answer = client.post("/api/retry", json=wish(step))
        assert answer.status_code == 200, answer.text
        for _ in range(2):  # again after a reload
            with page(client, answer.json()["game"]) as person:
                greeting = json.loads(person.traffic[0])
                assert greeting["game"]["color"] == color
                events = greeting["events"]
                sensing = STEPS[step].kind == 0
                assert person.state["step"] == step and person.state["phase"] == ("sense" if sensing else "move")
                assert [event["type"] for event in events[len(told(step)) :]] == (["turn"] if sensing else [])
                assert [plain(event) for event in events[: len(told(step))]] == [plain(event) for event in told(step)]
        with page(client, answer.json()["game"]) as person:
            if sensing:
                assert person.sense("e4")["event"]["square"] == "e4"
            assert person.move(None)["event"]["type"] == "moved"


def plain(event: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in ("own", "step")}


def test_a_retry_is_in_the_history_of_whoever_asked_for_it_and_survives_a_restart(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = client.post("/api/retry", json=wish(9)).json()["game"]
        other = client.post("/api/games", json={"mode": "play", "opponent": {"player": "random"}}).json()["game"]
        listed = client.get("/api/history").json()["games"]
        assert [(each["id"], each["retried"]) for each in listed] == [(other, None), (game, 9)]
    with server(tmp_path, PASSES) as client, page(client, game) as person:
        assert person.state["step"] == 9


def test_what_cannot_be_gone_on_from_is_refused(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        for body, code in (
            (wish(len(STEPS)), "bad game"),
            (wish(-1), "malformed"),
            (wish(0, opponent={"player": "nobody"}), "unknown player"),
            (wish(0, game={}), "bad game"),
            (wish(0, extra=1), "malformed"),
            ({"step": 0}, "malformed"),
        ):
            answer = client.post("/api/retry", json=body)
            assert 400 <= answer.status_code < 500 and refused(answer.json()) == code, answer.text
        assert not list(tmp_path.glob("*.jsonl"))
