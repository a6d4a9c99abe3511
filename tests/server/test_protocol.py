"""The protocol as a state machine: pages come, go, play and send nonsense; servers end and begin; disks fill up.

Whatever happens, all pages of a game are told the same events in the same order, nothing that was told and written is
ever taken back, and a message that is refused changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.actions import SQUARE_NAMES
from penumbra.server.game_log import read
from penumbra.server.human_game import HumanGame
from penumbra.server.lobby import Lobby
from penumbra.server.messages import NewPlay, Refusal, parse_message
from tests.server.scripted import ScriptedBots
from tests.support.evidence import scale

MOST = 2  # games in memory
NONSENSE = [
    "{",
    '"sense"',
    '{"type": "sense", "step": 0, "square": "e4"}',
    '{"type": "move", "step": 1, "move": "e7e5"}',
    '{"type": "move", "step": 99999, "move": "e2e4"}',
    '{"type": "sense", "step": -1, "square": null}',
    '{"type": "move", "step": 3, "move": "e2e9"}',
    '{"type": "step"}',
    '{"type": "pace", "paused": true}',
]


class RandomBots(ScriptedBots):
    """Does anything that is allowed; remembers nothing."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__([])
        self.rng = rng

    async def call(self, key: str, method: str, *arguments: Any) -> Any:
        if method == "report":
            return await super().call(key, method, *arguments)
        await asyncio.sleep(0)
        if method == "sense":
            return self.rng.randrange(64), None
        actions: Sequence[int] = arguments[-1] if method == "move" else [0]
        return self.rng.choice(actions), 0, None


@dataclass(eq=False)
class Page:
    """What one page has been told."""

    game: HumanGame
    events: list[dict[str, Any]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)

    def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "game":
            self.events = list(message["events"])
        elif message["type"] == "update" and message["event"] is not None:
            self.events.append(message["event"])
        self.state = message.get("state", self.state)


class Protocol(RuleBasedStateMachine):
    games = Bundle("games")
    pages = Bundle("pages")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.rng = random.Random(1)
        self.loop = asyncio.new_event_loop()
        self.full = False
        self.write = os.pwrite
        self.patched = patch.object(os, "pwrite", self.pwrite)
        self.patched.start()
        self.lobby = self.new_lobby()
        self.open: set[Page] = set()
        self.told: dict[str, list[dict[str, Any]]] = {}  # by game; what was written of it is never told otherwise

    def teardown(self) -> None:
        self.patched.stop()
        self.do(self.lobby.close)
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder)

    def pwrite(self, file: int, data: bytes, offset: int) -> int:
        """On a full disk there is still room for half a line."""
        if self.full:
            if self.rng.random() < 0.5:
                raise OSError(errno.ENOSPC, "No space left on device")
            data = data[: len(data) // 2]
        return self.write(file, data, offset)

    def new_lobby(self) -> Lobby:
        return Lobby(self.folder, RandomBots(self.rng), Configuration(), MOST, now=lambda: 0.0)

    def do(self, act: Callable[[], Any]) -> Any:
        """Something in the event loop, and all that follows from it."""

        async def run() -> Any:
            result = act()
            if asyncio.iscoroutine(result):
                result = await result
            for _ in range(30):
                await asyncio.sleep(0)
            return result

        return self.loop.run_until_complete(run())

    # -- what may happen

    @rule(target=games, color=st.sampled_from(["white", "black"]))
    def begin(self, color: str) -> str:
        wish = NewPlay.model_validate({"mode": "play", "opponent": {"player": "random"}, "color": color})
        with contextlib.suppress(Refusal):
            game = self.do(lambda: self.lobby.create(wish))
            self.told[game.setup.id] = []
            return str(game.setup.id)
        assert all(game.listeners or not game.kept for game in self.lobby.awake.values())
        return "none"

    @rule(target=pages, game=games)
    def come(self, game: str) -> Page | None:
        try:
            found = self.lobby_find(game)
        except Refusal as refusal:
            assert refusal.code in ("unknown game", "unreadable", "full")
            return None
        page = Page(found)
        self.do(lambda: found.place().join(page))
        self.open.add(page)
        return page

    def lobby_find(self, game: str) -> HumanGame:
        found = self.do(lambda: self.lobby.find(game))
        assert isinstance(found, HumanGame)
        return found

    @rule(page=consumes(pages))
    def go(self, page: Page | None) -> None:
        if page in self.open:
            self.open.discard(page)
            self.do(lambda: page.game.place().leave(page))

    @rule(page=pages, square=st.sampled_from([*SQUARE_NAMES, None]), number=st.integers(0, 50))
    def act(self, page: Page | None, square: str | None, number: int) -> None:
        """The page does what its state says that it may, and is then told so."""
        if page not in self.open or page.state["phase"] not in ("sense", "move"):
            return
        before = len(page.events)
        message: dict[str, Any] = {"type": page.state["phase"], "step": page.state["step"]}
        moves = [*page.state.get("moves", []), None]
        message |= {"square": square} if message["type"] == "sense" else {"move": moves[number % len(moves)]}
        self.say(page, message)
        assert page.events[before]["type"] == ("sensed" if message["type"] == "sense" else "moved")
        assert page.events[before]["step"] == message["step"]

    @rule(page=pages, text=st.sampled_from(NONSENSE) | st.text(max_size=20))
    def say_nonsense(self, page: Page | None, text: str) -> None:
        if page not in self.open:
            return
        game, step = page.game, page.game.step
        with contextlib.suppress(Refusal):
            self.do(lambda: game.place().handle(parse_message(text)))
            assert step == 0 and '"step": 0' in text, "it was taken for a message"
            return
        assert game.step == step

    @rule(page=pages)
    def resign(self, page: Page | None) -> None:
        if page in self.open and page.state["phase"] != "over":
            self.say(page, {"type": "resign"})
            assert page.state["phase"] == "over" and page.state["result"]["reason"] == "RESIGN"

    def say(self, page: Page, message: dict[str, Any]) -> None:
        self.do(lambda: page.game.place().handle(parse_message(json.dumps(message))))

    @rule(full=st.booleans())
    def fill_the_disk(self, full: bool) -> None:
        self.full = full

    @rule(killed=st.booleans())
    def restart(self, killed: bool) -> None:
        """What is not on the disk is lost, and only that."""
        unkept = {game_id for game_id, game in self.lobby.awake.items() if not game.kept}
        before = {game_id: self.steps_on_disk(game_id) for game_id in self.told}
        for game in self.lobby.awake.values():
            if killed:
                game._log._waiting.clear()
        self.do(self.lobby.close)
        self.lobby = self.new_lobby()
        self.open.clear()
        for game_id, steps in before.items():
            assert self.steps_on_disk(game_id) >= steps
            if game_id not in unkept:
                assert self.steps_on_disk(game_id) == steps
            elif not self.path(game_id).exists() or not self.path(game_id).stat().st_size:
                del self.told[game_id]
            else:
                steps = self.steps_on_disk(game_id)
                self.told[game_id] = [event for event in self.told[game_id] if event["step"] < steps]

    @rule(game=games, torn=st.binary(max_size=10))
    def tear(self, game: str, torn: bytes) -> None:
        """The end of a log that nobody has open is damaged."""
        path = self.path(game)
        if game not in self.lobby.awake and path.is_file():
            with path.open("ab") as file:
                file.write(torn)

    def path(self, game_id: str) -> Path:
        return self.folder / f"{game_id}.jsonl"

    def steps_on_disk(self, game_id: str) -> int:
        with contextlib.suppress(ValueError, FileNotFoundError):
            return len(read(self.path(game_id)).steps)
        return 0

    # -- what always holds

    @invariant()
    def all_pages_are_told_the_same(self) -> None:
        for page in self.open:
            told = self.told[page.game.setup.id]
            assert page.events[: len(told)] == told, "what was told is told otherwise"
            self.told[page.game.setup.id] = list(page.events)
        for page in self.open:
            assert page.events == self.told[page.game.setup.id]
            assert page.game is self.lobby.awake[page.game.setup.id]
            kinds = [event["type"] for event in page.events]
            assert kinds == [("turn", "sensed", "moved")[i % 3] for i in range(len(kinds))]

    @invariant()
    def a_page_knows_how_things_stand(self) -> None:
        for page in self.open:
            assert page.state == page.game.place().state()
            if page.state["phase"] in ("sense", "move"):
                assert page.state["step"] == page.game.step

    @invariant()
    def what_is_needed_is_in_memory_and_no_more(self) -> None:
        assert len(self.lobby.awake) <= MOST
        for game in self.lobby.awake.values():
            assert not game.over or game.listeners or not game.kept

    @invariant()
    def the_disk_holds_every_step(self) -> None:
        for game in self.lobby.awake.values():
            if game.kept:
                story = read(self.path(game.setup.id))
                assert len(story.steps) == game.step and (story.result is not None) == game.over


Protocol.TestCase.settings = settings(
    max_examples=scale(50, 1_000),
    stateful_step_count=scale(40, 100),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestProtocol = Protocol.TestCase
