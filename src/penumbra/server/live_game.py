"""A game being played: the true game, its clocks and its log, and the bots' turns.

`HumanGame` and `BotGame` say who hears what; here nobody does. Every step is in the log before anyone hears of it;
where the disk is full, it waits in memory, and everybody hears that too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from penumbra.core import MOVE, SENSE, START_FEN, Game, GameRecord
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.actions import (
    SQUARE_NAMES,
    action_to_code,
    code_to_uci,
    parse_square,
    view,
    view_code,
)
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed
from penumbra.rbc.player_view import COLORS, ColorName, PlayerView, color_name, request_code
from penumbra.rbc.walk import Step, move, sense
from penumbra.server.bot_client import BotClient, Failed, Missing
from penumbra.server.bot_process import BotSpec
from penumbra.server.clocks import Clocks
from penumbra.server.game_log import (
    Aid,
    AidLine,
    EndLine,
    GameLog,
    Line,
    MoveLine,
    Result,
    SeatLine,
    SenseLine,
    Setup,
    SideSetup,
    Story,
)
from penumbra.server.messages import Message, Refusal

log = logging.getLogger(__name__)

TRIES = 3  # to make a bot whose process has died
MOST_TURNS = 1_000  # of each player; a game that goes on for longer is a draw
MOST_PAGES = 50  # that look at one game at the same time, from the same place
CRASH = "CRASH"  # the reason of a game without a result: a program has failed


class Listener(Protocol):
    """A connection of a page."""

    def send(self, message: dict[str, Any]) -> None: ...


class Place(Protocol):
    """From where a page sees a game: as a spectator, or as one of those who play."""

    def join(self, listener: Listener) -> None:
        """Somebody comes, and is told how things stand."""

    def leave(self, listener: Listener) -> None:
        """Somebody has gone."""

    def handle(self, message: Message) -> None:
        """What a page asks for; `Refusal` if it may not."""


class Crash(Exception):
    """A bot has failed: the game ends, and nobody has won."""


class LiveGame:
    """One game; `configurations` are the bots', by colour. A person's side has none."""

    def __init__(
        self,
        setup: Setup,
        game_log: GameLog,
        client: BotClient,
        configurations: dict[bool, Configuration],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.setup = setup
        self.listeners: set[Listener] = set()
        self.game = Game(full_turn_limit=MOST_TURNS)
        self.game.set_names(setup.white.name, setup.black.name)
        self.clocks = Clocks(setup.seconds, setup.increment, now)
        self.views = {color: PlayerView(color, START_FEN) for color in (True, False)}
        self.last_step: Step | None = None
        self.result: Result | None = None
        self.aids: list[Aid] = []  # what has helped the person
        self.unused: Callable[[], None] = lambda: None  # called when the game is over and nobody looks at it
        self.client = client
        self._log = game_log
        self._configurations = configurations
        self._bots: asyncio.Task[None] | None = None
        self._flag: asyncio.TimerHandle | None = None

    # -- who hears what

    def place(self, owner: str | None = None) -> Place:
        """From where this person sees the game; `Refusal` if from nowhere."""
        raise NotImplementedError

    def heard(self, color: bool, thought: dict[str, Any] | None) -> None:
        """The view of `color` has a new event; a bot's step may come with a thought."""
        raise NotImplementedError

    def state_changed(self) -> None:
        """There is a result, or the game can be kept no longer, or again."""
        raise NotImplementedError

    def resumed(self, color: bool) -> None:
        """A step of `color` has been played again from the log."""

    async def before_thought(self) -> None:
        """A bot is to choose; it is asked when this returns."""

    async def before_step(self) -> None:
        """A bot has chosen; its step is taken when this returns."""

    def admit(self, listener: Listener, others: int) -> None:
        """Somebody looks at the game from now on, beside so many others at the same place."""
        if others >= MOST_PAGES:
            raise Refusal("full", f"{MOST_PAGES} pages look at this game already", 503)
        self.keep()
        self.listeners.add(listener)

    def dismiss(self, listener: Listener) -> None:
        """Somebody has gone."""
        self.listeners.discard(listener)
        if self.over and not self.listeners:
            self.unused()

    def keys(self) -> list[str]:
        """What the bot process holds for this game."""
        return [self._key(color) for color in self._configurations]

    # -- what it is

    @property
    def over(self) -> bool:
        return self.result is not None

    @property
    def kept(self) -> bool:
        """Whether all of it would outlive the server."""
        return self._log.kept

    def keep(self) -> bool:
        """Tries to write what could not be written before; whether all of it would now outlive the server."""
        before = self.kept
        if self._log.flush() != before:
            self.state_changed()
        return self.kept

    @property
    def step(self) -> int:
        """Of the action that comes next: two for each move made, and one more once its sense is done."""
        return 2 * self.game.plies + self.game.step

    def record(self) -> GameRecord:
        """The whole truth, once the game is over."""
        if self.result is None:
            raise Refusal("not over", "the game is not over; until then nobody sees all of it", 403)
        record = self.game.record()
        if self.result.reason != CRASH:  # records know no crash: that game was not finished
            record.winner = None if self.result.winner is None else self.result.winner == "white"
            record.reason = self.result.reason
        return record

    def about(self) -> dict[str, Any]:
        setup = self.setup
        return {
            "id": setup.id,
            "white": _side_json(setup.white),
            "black": _side_json(setup.black),
            "clock": setup.clock,
        }

    # -- its course

    def start(self) -> None:
        """Goes on from where it stands: the first step, or where its log ends."""
        if self.over:
            if not self.game.over:  # it ended in somebody's turn
                self._begin_turn()
        elif self.game.over:  # the log ends between the last move and the result
            self._conclude(self.game.winner, str(self.game.reason))
        else:
            self.run_clock()
            self._go_on()

    def resume(self, story: Story) -> int:
        """Plays a log again, without bots, clocks or listeners, as far as it follows the rules: so many lines of it."""
        for number, line in enumerate(story.lines):
            try:
                self._resume_line(line)
            except ValueError as error:
                log.error("game %s: line %d of its log: %s", self.setup.id, number + 2, error)
                return number
        return len(story.lines)

    def _resume_line(self, line: Line) -> None:
        """ValueError, and nothing is changed, if the rules do not allow it."""
        color = self.game.turn
        match line:
            case SenseLine(sense=square):
                step = sense(self.game, None if square is None else view(parse_square(square), color))
                self.views[color].observe(OpponentMoved(step.before.capture), step.before)
            case MoveLine(move=word):
                step = move(self.game, request_code(word, color))
            case AidLine(step=at, aid=aid):
                if at != self.step:
                    raise ValueError(f"help at step {at}, but the next is {self.step}")
                self.aids.append(aid)
                return
            case SeatLine(seat=name, owner=owner):
                if COLORS[name] != self.setup.free:
                    raise ValueError(f"{name}'s seat is not free")
                self.setup = self.setup.seated(COLORS[name], owner)
                return
            case EndLine(over=result):
                said, found = (result.winner, result.reason), (_name(self.game.winner), self.game.reason)
                if said != found if self.game.over else result.reason not in _OFF_BOARD:
                    raise ValueError(f"the result is {said}, but {found} on the board")
                self.result = result
                return
        self._tell(step)
        self.clocks.set(line.left)
        self.resumed(color)

    def stop(self) -> None:
        """Forgets everything but the log, from which the game can be resumed."""
        if self._bots is not None:
            self._bots.cancel()
        self.hold_clock()
        self._release()
        self._log.close()
        self.unused = lambda: None  # it refers to this game, which would wait for the next look for such circles

    def finish(self, winner: bool | None, reason: str, crashed: bool | None = None) -> None:
        """Ends the game for a reason that the board does not show."""
        self._conclude(winner, reason, crashed)
        self.state_changed()

    def _conclude(self, winner: bool | None, reason: str, crashed: bool | None = None) -> None:
        """The clocks stop, and whatever the bots hold is freed."""
        self.hold_clock()
        result = Result(_name(winner), reason, self.game.plies, _name(crashed))
        self._log.append(EndLine(result))
        self.result = result
        for color in self._configurations:
            self.client.release(self._key(color))
        if not self.listeners:
            asyncio.get_running_loop().call_soon(self._perhaps_unused)

    def _perhaps_unused(self) -> None:
        if not self.listeners:
            self.unused()

    def _release(self) -> None:
        for key in self.keys():
            self.client.release(key)

    def run_clock(self) -> None:
        """The clock of whoever is to act runs."""
        color = self.game.turn
        self.hold_clock()
        self.clocks.start(color)
        left = self.clocks.left(color)
        if left is not None:
            self._flag = asyncio.get_running_loop().call_later(left, self._out_of_time, color)

    def hold_clock(self) -> None:
        """Nobody's clock runs."""
        self.clocks.stop()
        if self._flag is not None:
            self._flag.cancel()

    def _out_of_time(self, color: bool) -> None:
        if not self.over:
            self.finish(not color, "TIMEOUT")

    def _go_on(self) -> None:
        """A person is told that the turn has come; a bot starts to think."""
        color = self.game.turn
        if color in self._configurations:
            if self._bots is None or self._bots.done():
                self._bots = asyncio.get_running_loop().create_task(self._play_bots())
        elif self._begin_turn():
            self.heard(color, None)

    def _begin_turn(self) -> bool:
        """What a person is told first in its turn, which is in no log; whether it is the time for that."""
        color = self.game.turn
        begins = color not in self._configurations and self.game.step == SENSE
        if begins:
            self.views[color].observe(OpponentMoved(self.game.capture), self.game)
        return begins

    # -- steps

    def take_sense(self, color: bool, square: int | None, thought: dict[str, Any] | None = None) -> None:
        """Does, logs and tells a sense; the square is in the view of `color`. ValueError if there is no such square."""
        name = None if square is None else SQUARE_NAMES[view(square, color)]
        at = self.step
        done = sense(self.game, square)
        self.keep_line(SenseLine(at, name, self.clocks.both()))
        self._tell(done)
        self.heard(color, thought)

    def take_move(self, color: bool, code: int, thought: dict[str, Any] | None = None) -> None:
        """Does, logs and tells a move, and hands the turn over; the code is in the view of `color`.

        ValueError, and nothing has changed, if the rules do not allow it.
        """
        at = self.step
        done = move(self.game, code)
        self.clocks.turn_ends()
        self.keep_line(MoveLine(at, code_to_uci(view_code(code, color)) if code else None, self.clocks.both()))
        self._tell(done)
        if self.game.over:
            self._conclude(self.game.winner, str(self.game.reason))
        else:
            self.run_clock()
        self.heard(color, thought)
        if self.over:
            self.state_changed()
        else:
            self._go_on()

    def helped(self, aid: Aid) -> None:
        """The person is helped, which the game's log and the person's history remember."""
        if aid not in self.aids:
            self.aids.append(aid)
            self.keep_line(AidLine(self.step, aid))

    def keep_line(self, line: Line) -> None:
        """Writes a line. Everybody hears when the disk is full, and when it is so no longer."""
        before = self.kept
        self._log.append(line)  # where it cannot be written, it waits in memory
        if self.kept != before:
            asyncio.get_running_loop().call_soon(self.state_changed)

    def _tell(self, step: Step) -> None:
        self.last_step = step
        self.views[step.color].observe(step.observation, step.after)

    # -- bots

    async def _play_bots(self) -> None:
        """The bots' turns, one after the other, until a person's comes or the game ends."""
        try:
            while not self.over and (color := self.game.turn) in self._configurations:
                await self.before_thought()
                try:
                    if self.game.step == SENSE:
                        await self._bot_sense(color)
                    else:
                        await self._bot_move(color)
                except Crash as fault:
                    log.error("game %s: %s has crashed: %s", self.setup.id, self.setup.side(color).name, fault)
                    if not self.over:
                        self.finish(None, CRASH, color)
        except Exception:
            log.exception("game %s stands still", self.setup.id)
            self.send_all(Refusal("failed", "something went wrong in the server; load the page again").to_json())

    async def _bot_sense(self, color: bool) -> None:
        player_view, capture = self.views[color], self.game.capture
        known = len(player_view.observations)
        square, thought = await self._ask(color, known, "sense", capture, self.clocks.left(color))
        await self.before_step()
        if self.over:
            return
        if square is not None and square not in range(64):
            raise Crash(f"sense {square!r}")
        player_view.observe(OpponentMoved(capture), self.game)
        self.take_sense(color, square, thought)

    async def _bot_move(self, color: bool) -> None:
        observations = self.views[color].observations
        sensed, known, actions = observations[-1], len(observations) - 1, self.game.legal_actions()
        assert isinstance(sensed, Sensed) and self.game.step == MOVE
        left = self.clocks.left(color)
        action, promotion, thought = await self._ask(
            color, known, "move", sensed.square, sensed.contents, left, actions
        )
        await self.before_step()
        if self.over:
            return
        if action not in actions:
            raise Crash(f"move {action!r}")
        try:
            self.take_move(color, action_to_code(action, promotion), thought)
        except ValueError as error:
            raise Crash(f"move {action!r}, promotion {promotion!r}: {error}") from None
        moved = observations[-1]
        if not self.over and isinstance(moved, Moved):
            await self._ask(color, len(observations) - 1, "moved", moved.requested, moved.taken, moved.capture)

    async def _ask(self, color: bool, known: int, method: str, *arguments: Any) -> Any:
        """Calls a bot. One that is not there is made first, and told what it knew: the first `known` observations."""
        for tries in range(TRIES):
            try:
                if tries:
                    await self._open(color, known)
                return await self.client.call(self._key(color), method, *arguments)
            except Missing:
                continue
            except Failed as error:
                raise Crash(str(error)) from None
        raise Crash("it is lost as often as it is made")

    async def _open(self, color: bool, known: int) -> None:
        side = self.setup.side(color)
        assert side.player is not None
        spec = BotSpec(
            side.player,
            self.setup.seed + color,
            self._configurations[color],
            color,
            START_FEN,
            self.setup.side(not color).name,
            tuple(self.views[color].observations[:known]),
            thoughts=not self.setup.persons,
        )
        await self.client.open(self._key(color), spec)

    def _key(self, color: bool) -> str:
        return f"{self.setup.id}:{color_name(color)}"

    def send_all(self, message: dict[str, Any]) -> None:
        for listener in list(self.listeners):
            listener.send(message)


_OFF_BOARD = ("TIMEOUT", "RESIGN", CRASH)  # reasons for a game to end that the board does not show


def _name(color: bool | None) -> ColorName | None:
    return None if color is None else color_name(color)


def _side_json(side: SideSetup) -> dict[str, Any]:
    return {"name": side.name, "player": side.player, "seconds": side.seconds, "nodes": side.nodes}
