"""Many games at once, in `make evidence`: fifty for two minutes without a loss, and how long an answer takes."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.server.browser import Server, serving
from tests.server.figures import BOTS, note, summary

pytestmark = pytest.mark.evidence


class Person:
    """Plays at random, game after game, and checks that no event is missing."""

    def __init__(self, server: Server, number: int, player: str, strength: dict[str, Any] | None = None) -> None:
        self.server = server
        self.rng = random.Random(number)
        self.opponent = {"player": player, "strength": strength or {}}
        self.latencies: list[float] = []  # of the answers to senses, which need no bot
        self.games = 0
        self.turns = 0

    async def play(self, until: float, pause: float) -> None:
        while time.monotonic() < until:
            wish = {"mode": "play", "opponent": self.opponent, "color": self.rng.choice(("white", "black"))}
            game = await self._new_game(wish)
            async with connect(f"ws://127.0.0.1:{self.server.port}/api/games/{game}/socket") as socket:
                await self._play_game(socket, until, pause)
            self.games += 1

    async def _new_game(self, wish: dict[str, Any]) -> str:
        """A server asked for too many games at once says so, and is asked again."""
        while True:
            try:
                return str((await asyncio.to_thread(self._post, wish))["game"])
            except HTTPError as refusal:
                assert refusal.code == 429
                await asyncio.sleep(1)

    async def _play_game(self, socket: ClientConnection, until: float, pause: float) -> None:
        message = json.loads(await socket.recv())
        events, state = message["events"], message["state"]
        while state["phase"] != "over" and time.monotonic() < until:
            sent = None
            if state["phase"] == "sense":
                square = self.rng.choice("bcdefg") + self.rng.choice("234567")
                await asyncio.sleep(pause)
                sent = time.monotonic()
                await socket.send(json.dumps({"type": "sense", "step": state["step"], "square": square}))
            elif state["phase"] == "move":
                move = self.rng.choice([*state["moves"], None])
                await socket.send(json.dumps({"type": "move", "step": state["step"], "move": move}))
                self.turns += 1
            message = json.loads(await asyncio.wait_for(socket.recv(), 60))
            if sent is not None:
                self.latencies.append(time.monotonic() - sent)
            assert message["type"] == "update", message
            if message["event"] is not None:
                events.append(message["event"])
            state = message["state"]
        kinds = [event["type"] for event in events]
        assert kinds == [("turn", "sensed", "moved")[i % 3] for i in range(len(kinds))]

    def _post(self, wish: dict[str, Any]) -> Any:
        url = f"{self.server.url}/api/games"
        with urlopen(Request(url, json.dumps(wish).encode(), method="POST"), timeout=60) as answer:
            return json.loads(answer.read())


def play(people: list[Person], seconds: float, pause: float) -> list[float]:
    async def run() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(person.play(until, pause) for person in people))

    asyncio.run(run())
    return sorted(latency for person in people for latency in person.latencies)


def test_fifty_games_for_two_minutes(tmp_path: Path) -> None:
    with serving(tmp_path, "--active-games", "60") as server:
        people = [Person(server, number, BOTS[number % len(BOTS)]) for number in range(50)]
        latencies = play(people, 120, 0.3)
    totals = {"turns": sum(person.turns for person in people), "games": sum(person.games for person in people)}
    note("50 games for 120 s", summary(latencies) | totals)
    assert all(person.turns > 0 for person in people)


def test_an_answer_takes_less_than_fifty_milliseconds_with_twenty_games_open(tmp_path: Path) -> None:
    """Against Penumbra, which thinks all the time."""
    with serving(tmp_path) as server:
        people = [Person(server, number, "penumbra", {"seconds": 0.5}) for number in range(20)]
        latencies = play(people, 60, 0.5)
    note("20 games against Penumbra, half a second a step, for 60 s", summary(latencies))
    assert latencies[int(0.95 * len(latencies))] < 0.05
