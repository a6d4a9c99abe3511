"""All games of a server: made, found again after a restart, put to sleep when nobody needs them."""

from __future__ import annotations

import contextlib
import logging
import random
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.server import bots
from penumbra.server.bot_client import BotClient
from penumbra.server.bot_game import BotGame
from penumbra.server.game_log import GameLog, Setup, SideSetup
from penumbra.server.human_game import HumanGame
from penumbra.server.live_game import LiveGame
from penumbra.server.messages import Clock, NewGame, NewPlay, NewWatch, Refusal, Side, Strength

log = logging.getLogger(__name__)

PERSON = "Person"  # the name of whoever plays here, in records
_ID = re.compile(r"[A-Za-z0-9_-]{22}")


class Lobby:
    """At most `most` games are awake at once. A game's id cannot be guessed: whoever has it may play or watch."""

    def __init__(
        self,
        folder: Path,
        client: BotClient,
        configuration: Configuration,
        most: int,
        now: Callable[[], float] = time.monotonic,
        new_id: Callable[[], str] = lambda: secrets.token_urlsafe(16),
    ) -> None:
        self.folder = folder
        self.client = client
        self.awake: dict[str, LiveGame] = {}  # the one used longest ago first
        self._configuration = configuration
        self._most = most
        self._now = now
        self._new_id = new_id
        folder.mkdir(parents=True, exist_ok=True)

    async def create(self, wish: NewGame) -> LiveGame:
        """A new game, started."""
        await self._make_room()
        match wish:
            case NewPlay(opponent=opponent, color=color, clock=clock):
                white = color == "white" or (color == "random" and secrets.randbelow(2) == 1)
                sides = (SideSetup(PERSON), self._side(opponent))
                setup = self._setup(*(sides if white else sides[::-1]), clock)
            case NewWatch(clock=clock):
                setup = self._setup(self._side(wish.white), self._side(wish.black), clock)
        game_log = GameLog(self.folder / f"{setup.id}.jsonl")
        game_log.create(setup)
        game = self._wake(setup, game_log)
        if isinstance(game, BotGame) and isinstance(wish, NewWatch):
            game.paused, game.seconds = wish.paused, wish.seconds
        game.start()
        return game

    async def find(self, game_id: str) -> LiveGame:
        """The game of that id, resumed from its log if it sleeps."""
        if not _ID.fullmatch(game_id):
            raise Refusal("unknown game", "there is no such game", 404)
        if game_id in self.awake:
            self.awake[game_id] = self.awake.pop(game_id)
            return self.awake[game_id]
        game_log = GameLog(self.folder / f"{game_id}.jsonl")
        if not game_log.path.is_file():
            raise Refusal("unknown game", "there is no such game", 404)
        await self._make_room()
        try:
            story = game_log.read()
        except (ValueError, TypeError, KeyError) as error:
            log.error("%s: %s", game_log.path, error)
            raise Refusal("unreadable", "the log of this game cannot be read", 500) from None
        game = self._wake(story.setup, game_log)
        game.resume(story)
        game.start()
        return game

    def finished(self, most: int = 200) -> list[dict[str, Any]]:
        """The games that are over, the newest first."""
        paths = sorted(self.folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
        games: list[dict[str, Any]] = []
        for path in paths[: 2 * most]:
            with contextlib.suppress(ValueError, TypeError, KeyError, OSError):
                story = GameLog(path).ending()
                if story.result is not None and len(games) < most:
                    setup = story.setup
                    names = {"white": setup.white.name, "black": setup.black.name}
                    games.append({"id": setup.id, **names, **story.result, "time": setup.created})
        return games

    async def close(self) -> None:
        for game in list(self.awake.values()):
            await game.stop()
        self.awake.clear()
        self.client.stop()

    async def _make_room(self) -> None:
        """Puts the game to sleep that nobody has used for longest; if all are in use, there is no room."""
        if len(self.awake) < self._most:
            return
        for game_id, game in self.awake.items():
            if not game.listeners:
                del self.awake[game_id]
                await game.stop()
                return
        raise Refusal("full", f"this server plays {self._most} games at once, and all are in use; try later", 503)

    def _setup(self, white: SideSetup, black: SideSetup, clock: Clock | None) -> Setup:
        seconds, increment = (None, 0.0) if clock is None else (clock.seconds, clock.increment)
        seed = random.SystemRandom().getrandbits(32)
        return Setup(self._new_id(), int(time.time()), white, black, seed, seconds, increment)

    def _side(self, side: Side) -> SideSetup:
        bots.check(side)
        made = registry.make(side.player, 0, self._configured(side.strength))
        return SideSetup(made.name, side.player, side.strength.seconds, side.strength.nodes)

    def _configured(self, strength: Strength) -> Configuration:
        return bots.configured(strength, self._configuration)

    def _wake(self, setup: Setup, game_log: GameLog) -> LiveGame:
        configurations = {
            color: self._configured(Strength(seconds=side.seconds, nodes=side.nodes))
            for color, side in ((True, setup.white), (False, setup.black))
            if side.player is not None
        }
        kind = BotGame if setup.person is None else HumanGame
        game = kind(setup, game_log, self.client, configurations, now=self._now)
        self.awake[setup.id] = game
        return game
