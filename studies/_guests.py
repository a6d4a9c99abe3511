"""Guests of a server that goes away and comes back: they play on, and notice if they are told anything else."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.request import Request, urlopen

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

PATIENCE = 60.0  # seconds for an answer; a bot may have to be made again
SECONDS = 3600.0  # of each clock, which nobody uses up
PAUSE = 0.08  # between messages: more than 20 a second are refused


class Wrong(Exception):
    """A guest was told what must not be told."""


@dataclass
class Guest:
    """Plays game after game at random."""

    port: int
    rng: random.Random
    opponent: str
    told: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # events, by game
    game: str = ""  # that is played
    turns: int = 0
    finished: int = 0
    crashed: int = 0
    fault: str = ""

    def play(self, stop: threading.Event) -> None:
        """Until it is told to stop, whatever becomes of the server; `fault` says what went wrong."""
        try:
            while not stop.is_set():
                with contextlib.suppress(OSError, WebSocketException):
                    self.visit(stop)
                time.sleep(0.05)
        except Exception as wrong:
            self.fault = f"a guest of {self.opponent}, game {self.game}: {type(wrong).__name__}: {wrong}"

    def visit(self, stop: threading.Event) -> None:
        """As long as the server is there."""
        if not self.game:
            self.game = self.new_game()
            self.told[self.game] = []
        address = f"ws://127.0.0.1:{self.port}/api/games/{self.game}/socket"
        with connect(address, max_size=None, open_timeout=PATIENCE, close_timeout=1) as socket:
            self.play_on(socket, stop)

    def new_game(self) -> str:
        side = {"player": self.opponent, "strength": {}}
        clock = {"seconds": SECONDS, "increment": 0.0}
        wish = {"mode": "play", "opponent": side, "color": self.rng.choice(("white", "black")), "clock": clock}
        request = Request(f"http://127.0.0.1:{self.port}/api/games", json.dumps(wish).encode(), method="POST")
        with urlopen(request, timeout=PATIENCE) as answer:
            return str(json.loads(answer.read())["game"])

    def play_on(self, socket: ClientConnection, stop: threading.Event) -> None:
        greeting = json.loads(socket.recv(PATIENCE))
        self.check_greeting(greeting)
        state = greeting["state"]
        while state["phase"] != "over" and not stop.wait(PAUSE):
            if state["phase"] == "sense":
                square = self.rng.choice("bcdefg") + self.rng.choice("234567")
                socket.send(json.dumps({"type": "sense", "step": state["step"], "square": square}))
            elif state["phase"] == "move":
                move = self.rng.choice([*state["moves"], None])
                socket.send(json.dumps({"type": "move", "step": state["step"], "move": move}))
                self.turns += 1
            state = self.hear(socket)
            check_clocks(state)
        if state["phase"] == "over":
            self.finish(state["result"])

    def check_greeting(self, greeting: dict[str, Any]) -> None:
        """What was told before is told again, and nothing twice."""
        told, events = self.told[self.game], greeting["events"]
        if events[: len(told)] != told:
            raise Wrong(f"what was told is told otherwise: {told[-1]}")
        steps = [(event["type"], event["step"]) for event in events]
        if len(set(steps)) < len(steps):
            raise Wrong(f"an event is told twice: {steps}")
        told[:] = events
        check_clocks(greeting["state"])

    def hear(self, socket: ClientConnection) -> dict[str, Any]:
        message = json.loads(socket.recv(PATIENCE))
        if message["type"] != "update":
            raise Wrong(f"instead of an update: {message}")
        if message["event"] is not None:
            self.told[self.game].append(message["event"])
        state: dict[str, Any] = message["state"]
        return state

    def finish(self, result: dict[str, Any]) -> None:
        """A program whose process was killed again and again may have given up; nobody loses on time."""
        if result["reason"] == "TIMEOUT":
            raise Wrong(f"somebody has lost on time: {result}")
        self.crashed += result["reason"] == "CRASH"
        self.finished += 1
        self.game = ""


def check_clocks(state: dict[str, Any]) -> None:
    for color in ("white", "black"):
        if not 0 < state["clocks"][color] <= SECONDS:
            raise Wrong(f"a clock shows what it cannot: {state['clocks']}")


@contextlib.contextmanager
def at_play(guests: list[Guest]) -> Iterator[None]:
    """They play as long as the block lasts."""
    stop = threading.Event()
    threads = [threading.Thread(target=guest.play, args=(stop,)) for guest in guests]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
