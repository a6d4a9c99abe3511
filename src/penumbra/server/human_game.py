"""Games of people: one against a program, or two against each other. Each is told what the rules tell that colour and
nothing else, until the game is over. A person who plays a program can be helped.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from penumbra.core import MOVE, START_FEN
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.player_view import color_name
from penumbra.server.adviser import AdviceWish, AdviserSpec
from penumbra.server.bot_client import Failed, Missing
from penumbra.server.bot_process import AssistantSpec
from penumbra.server.game_log import Aid, SeatLine
from penumbra.server.live_game import LiveGame
from penumbra.server.messages import Refusal
from penumbra.server.seat import Seat


class HumanGame(LiveGame):
    """People sit at `seats`, by colour. Between two people the game begins when both seats are taken."""

    assisted = False  # whether the person wants to be
    rematch = False  # whether one has been asked for
    _assisting: asyncio.Task[None] | None = None
    _reported = 0  # observations that the assistant has been told
    _advising: asyncio.Task[None] | None = None

    def __init__(self, *arguments: Any, advice_by: Configuration | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._advice_by = advice_by or Configuration()
        self.seats = {color: Seat(self, color) for color in self.setup.persons}

    def place(self, owner: str | None = None) -> Seat:
        """The seat of this person. Against a program there is one, of whoever may play the game."""
        if len(self.seats) == 1:
            return next(iter(self.seats.values()))
        color = self.setup.seat_of(owner)
        if color is not None:
            return self.seats[color]
        if self.setup.free is not None:
            raise Refusal("free", "a seat of this game is free", 403)
        raise Refusal("taken", "both seats of this game are taken", 403)

    def take_seat(self, owner: str) -> None:
        """This person plays the colour that is free; whoever sits here stays there."""
        color = self.setup.free
        if self.setup.seat_of(owner) is not None:
            return
        if color is None:
            raise Refusal("taken", "both seats of this game are taken", 403)
        self.keep_line(SeatLine(color_name(color), owner))
        self.setup = self.setup.seated(color, owner)
        self.start()
        self.seen_by_others(self.seats[self.game.turn])  # who is to move has just been told so

    def start(self) -> None:
        if self.setup.free is None:
            super().start()

    def heard(self, color: bool, thought: dict[str, Any] | None) -> None:
        if color in self.seats:
            self.seats[color].heard()
            self._assist()

    def state_changed(self) -> None:
        for seat in self.seats.values():
            seat.state_changed()

    def seen_by_others(self, seat: Seat) -> None:
        """Somebody has come to a seat, or has gone, which those at the other one are told."""
        for other in self.seats.values():
            if other is not seat:
                other.state_changed()

    def ask_rematch(self) -> None:
        """One of two people wants to play again, which the other is told."""
        self.rematch = True
        self.state_changed()

    # -- assistance

    def keys(self) -> list[str]:
        return [*super().keys(), *(key for key, task in self._helpers() if task is not None)]

    def stop(self) -> None:
        for _, task in self._helpers():
            if task is not None:
                task.cancel()
        super().stop()
        self.seats.clear()  # they refer to this game, as `unused` does

    def _helpers(self) -> list[tuple[str, asyncio.Task[None] | None]]:
        return [(self._assistant, self._assisting), (self._adviser, self._advising)]

    def _help(self, aid: Aid) -> None:
        """`Refusal` between two people: neither has what the other has not."""
        if len(self.seats) > 1:
            raise Refusal("no aids", "there are no hints and no assistance between two people")
        if not self.over:
            self.helped(aid)

    def assist(self, on: bool) -> None:
        """The person wants to see what the tracker makes of the game, or no longer."""
        if on:
            self._help("tracker")
        self.assisted = on
        self._assist()

    @property
    def _aided(self) -> bool:
        """The colour of whoever can be helped."""
        return self.setup.persons[0]

    @property
    def _adviser(self) -> str:
        return f"{self.setup.id}:adviser"

    def advise(self) -> None:
        """Penumbra's advice about the step that comes next, from the person's own observations; one at a time."""
        self._help("hint")
        if self._advising is not None and not self._advising.done():
            return
        actions = tuple(self.game.legal_actions()) if self.game.step == MOVE else ()
        wish = AdviceWish(self.step, tuple(self.views[self._aided].observations), actions)
        self._advising = asyncio.get_running_loop().create_task(self._ask_adviser(wish))

    async def _ask_adviser(self, wish: AdviceWish) -> None:
        advice = None
        with contextlib.suppress(Missing, Failed):
            try:
                advice = await self.client.call(self._adviser, "advise", wish)
            except Missing:  # the first hint of the game, or of another bot process
                await self.client.open(self._adviser, AdviserSpec(self._aided, START_FEN, self._advice_by))
                advice = await self.client.call(self._adviser, "advise", wish)
        if self.over or self.step != wish.step:
            return
        if advice is None:
            self.send_all(Refusal("unavailable", "there is no hint: Penumbra cannot think about this game").to_json())
        else:
            self.send_all({"type": "hint", "step": wish.step, **advice})

    @property
    def _assistant(self) -> str:
        return f"{self.setup.id}:assistant"

    def _assist(self) -> None:
        """Starts to catch up with what the person was told, unless that is under way."""
        if self.assisted and (self._assisting is None or self._assisting.done()):
            self._assisting = asyncio.get_running_loop().create_task(self._catch_up())

    async def _catch_up(self) -> None:
        observations = self.views[self._aided].observations
        report: dict[str, Any] = {}
        try:
            while self.assisted and (not report or self._reported < len(observations)):
                told = len(observations)
                try:
                    new = tuple(observations[self._reported : told])
                    report = await self.client.call(self._assistant, "report", new)
                except Missing:
                    await self.client.open(self._assistant, AssistantSpec(self._aided, START_FEN, ()))
                    self._reported = 0
                    continue
                self._reported = told
        except (Missing, Failed):
            report = {"states": None, "complete": False, "pieces": {}}
        if self.assisted:
            self.send_all({"type": "assistance", **report})
