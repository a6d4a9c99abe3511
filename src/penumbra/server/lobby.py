"""All games of a server: made, found again after a restart, put to sleep when nobody needs them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import math
import random
import re
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from penumbra.core import START_FEN, GameRecord
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.player_view import ColorName, color_name
from penumbra.server import bots
from penumbra.server.analyses import Analyses
from penumbra.server.bot_client import BotClient, Failed, Missing
from penumbra.server.bot_game import BotGame
from penumbra.server.game_log import GameLog, Line, Result, Setup, SideSetup, Story, ending, lines_of, read
from penumbra.server.histories import Histories, listed
from penumbra.server.human_game import HumanGame
from penumbra.server.live_game import LiveGame
from penumbra.server.memory import physical
from penumbra.server.messages import Clock, NewFriend, NewGame, NewPlay, NewWatch, Refusal, Retry, Side, Strength
from penumbra.server.uploads import Uploads

log = logging.getLogger(__name__)

BASE_MEMORY = 1_000_000_000  # bytes of the bot process besides its games: programs, weights, an analysis
SHARE_OF_MACHINE = 0.7  # of its memory that the bot process may have at most
MEMORY_SECONDS = 5.0  # between two looks at that
FORGET_SECONDS = 3_600.0  # between two looks for games that are too old
TRIAL_WAIT = 10.0  # seconds until Penumbra is tried again after it has failed
TRIAL_NODES = 16  # of the choice by which Penumbra is tried
PERSON = "Person"  # the name of whoever plays here, in records
_FOLDERS = re.compile(r"/[^\s:]*/")  # of a file that an error names; a page need not know them
_ID = re.compile(r"[A-Za-z0-9_-]{22}")


class Lobby:
    """At most `most` games are awake at once. A game's id cannot be guessed; whoever has it finds the game."""

    def __init__(
        self,
        folder: Path,
        client: BotClient,
        configuration: Configuration,
        most: int,
        now: Callable[[], float] = time.monotonic,
        new_id: Callable[[], str] = lambda: secrets.token_urlsafe(16),
        game_memory: int = bots.GAME_MEMORY,
    ) -> None:
        self.folder = folder
        self.client = client
        self.awake: dict[str, LiveGame] = {}  # the one used longest ago first
        self._configuration = configuration
        self._most = most
        self._now = now
        self._new_id = new_id
        self._game_memory = game_memory
        self._trial: asyncio.Task[str] | None = None
        self._try_again = math.inf  # when
        self.histories = Histories(folder)
        self.uploads = Uploads(folder)
        self.analyses = Analyses(folder)
        with contextlib.suppress(OSError):  # then games are played, and everybody is told that they are not kept
            folder.mkdir(0o700, parents=True, exist_ok=True)

    async def create(self, wish: NewGame, secret: str | None = None, owner: str | None = None) -> LiveGame:
        """A new game, started; `secret` is what a page must show before it may play, `owner` whose history it is in."""
        match wish:
            case NewPlay(opponent=opponent):
                await self._check([opponent])
            case NewWatch(white=white, black=black):
                await self._check([white, black])
        # Nothing is awaited from here on, so that what has been found to be free still is.
        self._make_room()
        match wish:
            case NewPlay(opponent=opponent, color=color, clock=clock):
                sides = (SideSetup(PERSON, owner=owner), self._side(opponent))
                setup = self._setup(*(sides if _is_white(color) else sides[::-1]), clock, secret)
            case NewFriend(color=color, clock=clock):
                setup = self._between_people(owner, _is_white(color), clock)
            case NewWatch(clock=clock):
                setup = self._setup(self._side(wish.white), self._side(wish.black), clock, secret)
        game = self._begun(setup)
        if isinstance(game, BotGame) and isinstance(wish, NewWatch):
            game.paused, game.seconds = wish.paused, wish.seconds
        self._register(game)
        return game

    async def retry(
        self, wish: Retry, record: GameRecord, secret: str | None = None, owner: str | None = None
    ) -> LiveGame:
        """A game in which a person goes on from a step of another, and knows what the player knew who acted then."""
        if record.start_fen not in ("", START_FEN):
            raise Refusal("bad game", "games are played from the usual start alone")
        if wish.step >= len(record.senses) + len(record.moves):
            raise Refusal("bad game", f"the game has no step {wish.step}")
        await self._check([wish.opponent])
        lines = lines_of(record, wish.step)
        # Nothing is awaited from here on.
        self._make_room()
        sides = (SideSetup(PERSON, owner=owner), self._side(wish.opponent))
        white = wish.step // 2 % 2 == 0
        setup = self._setup(*(sides if white else sides[::-1]), None, secret)
        game = self._begun(dataclasses.replace(setup, retried=wish.step), lines)
        self._register(game)
        return game

    async def _check(self, players: Sequence[Side]) -> None:
        """`Refusal` where one of these cannot play."""
        for side in players:
            bots.check(side)
        if any(registry.is_penumbra(side.player) for side in players) and (fault := await self.penumbra_fault()):
            raise Refusal("unavailable", f"Penumbra cannot play here: {fault}", 503)

    def _begun(self, setup: Setup, lines: Sequence[Line] = ()) -> LiveGame:
        """A new game with its log, after these steps."""
        game_log = GameLog(self._path(setup.id))
        game_log.create(setup)
        for line in lines:
            game_log.append(line)
        for color in setup.persons:
            if (owner := setup.side(color).owner) is not None:
                self.histories.add(owner, setup.id)
        game = self._made(setup, game_log)
        game.resume(Story(setup, list(lines)))
        return game

    def find(self, game_id: str) -> LiveGame:
        """The game of that id, resumed from its log if it sleeps.

        Nothing is awaited between the question whether it is awake and its waking: a game has one waker.
        """
        if game_id in self.awake:
            self.awake[game_id] = self.awake.pop(game_id)
            return self.awake[game_id]
        game_log = GameLog(self._existing(game_id))
        self._make_room()
        try:
            story = self._readable(game_log.open)
            game = self._made(story.setup, game_log)
            played = game.resume(story)
            if played < len(story.lines):
                game_log.cut(story, played)
        except BaseException:
            game_log.close()
            raise
        self._register(game)
        return game

    def record(self, game_id: str) -> GameRecord:
        """A game that is over, or was uploaded; one that sleeps is not woken for it."""
        if game_id in self.awake:
            return self.awake[game_id].record()
        if _ID.fullmatch(game_id) and (uploaded := self.uploads.record(game_id)) is not None:
            return uploaded
        path = self._existing(game_id)
        story = self._readable(lambda: read(path))
        game = self._made(story.setup, GameLog(path))
        game.resume(story)
        return game.record()

    def outline(self, game_id: str) -> tuple[Setup, Result | None]:
        """Who plays a game, and how it ended; one that sleeps is not woken for it."""
        if game_id in self.awake:
            return self.awake[game_id].setup, self.awake[game_id].result
        path = self._existing(game_id)
        story = self._readable(lambda: ending(path))
        return story.setup, story.result

    def side_of(self, game_id: str, owner: str | None) -> bool:
        """From which side somebody looks at a game: one's own, else that of a person who played it, else White's."""
        setup, _ = self.outline(game_id)
        mine = setup.seat_of(owner)
        return mine if mine is not None else True in setup.persons or not setup.persons

    # -- games between two people

    def free_seat(self, game_id: str, owner: str | None) -> dict[str, Any]:
        """The seat that this person can take in a game, or sits at already; `Refusal` where both are taken."""
        setup, _ = self.outline(game_id)
        mine = setup.seat_of(owner)
        color = setup.free if mine is None else mine
        if color is None:
            raise Refusal("taken", "both seats of this game are taken", 403)
        return {"color": color_name(color), "clock": setup.clock, "taken": mine is not None}

    def take_seat(self, game_id: str, owner: str) -> LiveGame:
        """This person takes the free seat of a game, or is let back to the own one."""
        game = self.find(game_id)
        new = game.setup.seat_of(owner) is None
        if not isinstance(game, HumanGame):
            raise Refusal("taken", "both seats of this game are taken", 403)
        game.take_seat(owner)
        if new:
            self.histories.add(owner, game_id)
        return game

    def rematch(self, game_id: str, owner: str | None) -> LiveGame:
        """The game that follows one between two people, colours swapped. Who asks first makes it, the other joins."""
        setup, result = self.outline(game_id)
        color = setup.seat_of(owner)
        if owner is None or color is None or setup.rematch is None:
            raise Refusal("taken", "a rematch is for the two who played", 403)
        if result is None:
            raise Refusal("not over", "the game is not over", 403)
        if self._exists(setup.rematch):
            return self.take_seat(setup.rematch, owner)
        self._make_room()
        clock = None if setup.clock is None else Clock(**setup.clock)
        game = self._begun(self._between_people(owner, not color, clock, setup.rematch))
        self._register(game)
        if isinstance(before := self.awake.get(game_id), HumanGame):
            before.ask_rematch()
        return game

    def history(self, owner: str) -> list[dict[str, Any]]:
        """The games of one person, the newest first, those that are not over among them."""
        games = []
        for game_id in reversed(self.histories.games(owner)):
            with contextlib.suppress(ValueError, OSError):
                if (shown := listed(ending(self._path(game_id)), owner)) is not None:
                    games.append(shown)
        return games

    def delete(self, owner: str, game_ids: Sequence[str]) -> int:
        """Deletes games of this person for ever, also those that are not over; how many there were.

        A game between two people goes when both have deleted it; who deletes it before its end gives it up.
        """
        mine = [game_id for game_id in game_ids if game_id in self.histories.games(owner)]
        for game_id in mine:
            if not self._left_to_other(game_id, owner):
                self._erase(game_id)
        self.histories.remove(owner, mine)
        return len(mine)

    def _left_to_other(self, game_id: str, owner: str) -> bool:
        """Whether somebody else has this game too, who keeps it and has won it if it was not over."""
        try:
            setup, result = self.outline(game_id)
        except Refusal:
            return False
        color = setup.seat_of(owner)
        other = None if color is None else setup.side(not color).owner
        if other is None or game_id not in self.histories.games(other):
            return False
        if result is None and color is not None:
            self.find(game_id).finish(not color, "RESIGN")
        return True

    def _erase(self, game_id: str) -> None:
        if (game := self.awake.pop(game_id, None)) is not None:
            game.send_all(Refusal("unknown game", "this game has been deleted", 404).to_json())
            game.stop()
        for path in (self._path(game_id), self._path(game_id).with_suffix(".damaged")):
            path.unlink(missing_ok=True)
        self.uploads.delete(game_id)
        self.analyses.delete(game_id)

    def upload(self, record: GameRecord, owner: str) -> str:
        """Keeps a game that somebody has uploaded; its id, which leads to it and cannot be guessed."""
        game_id = self._new_id()
        self.uploads.add(game_id, owner, record)
        self.histories.add(owner, game_id)
        return game_id

    def uploaded(self, owner: str) -> list[dict[str, Any]]:
        """The games that a person has uploaded, the newest first."""
        found = (self.uploads.get(game_id) for game_id in reversed(self.histories.games(owner)))
        return [upload.listed() for upload in found if upload is not None and upload.owner == owner]

    def analysis(self, game_id: str) -> str:
        """What is kept of the analyses of a game that is over."""
        self.record(game_id)
        return self.analyses.read(game_id)

    async def penumbra_fault(self) -> str:
        """Why Penumbra cannot play here, "" if it can: it has made a choice, with the weights that games will use."""
        if self._trial is None or (self._trial.done() and time.monotonic() > self._try_again):
            self._trial = asyncio.get_running_loop().create_task(self._try_penumbra())
        return await asyncio.shield(self._trial)

    async def watch_memory(self) -> None:
        """For ever: a bot process that holds more than all games together may is replaced."""
        most = min(self._most * self._game_memory + BASE_MEMORY, int(SHARE_OF_MACHINE * physical()))
        while True:
            await asyncio.sleep(MEMORY_SECONDS)
            if (held := self.client.memory) > most:
                log.error("the bot process holds %d MB, %d are allowed: it is replaced", held >> 20, most >> 20)
                self.client.replace()

    async def _try_penumbra(self) -> str:
        configuration = dataclasses.replace(self._configured(Strength()), seconds=None, nodes=TRIAL_NODES)
        try:
            await self.client.try_out(registry.PENUMBRA, configuration)
        except (Failed, Missing) as error:
            log.error("Penumbra cannot play: %s", error)
            self._try_again = time.monotonic() + TRIAL_WAIT
            return _FOLDERS.sub("", str(error))
        self._try_again = math.inf
        return ""

    def finished(self, most: int = 200) -> list[dict[str, Any]]:
        """The games that are over, the newest first."""
        times: dict[Path, float] = {}
        for path in self.folder.glob("*.jsonl"):
            with contextlib.suppress(OSError):
                times[path] = path.stat().st_mtime
        games: list[dict[str, Any]] = []
        for path in sorted(times, key=lambda path: times[path], reverse=True)[: 2 * most]:
            with contextlib.suppress(ValueError, OSError):
                story = ending(path)
                if story.result is not None and len(games) < most:
                    setup = story.setup
                    about = {"id": setup.id, "white": setup.white.name, "black": setup.black.name}
                    games.append(about | story.result.to_json() | {"plies": story.result.plies, "time": setup.created})
        return games

    async def close(self) -> None:
        """Ends the bot process. Every game goes on when it is found again."""
        for game in list(self.awake.values()):
            game.stop()
        self.awake.clear()
        if self._trial is not None:
            self._trial.cancel()
        self.client.stop()

    async def forget_old_games(self, days: float) -> None:
        """For ever: games that have not changed for so many days are deleted, unless somebody looks at them."""
        while True:
            for game_id in await asyncio.to_thread(self._unchanged_for, days * 86_400):
                game = self.awake.get(game_id)
                if game is None or not game.listeners:
                    self._forget(game_id)
            await asyncio.sleep(FORGET_SECONDS)

    def _unchanged_for(self, seconds: float) -> list[str]:
        """The games, played and uploaded, whose files are older than that."""
        old = []
        for path in (*self.folder.glob("*.jsonl"), *self.uploads.paths()):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > seconds:
                    old.append(path.stem)
        return old

    def _forget(self, game_id: str) -> None:
        """Deletes a game, whosever it is."""
        uploaded = self.uploads.get(game_id)
        owners = {None if uploaded is None else uploaded.owner}
        with contextlib.suppress(ValueError, OSError):
            setup = ending(self._path(game_id)).setup
            owners |= {setup.white.owner, setup.black.owner}
        self._erase(game_id)
        for owner in owners - {None}:
            self.histories.remove(str(owner), [game_id])

    def _exists(self, game_id: str) -> bool:
        return game_id in self.awake or self._path(game_id).is_file()

    def _path(self, game_id: str) -> Path:
        return self.folder / f"{game_id}.jsonl"

    def _existing(self, game_id: str) -> Path:
        """The log of a game; an id is not taken for a path."""
        if not (_ID.fullmatch(game_id) and self._path(game_id).is_file()):
            raise Refusal("unknown game", "there is no such game", 404)
        return self._path(game_id)

    def _readable(self, read: Callable[[], Story]) -> Story:
        try:
            return read()
        except Refusal:
            raise
        except (ValueError, OSError) as error:
            log.error("%s", error)
            raise Refusal("unreadable", "the log of this game cannot be read", 500) from None

    def _make_room(self) -> None:
        """Puts the game to sleep that nobody has used for longest; if all are in use, there is no room."""
        if len(self.awake) < self._most:
            return
        for game in self.awake.values():
            if not game.listeners and game.keep():
                self._unload(game)
                return
        raise Refusal("full", f"this server plays {self._most} games at once, and all are in use; try later", 503)

    def _register(self, game: LiveGame) -> None:
        """From now on it is found, until it is over and nobody looks at it."""
        self.awake[game.setup.id] = game
        game.unused = lambda: self._unload(game)
        game.start()

    def _unload(self, game: LiveGame) -> None:
        if self.awake.get(game.setup.id) is game and game.keep():
            del self.awake[game.setup.id]
            game.stop()

    def _between_people(self, owner: str | None, white: bool, clock: Clock | None, game_id: str | None = None) -> Setup:
        """This person has a seat, and the other is free. A seat is its own secret, so the game has none."""
        sides = (SideSetup(PERSON, owner=owner), SideSetup(PERSON))
        setup = self._setup(*(sides if white else sides[::-1]), clock, None)
        return dataclasses.replace(setup, id=game_id or setup.id, rematch=self._new_id())

    def _setup(self, white: SideSetup, black: SideSetup, clock: Clock | None, secret: str | None) -> Setup:
        seconds, increment = (None, 0.0) if clock is None else (clock.seconds, clock.increment)
        seed = random.SystemRandom().getrandbits(32)
        return Setup(self._new_id(), int(time.time()), white, black, seed, seconds, increment, secret)

    def _side(self, side: Side) -> SideSetup:
        made = registry.make(side.player, 0, self._configured(side.strength))
        return SideSetup(made.name, side.player, side.strength.seconds, side.strength.nodes)

    def _configured(self, strength: Strength) -> Configuration:
        return bots.configured(strength, self._configuration, self._game_memory)

    def _made(self, setup: Setup, game_log: GameLog) -> LiveGame:
        configurations = {
            color: self._configured(Strength(seconds=side.seconds, nodes=side.nodes))
            for color, side in ((True, setup.white), (False, setup.black))
            if side.player is not None
        }
        if not setup.persons:
            return BotGame(setup, game_log, self.client, configurations, now=self._now)
        advice_by = self._configured(Strength())
        game = HumanGame(setup, game_log, self.client, configurations, now=self._now, advice_by=advice_by)
        game.rematch = setup.rematch is not None and self._exists(setup.rematch)
        return game


def _is_white(color: ColorName | Literal["random"]) -> bool:
    return color == "white" or (color == "random" and secrets.randbelow(2) == 1)
