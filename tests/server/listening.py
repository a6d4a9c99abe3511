"""A server with scripted bots behind a real port of this process, and clients that say whatever they like."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn
from websockets.sync.client import ClientConnection, connect

from penumbra.players.penumbra.configuration import Configuration
from penumbra.server.application import ServerSettings, make_app
from penumbra.server.bot_client import BotClient
from penumbra.server.lobby import Lobby
from penumbra.server.serve import uvicorn_config
from tests.server.scripted import identify

SECONDS = 20.0  # that anything may take here


@contextlib.contextmanager
def listening(settings: ServerSettings, bots: BotClient) -> Iterator[int]:
    """The port of the server, which ends with the block."""
    lobby = Lobby(settings.folder, bots, Configuration(), settings.most_games, now=lambda: 0.0, new_id=identify())
    server = uvicorn.Server(uvicorn_config(make_app(settings, lobby), settings.most_games))
    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            deadline = time.monotonic() + SECONDS
            while not server.started and time.monotonic() < deadline:
                time.sleep(0.005)
            yield door.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(SECONDS)


def say(port: int, *lines: str, body: bytes = b"") -> bytes:
    """Sends these lines of a request and a body, whatever they are; all that comes back."""
    head = "".join(f"{line}\r\n" for line in (*lines, "Connection: close", ""))
    with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
        client.sendall(head.encode("latin-1") + body)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def status(answer: bytes) -> int:
    """Of an answer; 0 where there is none."""
    return int(answer.split(b" ", 2)[1]) if answer else 0


class Socket:
    """One page's connection to a game."""

    def __init__(self, port: int, game: str, **headers: str) -> None:
        url = f"ws://127.0.0.1:{port}/api/games/{game}/socket"
        self._opened = connect(url, additional_headers=headers, compression=None)
        self.connection: ClientConnection = self._opened.__enter__()

    def receive(self) -> Any:
        return json.loads(self.connection.recv(SECONDS))

    def send(self, **message: Any) -> Any:
        self.connection.send(json.dumps(message))
        return self.receive()

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.__exit__(None, None, None)


def begin(port: int, **wishes: Any) -> str:
    """A new game against a scripted bot."""
    wish = {"mode": "play", "opponent": {"player": "random"}, "color": "white", **wishes}
    answer = say(port, "POST /api/games HTTP/1.1", "Host: localhost", *_length(wish), body=json.dumps(wish).encode())
    assert status(answer) == 200, answer
    return str(json.loads(answer.partition(b"\r\n\r\n")[2])["game"])


def _length(body: object) -> tuple[str]:
    return (f"Content-Length: {len(json.dumps(body))}",)
