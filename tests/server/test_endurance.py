"""Hundreds of games for minutes, with messages that cannot be meant among the others, in `make evidence`.

A game that is over leaves nothing behind in the memory of the server and of its bots, no game is lost, and answers come
within the limits of docs/server.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from websockets.asyncio.client import ClientConnection, connect

from penumbra.server.game_log import read
from penumbra.server.memory import children, resident
from tests.server.browser import Server, serving
from tests.server.figures import BOTS, left_behind, note, summary

pytestmark = pytest.mark.evidence

MALFORMED = 0.02  # of all messages
COMES_BACK = 0.01  # of all turns: the page is loaded again
NONSENSE = [
    "{",
    "\0",
    "[" * 900,
    '"' + "x" * 1_100 + '"',
    '{"type": "dance"}',
    '{"type": "sense", "step": 1e999, "square": "e4"}',
    '{"type": "sense", "step": 0, "square": "e9"}',
    '{"type": "move", "step": -1, "move": "e2e4"}',
    '{"type": "pace", "paused": 1}',
]
LEFT = {"server": 25.0, "bots": 200.0}  # kilobytes that a game may leave behind; a server that keeps games: 140
WARM_UP = 0.6  # of the time, in which modules and weights are loaded, and what is freed is not yet used again
WITHIN = {0.95: 0.1, 0.99: 0.5}  # share of answers: seconds


@dataclass
class Guest:
    """Plays game after game at random, says nonsense now and then, and keeps what it is told."""

    server: Server
    number: int
    latencies: list[float] = field(default_factory=list)  # of senses and of nonsense, which no bot has a part in
    told: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # events, by game
    turns: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.number)
        penumbra = self.number % 10 == 0
        name = "penumbra" if penumbra else BOTS[self.number % len(BOTS)]
        self.opponent = {"player": name, "strength": {"nodes": 50} if penumbra else {}}

    async def play(self, until: float, pause: float) -> None:
        while time.monotonic() < until:
            wish = {"mode": "play", "opponent": self.opponent, "color": self.rng.choice(("white", "black"))}
            game = await self.new_game(wish)
            self.told[game] = []
            while time.monotonic() < until:
                async with connect(f"ws://127.0.0.1:{self.server.port}/api/games/{game}/socket") as socket:
                    if await self.play_on(game, socket, until, pause):
                        break

    async def new_game(self, wish: dict[str, Any]) -> str:
        request = Request(f"{self.server.url}/api/games", json.dumps(wish).encode(), method="POST")
        while True:
            try:
                answer = await asyncio.to_thread(urlopen, request, timeout=60)
                return str(json.loads(answer.read())["game"])
            except HTTPError as refusal:
                assert refusal.code == 429, refusal
                await asyncio.sleep(1)

    async def play_on(self, game: str, socket: ClientConnection, until: float, pause: float) -> bool:
        """Until the game is over, or the page is loaded again; whether it is over."""
        greeting = json.loads(await socket.recv())
        told = self.told[game]
        assert greeting["events"][: len(told)] == told, "what was told is told otherwise"
        told[:] = greeting["events"]
        state = greeting["state"]
        while state["phase"] != "over" and time.monotonic() < until:
            if state["phase"] == "waiting":
                state = await self.hear(socket, told)
                continue
            if self.rng.random() < MALFORMED:
                await self.say_nonsense(socket)
            if state["phase"] == "sense":
                await asyncio.sleep(pause * self.rng.uniform(0.5, 1.5))
                square = self.rng.choice("bcdefg") + self.rng.choice("234567")
                began = time.monotonic()
                await socket.send(json.dumps({"type": "sense", "step": state["step"], "square": square}))
                state = await self.hear(socket, told)
                self.latencies.append(time.monotonic() - began)
            else:
                move = self.rng.choice([*state["moves"], None])
                await socket.send(json.dumps({"type": "move", "step": state["step"], "move": move}))
                state = await self.hear(socket, told)
                self.turns += 1
                if self.rng.random() < COMES_BACK:
                    return False
        return bool(state["phase"] == "over")

    async def hear(self, socket: ClientConnection, told: list[dict[str, Any]]) -> dict[str, Any]:
        message = json.loads(await asyncio.wait_for(socket.recv(), 60))
        assert message["type"] == "update", message
        if message["event"] is not None:
            told.append(message["event"])
        assert message["state"]["kept"] and message["state"].get("result", {}).get("reason") != "CRASH"
        state: dict[str, Any] = message["state"]
        return state

    async def say_nonsense(self, socket: ClientConnection) -> None:
        began = time.monotonic()
        await socket.send(self.rng.choice(NONSENSE))
        assert json.loads(await asyncio.wait_for(socket.recv(), 60))["type"] == "error"
        self.latencies.append(time.monotonic() - began)
        self.refused += 1


@dataclass
class Memory:
    """Megabytes of the server and of its bots, every second, and what had been played by then."""

    pid: int
    guests: list[Guest]
    server: list[float] = field(default_factory=list)
    bots: list[float] = field(default_factory=list)
    events: list[int] = field(default_factory=list)  # of the games that are open
    games: list[int] = field(default_factory=list)  # that were begun

    async def watch(self) -> None:
        while True:
            bots = sum(resident(child) for child in children(self.pid))
            self.server.append((resident(self.pid) - bots) / 1e6)
            self.bots.append(bots / 1e6)
            self.events.append(sum(len(list(guest.told.values())[-1]) for guest in self.guests if guest.told))
            self.games.append(sum(len(guest.told) for guest in self.guests))
            await asyncio.sleep(1)

    def left_behind(self) -> dict[str, float]:
        """Kilobytes of each game that is over."""
        n = int(WARM_UP * len(self.games))
        events, games = self.events[n:], self.games[n:]
        return {
            "server": left_behind(self.server[n:], events, games),
            "bots": left_behind(self.bots[n:], events, games),
        }


def thirds(figures: Sequence[float]) -> tuple[float, float, float]:
    n = len(figures) // 3
    return mean(figures[:n]), mean(figures[n : 2 * n]), mean(figures[2 * n :])


@contextlib.contextmanager
def server_for(folder: Path, games: int) -> Iterator[Server]:
    with serving(folder, "--active-games", str(games + 10), "--game-memory", "32") as server:
        yield server


@pytest.mark.parametrize(("games", "seconds"), [(20, 420), (200, 600)])
def test_nothing_grows_and_nothing_is_lost(tmp_path: Path, games: int, seconds: float) -> None:
    async def run(server: Server, guests: list[Guest], memory: Memory) -> None:
        watching = asyncio.create_task(memory.watch())
        until = time.monotonic() + seconds
        await asyncio.gather(*(guest.play(until, 0.5) for guest in guests))
        watching.cancel()

    with server_for(tmp_path, games) as server:
        assert server.process is not None
        guests = [Guest(server, number) for number in range(games)]
        memory = Memory(server.process.pid, guests)
        asyncio.run(run(server, guests, memory))
    latencies = sorted(latency for guest in guests for latency in guest.latencies)
    messages = sum(2 * guest.turns + guest.refused for guest in guests)
    figures = {
        "games": sum(len(guest.told) for guest in guests),
        "turns": sum(guest.turns for guest in guests),
        "malformed, %": round(100 * sum(guest.refused for guest in guests) / messages, 1),
        "server, MB, by thirds of the time": [round(figure) for figure in thirds(memory.server)],
        "bots, MB, by thirds of the time": [round(figure) for figure in thirds(memory.bots)],
        "events of open games, by thirds of the time": [round(figure) for figure in thirds(memory.events)],
        "left behind by a game, kB": {name: round(left, 1) for name, left in memory.left_behind().items()},
        **summary(latencies),
    }
    note(f"{games} games open for {seconds:g} s, malformed messages among others", figures)

    with server_for(tmp_path, games) as again:
        check_that_none_is_lost(again, guests)
    for share, within in WITHIN.items():
        assert latencies[int(share * len(latencies))] < within, figures
    for name, left in memory.left_behind().items():
        assert left < LEFT[name], figures


def check_that_none_is_lost(server: Server, guests: list[Guest]) -> None:
    """A new server tells each game that was not over as it was told before, and those that are over are listed."""
    finished = {game["id"] for game in json.loads(urlopen(f"{server.url}/api/games").read())}

    async def come_back(game: str, told: list[dict[str, Any]]) -> None:
        async with connect(f"ws://127.0.0.1:{server.port}/api/games/{game}/socket", max_size=None) as socket:
            greeting = json.loads(await socket.recv())
            assert greeting["events"][: len(told)] == told

    async def run() -> None:
        for guest in guests:
            for game, told in guest.told.items():
                story = read(server.folder / f"{game}.jsonl")
                if story.result is None:
                    await come_back(game, told)
                elif len(finished) < 200:
                    assert game in finished
                steps = 1 + max((event["step"] for event in told if event["type"] != "turn"), default=-1)
                assert len(story.steps) >= steps

    asyncio.run(run())
    assert not list(server.folder.glob("*.damaged"))
