"""Games on the server: what a person can do, what is refused and how, what survives, and who is let in."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.actions import parse_action
from penumbra.server.application import ServerSettings, make_app
from penumbra.server.connection import LONGEST, PATIENCE, Connection
from penumbra.server.lobby import Lobby
from penumbra.server.messages import NewPlay, Sense, Side
from tests.server.scripted import (
    BASE,
    KING_HUNT,
    PASSES,
    ScriptedBots,
    new_game,
    page,
    refused,
    server,
)
from tests.support import DATA


def test_a_game_is_won_by_taking_the_king_and_only_then_shown_whole(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        with page(client, game) as person:
            for move in KING_HUNT:
                person.receive_until("sense")
                assert client.get(f"/api/games/{game}").status_code == 403
                seen = person.sense("e7")["event"]["seen"]
                assert seen["e8"] == "k"
                last = person.move(move)
            assert last["event"]["capture"] == "e8"
            person.receive_until("over")
            assert person.state["result"] == {"winner": "white", "reason": "KING_CAPTURE"}
        history = client.get(f"/api/games/{game}").json()
        assert history["type"] == "GameHistory"
        assert [listed["id"] for listed in client.get("/api/games").json()] == [game]
        lines = [json.loads(line) for line in client.post("/api/review", json=history).text.splitlines()]
        assert len(lines) == 1 + lines[0]["steps"] == 1 + 14


def test_black_is_told_in_real_squares_and_sees_captures(tmp_path: Path) -> None:
    """White takes the pawn on f7 by its bishop: Black learns the square, not the piece."""
    bot = [(0, parse_action(word)) for word in ("e2e4", "f1c4", "c4f7")]
    with server(tmp_path, bot) as client, page(client, new_game(client, "black")) as person:
        for move in ("a7a6", "a6a5"):
            person.receive_until("sense")
            assert person.sense("b7")["event"]["own"]["b7"] == "p"
            person.move(move)
        while person.state["phase"] != "sense":
            told = person.receive()
        assert told["event"]["capture"] == "f7"
        assert told["event"]["lost"] == "p"
        assert "f7" not in told["event"]["own"]


def test_each_message_that_cannot_be_granted_has_its_error_and_changes_nothing(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client, page(client, new_game(client)) as person:
        assert refused(person.send("{")) == "malformed"
        assert refused(person.send("[" * 600 + "]" * 400)) == "malformed"
        assert refused(person.send({"type": "dance"})) == "malformed"
        assert refused(person.send({"type": "sense", "step": 0, "square": "e9"})) == "malformed"
        assert refused(person.send({"type": "sense", "step": "0", "square": "e4"})) == "malformed"
        assert refused(person.send({"type": "move", "step": 0, "move": "pass"})) == "malformed"
        assert refused(person.send("x" * (LONGEST + 1))) == "too long"
        person.socket.send_bytes(b"\x00\xff")
        assert refused(person.receive()) == "malformed"
        assert refused(person.send({"type": "move", "step": 0, "move": "e2e4"})) == "wrong step"
        assert refused(person.send({"type": "sense", "step": 4, "square": "e4"})) == "early"
        assert refused(person.send({"type": "step"})) == "not watched"
        sense = {"type": "sense", "step": 0, "square": "e7"}
        assert person.send(sense)["event"]["square"] == "e7"
        assert refused(person.send(sense)) == "late"
        assert refused(person.move("e2e5")) == "illegal"
        assert refused(person.move("e7e5")) == "illegal"
        assert person.move("e2e4")["event"]["taken"] == "e2e4"
        person.receive_until("sense")
        assert refused(person.send({"type": "move", "step": 1, "move": "d2d4"})) == "late"
        person.send({"type": "resign"})
        assert refused(person.send(sense)) == "over"


def test_moves_out_of_turn_are_refused(tmp_path: Path) -> None:
    """The bot has no more moves in its script and so thinks for ever."""
    with server(tmp_path, []) as client, page(client, new_game(client, "black")) as person:
        assert person.state["phase"] == "waiting"
        assert refused(person.send({"type": "sense", "step": 2, "square": "e4"})) == "out of turn"
        assert person.send({"type": "resign"})["state"]["result"] == {"winner": "white", "reason": "RESIGN"}


def test_a_flood_ends_its_own_connection_and_no_other(tmp_path: Path) -> None:
    with server(tmp_path, PASSES, burst=10) as client:
        game, other = new_game(client), new_game(client)
        with page(client, other) as neighbour:
            with page(client, game) as person:
                codes = []
                with pytest.raises(WebSocketDisconnect) as hung_up:
                    for _ in range(PATIENCE + 100):
                        codes.append(refused(person.send({"type": "step"})))
                assert hung_up.value.code == 1008
                assert codes.count("not watched") >= 10
                assert codes.count("too many") >= PATIENCE
            assert neighbour.sense("e7")["event"]["square"] == "e7"
        with page(client, game) as person:
            assert person.sense("e7")["event"]["square"] == "e7"


def test_a_reload_is_told_everything_again(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        with page(client, game) as person:
            person.sense("e7")
            person.move("e2e4")
            person.receive_until("sense")
            person.sense("d7")
            events = [json.loads(text) for text in person.traffic]
            told = [*events[0]["events"], *(e["event"] for e in events[1:] if e.get("event"))]
        with page(client, game) as again:
            greeting = json.loads(again.traffic[0])
        assert greeting["events"] == told
        assert greeting["state"] == person.state


def test_what_happens_after_a_greeting_is_not_in_it(tmp_path: Path) -> None:
    """A message says how things stood when it was made, however late it is written."""
    written: list[str] = []

    class Socket:
        async def receive(self) -> dict[str, str]:
            await asyncio.sleep(0.05)
            return {"type": "websocket.disconnect"}

        async def send_text(self, text: str) -> None:
            written.append(text)

    async def run() -> None:
        lobby = Lobby(tmp_path, ScriptedBots(PASSES), Configuration(), 1)
        game = await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        connection = asyncio.create_task(Connection(cast(WebSocket, Socket()), game.place()).run())
        await asyncio.sleep(0)  # the greeting is queued, and nothing written yet
        game.place().handle(Sense(type="sense", step=0, square="e7"))
        await connection
        await lobby.close()

    asyncio.run(run())
    greeting, update = map(json.loads, written)
    assert [event["type"] for event in greeting["events"]] == ["turn"]
    assert greeting["state"]["phase"] == "sense"
    assert update["event"]["type"] == "sensed"


@pytest.mark.parametrize("torn", [b"", b'{"step": 6, "sen'])
def test_a_restart_loses_nothing_that_was_told(tmp_path: Path, torn: bytes) -> None:
    """Also when the server died in the middle of a line of its log."""
    clock = {"seconds": 600.0, "increment": 2.0}
    with server(tmp_path, PASSES) as client:
        game = new_game(client, clock=clock)
        with page(client, game) as person:
            person.sense("e7")
            person.move("e2e4")
            person.receive_until("sense")
            person.sense("d7")
    path = tmp_path / f"{game}.jsonl"
    path.write_bytes(path.read_bytes() + torn)
    with server(tmp_path, PASSES) as client, page(client, game) as again:
        greeting = json.loads(again.traffic[0])
        assert [event["type"] for event in greeting["events"]] == ["turn", "sensed", "moved", "turn", "sensed"]
        assert again.state == person.state
        assert again.state["clocks"] == {"white": 602.0, "black": 602.0, "running": "white"}
        assert again.move("d2d4")["event"]["taken"] == "d2d4"
        again.receive_until("sense")


def test_games_asleep_make_room_and_those_in_use_do_not(tmp_path: Path) -> None:
    with server(tmp_path, PASSES, most=2) as client:
        first, second = new_game(client), new_game(client)
        with page(client, second):
            third = new_game(client)  # the first sleeps now
            with page(client, third):
                answer = client.post("/api/games", json={"mode": "play", "opponent": {"player": "random"}})
                assert answer.status_code == 503
                assert "2 games" in answer.json()["message"]
        with page(client, first) as person:
            assert person.state["phase"] == "sense"


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ("{", "malformed"),
        ({}, "malformed"),
        ({"mode": "play"}, "malformed"),
        ({"mode": "play", "opponent": {"player": "nobody"}}, "unknown player"),
        ({"mode": "play", "opponent": {"player": "random"}, "clock": {"seconds": -1}}, "malformed"),
        ({"mode": "play", "opponent": {"player": "penumbra", "strength": {"nodes": 10**9}}}, "malformed"),
        ({"mode": "play", "opponent": {"player": "random"}, "fen": "8/8/8/8/8/8/8/8 w - - 0 1"}, "malformed"),
        ({"mode": "watch", "white": {"player": "random"}}, "malformed"),
        ("x" * 20_000, "too long"),
    ],
)
def test_games_that_cannot_be_made(tmp_path: Path, wish: Any, code: str) -> None:
    with server(tmp_path) as client:
        answer = client.post("/api/games", content=wish if isinstance(wish, str) else json.dumps(wish))
        assert answer.status_code in (400, 413)
        assert refused(answer.json()) == code
        assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize("game", ["x", "..%2f..%2fetc%2fpasswd", "A" * 22, "A" * 5_000])
def test_there_is_no_such_game(tmp_path: Path, game: str) -> None:
    with server(tmp_path) as client:
        assert client.get(f"/api/games/{game}").status_code == 404
        with pytest.raises(WebSocketDisconnect) as hung_up, page(client, game):
            pass
        assert hung_up.value.code in (4404, 1000)


def test_other_sites_are_kept_out(tmp_path: Path) -> None:
    """A page of another site sends its own origin; a name that leads here sends a host that is not ours."""
    app = make_app(ServerSettings(tmp_path))
    with TestClient(app, base_url=BASE) as client:
        wish = {"mode": "play", "opponent": {"player": "random"}}
        assert client.post("/api/games", json=wish, headers={"origin": "http://evil.example"}).status_code == 403
        assert client.post("/api/games", json=wish, headers={"origin": "http://localhost:9"}).status_code == 403
        assert client.get("/api/about", headers={"host": "evil.example"}).status_code == 403
        assert client.get("/api/about", headers={"origin": BASE}).status_code == 200
        socket = client.websocket_connect(
            f"ws://localhost/api/games/{'A' * 22}/socket", headers={"origin": "http://evil.example"}
        )
        with pytest.raises(WebSocketDisconnect) as hung_up, socket as open_socket:
            open_socket.receive_text()
        assert hung_up.value.code == 4403
        policy = client.get("/").headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"not a game", "is not JSON"),
        (b"[]", 'no "type"'),
        (b"\xff\xfe", "is not a text file"),
        (b'{"type": "GameHistory"}', "is missing"),
        (b"[" * 100_000, "nested too deeply"),
        (b" " * 4_000_001, "too long"),
    ],
)
def test_a_broken_game_file_is_told_what_is_wrong_with_it(tmp_path: Path, body: bytes, words: str) -> None:
    with server(tmp_path) as client:
        answer = client.post("/api/review", content=body)
        assert answer.status_code in (400, 413)
        assert words in answer.json()["message"]


def test_a_game_file_that_breaks_the_rules_is_told_the_turn(tmp_path: Path) -> None:
    game = json.loads((DATA / "paper_game.json").read_text())
    game["taken_moves"]["true"][1] = None
    with server(tmp_path) as client:
        assert "turn 2 of White: the move taken" in client.post("/api/review", json=game).json()["message"]
        wish = {"game": game, "turn": 1, "player": "white"}
        assert "turn 2 of White" in client.post("/api/analyse", json=wish).json()["message"]
