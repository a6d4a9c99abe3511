"""Two people by link: the server is the referee, each has one seat, and nobody else has any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penumbra.server import connection
from penumbra.server.access import COOKIE, PERSON_COOKIE
from penumbra.server.application import FREE_SEAT, UNKNOWN_ORIGIN, ServerSettings, make_app
from penumbra.server.connection import LATER
from penumbra.server.game_log import read
from penumbra.server.live_game import MOST_PAGES
from tests.server.scripted import (
    BASE,
    KING_HUNT,
    Page,
    another,
    between_people,
    both_pages,
    hung_up,
    page,
    refused,
    server,
)

FRIEND = {"mode": "friend", "color": "white"}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[TestClient]:
    with server(tmp_path) as client:
        yield client


def turn(person: Page, sense: str | None, move: str | None) -> None:
    person.receive_until("sense")
    person.sense(sense)
    person.move(move)


def play_out(white: Page, black: Page) -> None:
    """White takes the king of who only passes."""
    for number, move in enumerate(KING_HUNT):
        turn(white, "e7", move)
        if number + 1 < len(KING_HUNT):
            turn(black, None, None)
    white.receive_until("over")
    black.receive_until("over")


def games(client: TestClient) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get("/api/history").json()["games"]
    return listed


def test_one_begins_a_game_and_whoever_opens_its_link_takes_the_other_seat(host: TestClient) -> None:
    guest, third = another(host), another(host)
    game = host.post("/api/games", json=FRIEND).json()["game"]
    with page(host, game) as white:
        assert white.state["phase"] == "invited" and white.state["here"] is False
        assert refused(white.send({"type": "sense", "step": 0, "square": "e4"})) == "early"
        assert refused(white.send({"type": "resign"})) == "early"
        assert hung_up(guest, game)[0] == FREE_SEAT
        invitation = guest.get(f"/api/games/{game}/seat").json()
        assert invitation == {"color": "black", "clock": None, "taken": False}
        assert guest.post(f"/api/games/{game}/seat").json() == {"game": game}
        white.receive_until("sense")
        with page(guest, game) as black:
            assert json.loads(black.traffic[0])["game"]["color"] == "black"
            assert black.state == {"phase": "waiting", "clocks": None, "kept": True, "here": True}
            assert white.receive()["state"]["here"] is True
            assert refused(black.send({"type": "sense", "step": 0, "square": "e4"})) == "out of turn"
            turn(white, "e7", "e2e4")
            turn(black, "e2", "e7e5")
            white.receive_until("sense")
            for client in (third, TestClient(host.app, base_url=BASE)):
                client.portal = host.portal
                code, reason = hung_up(client, game)
                assert code == UNKNOWN_ORIGIN and reason == "both seats of this game are taken"
                for answer in (client.get(f"/api/games/{game}/seat"), client.post(f"/api/games/{game}/seat")):
                    assert answer.status_code == 403 and refused(answer.json()) == "taken"
                assert client.get(f"/api/games/{game}").status_code == 403
    assert third.get("/api/games").json() == []


def test_whoever_begins_it_cannot_take_the_other_seat_too(host: TestClient) -> None:
    game = host.post("/api/games", json=FRIEND).json()["game"]
    assert host.get(f"/api/games/{game}/seat").json() == {"color": "white", "clock": None, "taken": True}
    assert host.post(f"/api/games/{game}/seat").json() == {"game": game}
    with page(host, game) as person:
        assert person.state["phase"] == "invited"


def test_it_goes_on_after_a_closed_tab_and_a_restarted_server(tmp_path: Path) -> None:
    with server(tmp_path) as host:
        guest = another(host)
        game = between_people(host, guest, "black")
        with page(guest, game) as white:
            turn(white, "e7", "e2e4")
        with page(host, game) as black:
            assert [event["type"] for event in json.loads(black.traffic[0])["events"]] == ["turn"]
            assert black.state["phase"] == "sense" and black.state["here"] is False
            black.sense("e4")
        cookies = [client.cookies[PERSON_COOKIE] for client in (host, guest)]
    with server(tmp_path) as host:
        guest, third = another(host), another(host)
        for client, cookie in zip((host, guest), cookies, strict=True):
            client.cookies.set(PERSON_COOKIE, cookie)
        assert hung_up(third, game)[0] == UNKNOWN_ORIGIN
        with both_pages(host, guest, game) as (black, white):
            assert black.state["phase"] == "move" and white.state["phase"] == "waiting"
            assert [event["type"] for event in json.loads(white.traffic[0])["events"]] == ["turn", "sensed", "moved"]
            black.move("d7d5")
            white.receive_until("sense")


def test_an_invitation_outlives_the_server(tmp_path: Path) -> None:
    with server(tmp_path) as host:
        game = host.post("/api/games", json=FRIEND).json()["game"]
    with server(tmp_path) as host:
        guest = another(host)
        assert guest.post(f"/api/games/{game}/seat").status_code == 200
        with page(guest, game) as black:
            assert black.state["phase"] == "waiting"


def test_the_clocks_run_from_when_both_sit(tmp_path: Path) -> None:
    with server(tmp_path) as host:
        guest = another(host)
        game = host.post("/api/games", json={**FRIEND, "clock": {"seconds": 60, "increment": 2}}).json()["game"]
        with page(host, game) as white:
            assert white.state["clocks"] == {"white": 60, "black": 60, "running": None}
            guest.post(f"/api/games/{game}/seat")
            white.receive_until("sense")
            assert white.state["clocks"]["running"] == "white"
            with page(guest, game) as black:
                white.receive()
                turn(white, "e7", "e2e4")
                black.receive_until("sense")
                assert black.state["clocks"] == {"white": 62, "black": 60, "running": "black"}


def test_resigning_ends_it_for_both_and_it_is_in_the_history_of_both(host: TestClient) -> None:
    guest = another(host)
    game = between_people(host, guest)
    with both_pages(host, guest, game) as (white, black):
        black.send({"type": "resign"})
        for person in (white, black):
            person.receive_until("over")
            assert person.state["result"] == {"winner": "white", "reason": "RESIGN"}
    for client, color in ((host, "white"), (guest, "black")):
        (listed,) = games(client)
        assert (listed["id"], listed["color"], listed["opponent"]["player"]) == (game, color, None)
        assert listed["result"]["winner"] == "white"
        assert client.get(f"/api/games/{game}").status_code == 200


def test_how_it_ended_is_told_to_each_from_its_own_side(host: TestClient) -> None:
    guest = another(host)
    game = between_people(host, guest)
    with both_pages(host, guest, game) as (white, black):
        play_out(white, black)
    assert host.get(f"/api/games/{game}/ending").json()["loss"] is None
    assert guest.get(f"/api/games/{game}/ending").json()["loss"]["turn"] == 3
    assert another(host).get(f"/api/games/{game}/ending").json()["loss"] is None


def test_a_rematch_has_the_colours_swapped_and_begins_when_both_want_it(tmp_path: Path) -> None:
    with server(tmp_path) as host:
        guest, third = another(host), another(host)
        game = between_people(host, guest, clock={"seconds": 60, "increment": 2})
        assert refused(host.post(f"/api/games/{game}/rematch").json()) == "not over"
        with both_pages(host, guest, game) as (white, black):
            play_out(white, black)
            assert white.state["rematch"] is False
            assert refused(third.post(f"/api/games/{game}/rematch").json()) == "taken"
            again = guest.post(f"/api/games/{game}/rematch").json()["game"]
            assert again != game
            while not white.state["rematch"]:
                white.receive()
            assert again not in "".join(white.traffic + black.traffic)
        assert guest.post(f"/api/games/{game}/rematch").json()["game"] == again  # once more: the same one
        with page(guest, again) as white:
            assert white.state["phase"] == "invited"
            assert json.loads(white.traffic[0])["game"]["color"] == "white"
            assert json.loads(white.traffic[0])["game"]["clock"] == {"seconds": 60, "increment": 2}
            assert host.post(f"/api/games/{game}/rematch").json()["game"] == again
            white.receive_until("sense")
            with page(host, again) as black:
                assert black.state["phase"] == "waiting"
        assert hung_up(third, again)[0] == UNKNOWN_ORIGIN
        assert [listed["id"] for listed in games(host)] == [again, game]


def test_a_rematch_that_was_asked_for_outlives_the_server(tmp_path: Path) -> None:
    with server(tmp_path) as host:
        guest = another(host)
        game = between_people(host, guest)
        with page(guest, game) as black:
            black.send({"type": "resign"})
        again = host.post(f"/api/games/{game}/rematch").json()["game"]
        cookie = guest.cookies[PERSON_COOKIE]
    with server(tmp_path) as host:
        guest = another(host)
        guest.cookies.set(PERSON_COOKIE, cookie)
        with page(guest, game) as black:
            assert black.state["phase"] == "over" and black.state["rematch"] is True
        assert guest.post(f"/api/games/{game}/rematch").json()["game"] == again


def test_there_are_no_aids_between_two_people(host: TestClient) -> None:
    guest = another(host)
    game = between_people(host, guest)
    with page(host, game) as white:
        assert refused(white.send({"type": "hint", "step": 0})) == "no aids"
        assert refused(white.send({"type": "assist", "on": True})) == "no aids"
    assert games(host)[0]["aids"] == []


def test_who_deletes_a_game_gives_it_up_and_leaves_it_to_the_other(tmp_path: Path) -> None:
    with server(tmp_path) as host:
        guest = another(host)
        game = between_people(host, guest)
        with page(guest, game) as black:
            assert host.delete(f"/api/games/{game}").json() == {"deleted": 1}
            black.receive_until("over")
            assert black.state["result"] == {"winner": "black", "reason": "RESIGN"}
        assert games(host) == [] and len(games(guest)) == 1
        assert guest.get(f"/api/games/{game}").status_code == 200
        assert refused(host.delete(f"/api/games/{game}").json()) == "unknown game"
        assert guest.delete("/api/history").json() == {"deleted": 1}
        assert guest.get(f"/api/games/{game}").status_code == 404
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_invitation_can_be_taken_back(host: TestClient) -> None:
    game = host.post("/api/games", json=FRIEND).json()["game"]
    assert host.delete(f"/api/games/{game}").json() == {"deleted": 1}
    assert another(host).post(f"/api/games/{game}/seat").status_code == 404


def test_nobody_takes_a_seat_against_a_program(host: TestClient) -> None:
    game = host.post("/api/games", json={"mode": "play", "opponent": {"player": "random"}}).json()["game"]
    guest = another(host)
    for answer in (
        guest.get(f"/api/games/{game}/seat"),
        guest.post(f"/api/games/{game}/seat"),
        guest.post(f"/api/games/{game}/rematch"),
        host.post(f"/api/games/{game}/rematch"),
    ):
        assert answer.status_code == 403 and refused(answer.json()) == "taken"
    watched = {"mode": "watch", "white": {"player": "random"}, "black": {"player": "random"}, "paused": True}
    game = host.post("/api/games", json=watched).json()["game"]
    assert refused(guest.post(f"/api/games/{game}/seat").json()) == "taken"


def test_one_of_two_cannot_keep_the_other_out(host: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pages one person has open, there is room for the other's."""
    assert MOST_PAGES == 50
    monkeypatch.setattr("penumbra.server.live_game.MOST_PAGES", 1)
    guest = another(host)
    game = between_people(host, guest)
    with page(host, game):
        assert hung_up(host, game)[0] == LATER
        with page(guest, game) as black:
            assert black.state["phase"] == "waiting"


def test_a_public_server_asks_for_the_seat_and_no_more(tmp_path: Path) -> None:
    with TestClient(make_app(ServerSettings(tmp_path, secret=True)), base_url=BASE) as host:
        guest = another(host)
        game = between_people(host, guest)
        assert COOKIE not in host.cookies
        for client in (host, guest):
            with page(client, game) as person:
                assert person.state["phase"] in ("sense", "waiting")
        assert hung_up(another(host), game)[0] == UNKNOWN_ORIGIN


def test_a_seat_that_is_taken_twice_in_a_log_is_taken_once(tmp_path: Path) -> None:
    with server(tmp_path) as host:
        game = between_people(host, another(host))
    path = tmp_path / f"{game}.jsonl"
    line = path.read_text().splitlines()[-1]
    assert '"seat": "black"' in line
    path.write_text(path.read_text() + line.replace('"owner": "', '"owner": "f') + "\n")
    with server(tmp_path) as host:
        assert hung_up(another(host), game)[0] == UNKNOWN_ORIGIN
    story = read(path)
    assert len(story.lines) == 1, "the second line stays in the log"


def test_connections_of_both_are_limited_apart(host: TestClient) -> None:
    """A page that says too much is hung up on, and the other goes on."""
    guest = another(host)
    game = between_people(host, guest)
    with page(guest, game) as black:
        with page(host, game) as white:
            while not black.state["here"]:
                black.receive()
            for _ in range(connection.PATIENCE):
                white.socket.send_text("{")
            assert refused(white.receive()) == "malformed"
        while black.state["here"]:
            black.receive()
        assert refused(black.send({"type": "sense", "step": 0, "square": "e4"})) == "out of turn"
