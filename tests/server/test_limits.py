"""The limits of the server are those that docs/server.md gives, and each ends what goes beyond it and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed

from penumbra.players import registry
from penumbra.rbc.player_view import listed_moves
from penumbra.server import answers, application, bots, connection, live_game, lobby, messages, serve
from penumbra.server.application import ServerSettings
from penumbra.server.bot_client import MOST_JOBS
from penumbra.server.connection import TOO_SLOW, Connection
from penumbra.server.jobs import LONGEST
from penumbra.server.live_game import LiveGame
from penumbra.server.lobby import Lobby
from penumbra.server.messages import Move, NewPlay, Sense, Side
from tests.server.listening import SECONDS, Socket, begin, listening, say, status
from tests.server.scripted import PASSES, ScriptedBots, in_lobby, refused, server
from tests.support import ROOT

PLAY: dict[str, Any] = {"mode": "play", "opponent": {"player": "random"}, "color": "white"}


def test_the_document_gives_the_limits_that_hold() -> None:
    text = (ROOT / "docs" / "server.md").read_text().partition("## Limits")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| (.*?) \| (.*?) \|", text, re.MULTILINE))
    rate, burst = application.NEW_GAMES
    expected: dict[str, list[float]] = {
        "games in memory": [ServerSettings.most_games],
        "memory of Penumbra in a game": [bots.GAME_MEMORY // 1_000_000],
        "memory of the bot process": [lobby.BASE_MEMORY // 1_000_000_000, 100 * lobby.SHARE_OF_MACHINE],
        "new games": [rate, burst],
        "turns of a game": [live_game.MOST_TURNS],
        "thought about a step": [messages.MOST_SECONDS, messages.MOST_NODES],
        "pages of a game": [live_game.MOST_PAGES],
        "connections": [serve.CONNECTIONS],
        "length of a message": [connection.LONGEST],
        "length of a frame": [serve.LONGEST_FRAME],
        "messages of a page": [connection.RATE, connection.BURST, connection.PATIENCE],
        "messages that a page is behind": [connection.BACKLOG, connection.BACKLOG_BYTES],
        "body of a new game": [application.LARGEST_WISH],
        "game file": [application.LARGEST_GAME, LONGEST],
        "time for a body": [answers.BODY_SECONDS],
        "reviews and analyses": [MOST_JOBS],
    }
    assert list(rows)[1:] == list(expected)
    for name, numbers in expected.items():
        found = [float(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", rows[name])]
        assert found == numbers, name


def test_new_games_are_made_at_a_rate(tmp_path: Path) -> None:
    _, burst = application.NEW_GAMES
    with server(tmp_path, most=burst) as client:
        codes = [client.post("/api/games", json=PLAY).status_code for _ in range(burst + 5)]
        assert codes.count(200) >= burst and codes[-1] == 429
        assert refused(client.post("/api/games", json=PLAY).json()) == "too many"


def test_a_game_that_does_not_end_is_drawn(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        game = await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        for _ in range(20):
            if game.over:
                break
            game.place().handle(Sense(type="sense", step=game.step, square=None))
            word = next(word for word in listed_moves(game.game) if word[1] < word[3])  # forwards
            game.place().handle(Move(type="move", step=game.step, move=word))
            while not game.over and not game.game.turn:
                await asyncio.sleep(0)
        assert game.result is not None and (game.result.winner, game.result.reason) == (None, "TURN_LIMIT")
        await lobby.close()
        assert lobby.record(game.setup.id).reason == "TURN_LIMIT"

    with patch.object(live_game, "MOST_TURNS", 5):
        in_lobby(tmp_path, test)


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    with patch.object(answers, "BODY_SECONDS", 0.1), listening(ServerSettings(tmp_path), ScriptedBots([])) as port:
        answer = say(port, "POST /api/review HTTP/1.1", "Host: localhost", "Content-Length: 10", body=b"{")
        assert status(answer) == 408 and b"too slow" in answer


def test_so_many_connections_and_no_more(tmp_path: Path) -> None:
    """Those that are there stay, and when they have gone there is room again."""
    settings = ServerSettings(tmp_path, most_games=1)
    with patch.object(serve, "CONNECTIONS", 3), listening(settings, ScriptedBots(PASSES)) as port:
        with Socket(port, begin(port)) as person, contextlib.ExitStack() as opened:
            step = person.receive()["state"]["step"]
            for _ in range(5):
                opened.enter_context(socket.create_connection(("127.0.0.1", port), SECONDS))
            assert status(say(port, "GET /api/games HTTP/1.1", "Host: localhost")) == 503
            assert person.send(type="sense", step=step, square="e7")["event"]["square"] == "e7"
        answers = (say(port, "GET /api/games HTTP/1.1", "Host: localhost") for _ in range(100))
        assert 200 in map(status, answers)


def test_a_frame_that_is_too_long_ends_its_connection(tmp_path: Path) -> None:
    with listening(ServerSettings(tmp_path), ScriptedBots(PASSES)) as port, Socket(port, begin(port)) as person:
        person.receive()
        assert person.send(x="x" * 2_000)["code"] == "too long"
        person.connection.send("x" * (serve.LONGEST_FRAME + 1))
        with pytest.raises(ConnectionClosed) as closed:
            person.receive()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009


@pytest.mark.parametrize(("limit", "most"), [("BACKLOG", 10), ("BACKLOG_BYTES", 1_000)])
def test_a_page_that_does_not_listen_is_hung_up_on(tmp_path: Path, limit: str, most: int) -> None:
    """It has got nothing of a hundred messages, and comes back to be told everything."""
    written: list[str] = []
    closed: list[int] = []

    class Deaf:
        async def receive(self) -> dict[str, str]:
            while not closed:
                await asyncio.sleep(0.001)
            return {"type": "websocket.disconnect"}

        async def send_text(self, text: str) -> None:
            written.append(text)

        async def close(self, code: int) -> None:
            closed.append(code)

    async def test(lobby: Lobby) -> None:
        game: LiveGame = await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        talk = Connection(cast(WebSocket, Deaf()), game.place())
        task = asyncio.create_task(talk.run())
        await asyncio.sleep(0)
        for number in range(100):
            talk.send({"number": number, "text": "x" * 50})
        await task
        assert closed == [TOO_SLOW] and len(written) <= 11
        assert [json.loads(text)["number"] for text in written[1:]] == list(range(len(written) - 1))

    with patch.object(connection, limit, most):
        in_lobby(tmp_path, test)


@pytest.mark.parametrize("strength", [{"nodes": 1}, {"nodes": 1_000_000}, {"seconds": 1e-300}, {"seconds": 60}])
def test_every_player_can_be_asked_for_within_the_limits(tmp_path: Path, strength: dict[str, float]) -> None:
    players = list(registry.ENTRIES)
    with server(tmp_path, most=len(players)) as client:
        for player in players:
            answer = client.post("/api/games", json=PLAY | {"opponent": {"player": player, "strength": strength}})
            assert answer.status_code == 200 or refused(answer.json()) == "unknown player", answer.text


@pytest.mark.parametrize("strength", [{"nodes": 0}, {"nodes": 1_000_001}, {"seconds": 0}, {"seconds": 61}])
def test_no_player_can_be_asked_for_beyond_the_limits(tmp_path: Path, strength: dict[str, float]) -> None:
    with server(tmp_path) as client:
        answer = client.post("/api/games", json=PLAY | {"opponent": {"player": "penumbra", "strength": strength}})
        assert refused(answer.json()) == "malformed"
