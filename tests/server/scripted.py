"""A server in this process whose bots follow a script, and a page that keeps every byte it is sent."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.actions import PASS
from penumbra.server import connection
from penumbra.server.adviser import Adviser, AdviserSpec
from penumbra.server.application import ServerSettings, make_app
from penumbra.server.assistance import Assistant
from penumbra.server.bot_client import BotClient, Missing
from penumbra.server.bot_process import AssistantSpec, BotSpec
from penumbra.server.lobby import Lobby

BASE = "http://localhost"
Turn = tuple[int | None, int]  # the square sensed and the action, as the bot sees them
PASSES: list[Turn] = [(0, PASS)] * 60
KING_HUNT = ["b1c3", "c3b5", "b5d6", "d6e8"]  # White takes the king of who only passes


def refused(answer: Any) -> str:
    """The code of an answer that is an error."""
    assert answer["type"] == "error", answer
    assert answer["message"]
    return str(answer["code"])


def in_lobby(folder: Path, test: Callable[[Lobby], Awaitable[None]], most: int = 2) -> None:
    """Runs a test in a lobby of its own, in which bots pass."""

    async def run() -> None:
        lobby = Lobby(folder, ScriptedBots(PASSES), Configuration(), most, now=lambda: 0.0)
        try:
            await test(lobby)
        finally:
            await lobby.close()

    asyncio.run(run())


class ScriptedBots(BotClient):
    """Bots play `turns`, one after the other; assistants and jobs are the real ones, without a process."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        super().__init__()
        self.turns = list(turns)
        self.assistants: dict[str, Assistant | Adviser] = {}

    def prepare(self) -> None:
        """There is no process."""

    async def open(self, key: str, spec: BotSpec | AssistantSpec | AdviserSpec) -> None:
        if isinstance(spec, AdviserSpec):
            spec = dataclasses.replace(spec, configuration=Configuration(evaluator="heuristic"))
        if not isinstance(spec, BotSpec):
            self.assistants[key] = spec.open()

    async def call(self, key: str, method: str, *arguments: Any) -> Any:
        if method in ("report", "advise"):
            if key not in self.assistants:
                raise Missing(key)
            return getattr(self.assistants[key], method)(*arguments)
        if not self.turns and method != "moved":
            await asyncio.Future()  # thinks for ever
        if method == "sense":
            return self.turns[0][0], None
        if method == "move":
            return self.turns.pop(0)[1], 0, None
        return None

    def release(self, key: str) -> None:
        self.assistants.pop(key, None)

    async def try_out(self, name: str, configuration: Configuration) -> None:
        """Everything can play."""

    async def stream(self, job: Callable[..., Iterator[Any]], *arguments: Any) -> AsyncIterator[Any]:
        for item in job(*arguments):
            yield item


def identify() -> Callable[[], str]:
    """Ids that repeat from server to server."""
    numbers = iter(range(1, 1_000))
    return lambda: f"{next(numbers):022d}"


@contextlib.contextmanager
def server(folder: Path, turns: Sequence[Turn] = (), most: int = 4, burst: int = 100_000) -> Iterator[TestClient]:
    """A server with fixed ids, on which no time passes; a page may send `burst` messages at once."""
    lobby = Lobby(folder, ScriptedBots(turns), Configuration(), most, now=lambda: 0.0, new_id=identify())
    with (
        patch.object(connection, "BURST", burst),
        TestClient(make_app(ServerSettings(folder), lobby), base_url=BASE) as client,
    ):
        yield client


def new_game(client: TestClient, color: str = "white", player: str = "random", **wishes: Any) -> str:
    wish = {"mode": "play", "opponent": {"player": player}, "color": color, **wishes}
    answer = client.post("/api/games", json=wish)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["game"])


def another(client: TestClient) -> TestClient:
    """Another browser at the same server: it has cookies of its own."""
    other = TestClient(client.app, base_url=BASE)
    other.portal = client.portal
    return other


def between_people(host: TestClient, guest: TestClient, color: str = "white", **wishes: Any) -> str:
    """A game that one browser begins, and in which the other takes the seat that is free."""
    answer = host.post("/api/games", json={"mode": "friend", "color": color, **wishes})
    assert answer.status_code == 200, answer.text
    game = str(answer.json()["game"])
    assert guest.post(f"/api/games/{game}/seat").status_code == 200
    return game


class Page:
    """One connection to a game, as the page in the browser has it."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self.socket = socket
        self.traffic: list[str] = []
        self.state: dict[str, Any] = {}
        self.receive()

    def receive(self) -> Any:
        """The next message; the state it tells is kept."""
        text = self.socket.receive_text()
        self.traffic.append(text)
        message = json.loads(text)
        self.state = message.get("state", self.state)
        return message

    def send(self, message: object) -> Any:
        """Sends a message, or any text, and returns the answer."""
        self.socket.send_text(message if isinstance(message, str) else json.dumps(message))
        return self.receive()

    def receive_until(self, *phases: str) -> None:
        while self.state["phase"] not in phases:
            self.receive()

    def sense(self, square: str | None) -> Any:
        return self.send({"type": "sense", "step": self.state["step"], "square": square})

    def move(self, move: str | None) -> Any:
        return self.send({"type": "move", "step": self.state["step"], "move": move})


@contextlib.contextmanager
def page(client: TestClient, game: str) -> Iterator[Page]:
    with client.websocket_connect(f"ws://localhost/api/games/{game}/socket") as socket:
        yield Page(socket)


def hung_up(client: TestClient, game: str) -> tuple[int, str]:
    """How a socket is closed that may not see a game."""
    address = f"ws://localhost/api/games/{game}/socket"
    with client.websocket_connect(address) as socket, pytest.raises(WebSocketDisconnect) as closed:
        socket.receive_text()
    return closed.value.code, str(closed.value.reason)


@contextlib.contextmanager
def both_pages(first: TestClient, second: TestClient, game: str) -> Iterator[tuple[Page, Page]]:
    """Two people at their game, each of whom knows that the other is there."""
    with page(first, game) as one, page(second, game) as other:
        assert one.receive()["state"]["here"] and other.state["here"]
        yield one, other
