"""Games of a person: found again by an anonymous cookie, marked where the person was helped, and deleted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from penumbra.server.access import PERSON_COOKIE, digest, owner
from tests.server.scripted import BASE, KING_HUNT, PASSES, new_game, page, refused, server


def win(client: TestClient, game: str) -> None:
    with page(client, game) as person:
        for move in KING_HUNT:
            person.receive_until("sense")
            person.sense("e7")
            person.move(move)
        person.receive_until("over")


def games(client: TestClient) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get("/api/history").json()["games"]
    return listed


def test_a_game_is_in_the_history_of_who_began_it(tmp_path: Path) -> None:
    with server(tmp_path, PASSES * 2) as client:
        assert games(client) == []
        first = new_game(client)
        win(client, first)
        second = new_game(client, "black")
        newest, oldest = games(client)
        assert (newest["id"], newest["color"], newest["result"]) == (second, "black", None)
        assert (oldest["id"], oldest["opponent"]["name"], oldest["aids"]) == (first, "Random", [])
        assert oldest["result"] == {"winner": "white", "reason": "KING_CAPTURE", "plies": 7}
        cookie = client.cookies[PERSON_COOKIE]
        client.cookies.clear()
        assert games(client) == []
        new_game(client)
        assert client.cookies[PERSON_COOKIE] != cookie
        assert len(games(client)) == 1
        client.cookies.set(PERSON_COOKIE, "../../etc/passwd")
        assert games(client) == []


def test_the_cookie_is_out_of_reach_and_not_kept_itself(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        answer = client.post("/api/games", json={"mode": "play", "opponent": {"player": "random"}})
        said = answer.headers["set-cookie"]
        assert "HttpOnly" in said and "SameSite=strict" in said and "Path=/api" in said
        cookie = client.cookies[PERSON_COOKIE]
        kept = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
        assert cookie not in kept and digest(cookie) in kept
        watched = {"mode": "watch", "white": {"player": "random"}, "black": {"player": "random"}}
        client.cookies.clear()
        assert "set-cookie" not in client.post("/api/games", json=watched).headers
    assert owner(None) is None and owner("x" * 23) is None and owner("é" * 22) is None


def test_games_are_deleted_by_their_owner_alone(tmp_path: Path) -> None:
    with server(tmp_path, PASSES * 2) as client:
        over, running = new_game(client), new_game(client)
        win(client, over)
        with TestClient(client.app, base_url=BASE) as stranger:
            assert refused(stranger.delete(f"/api/games/{over}").json()) == "unknown game"
            assert stranger.delete("/api/history").json() == {"deleted": 0}
        assert client.delete(f"/api/games/{over}").json() == {"deleted": 1}
        assert refused(client.delete(f"/api/games/{over}").json()) == "unknown game"
        assert client.get(f"/api/games/{over}").status_code == 404
        assert [game["id"] for game in games(client)] == [running]
        with page(client, running) as person:
            person.sense("e7")
            assert client.delete("/api/history").json() == {"deleted": 1}
            assert refused(person.receive()) == "unknown game"
        assert client.get(f"/api/games/{running}").status_code == 404
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]
        assert PERSON_COOKIE not in client.cookies


def test_another_site_deletes_nothing(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        assert client.delete(f"/api/games/{game}", headers={"origin": "http://evil.example"}).status_code == 403
        assert len(games(client)) == 1


def test_help_is_marked_and_outlives_the_server(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        with page(client, game) as person:
            assert json.loads(person.traffic[0])["game"]["aids"] == []
            person.send({"type": "hint", "step": 0})
            hint = json.loads(person.traffic[-1])
            assert hint["kind"] == "sense" and hint["step"] == 0 and hint["after"] <= hint["states"] == 1
            person.sense("e7")
            person.send({"type": "assist", "on": True})
            assert json.loads(person.traffic[-1])["type"] == "assistance"
            hint = person.send({"type": "hint", "step": 1})
            assert hint["type"] == "hint" and hint["kind"] == "move"
            assert hint["move"] is None or hint["move"] in {move[:4] for move in person.state["moves"]}
            assert refused(person.send({"type": "hint", "step": 0})) == "late"
            person.move("e2e4")
        cookies = dict(client.cookies)
    with server(tmp_path, PASSES) as client:
        client.cookies.update(cookies)
        assert [listed["aids"] for listed in games(client)] == [["hint", "tracker"]]
        with page(client, game) as person:
            greeting = json.loads(person.traffic[0])
            assert greeting["game"]["aids"] == ["hint", "tracker"]
            assert greeting["assisted"] is False  # nobody has asked this server yet
            assert len(greeting["events"]) >= 3


def test_how_a_game_ended_is_told_when_it_is_over(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        assert refused(client.get(f"/api/games/{game}/ending").json()) == "not over"
        win(client, game)
        facts = client.get(f"/api/games/{game}/ending").json()
        assert facts["last"] == {"from": "d6", "to": "e8", "piece": "N", "capture": "e8"}
        assert facts["loss"] is None
        assert client.get(f"/api/games/{game}x/ending").status_code == 404
