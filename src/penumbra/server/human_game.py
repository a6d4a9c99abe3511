"""A person against a bot. The person hears what the rules tell that colour and nothing else, until the game is over."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from penumbra.core import MOVE, SENSE, START_FEN
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.actions import parse_square, view
from penumbra.rbc.player_view import PROTOCOL, color_name, listed_moves, request_code
from penumbra.server.adviser import AdviceWish, AdviserSpec
from penumbra.server.bot_client import Failed, Missing
from penumbra.server.bot_process import AssistantSpec
from penumbra.server.live_game import LiveGame
from penumbra.server.messages import Assist, Hint, Message, Move, Refusal, Resign, Sense


class HumanGame(LiveGame):
    """All that is sent is made of the person's own view, of whose turn it is, and of the clocks."""

    _assisting: asyncio.Task[None] | None = None
    _assisted = False  # whether the person wants to be
    _reported = 0  # observations that the assistant has been told
    _advising: asyncio.Task[None] | None = None

    def __init__(self, *arguments: Any, advice_by: Configuration | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._advice_by = advice_by or Configuration()

    @property
    def color(self) -> bool:
        """The person's."""
        assert self.setup.person is not None
        return self.setup.person

    def greeting(self) -> dict[str, Any]:
        return {
            "type": "game",
            "protocol": PROTOCOL,
            "game": self.about()
            | {"mode": "play", "color": color_name(self.color), "thinks": self._thinks, "aids": self.aids},
            "events": self.views[self.color].events,
            "state": self.state(),
            "assisted": self._assisted,
        }

    def state(self) -> dict[str, Any]:
        """What the person can do now. The moves are listed by the person's own pieces alone."""
        state: dict[str, Any] = {"phase": "waiting", "clocks": self.clocks.to_json(), "kept": self.kept}
        if self.result is not None:
            return state | {"phase": "over", "result": self.result.to_json()}
        if self.game.turn != self.color:
            return state
        if self.game.step == SENSE:
            return state | {"phase": "sense", "step": self.step}
        return state | {"phase": "move", "step": self.step, "moves": listed_moves(self.game)}

    def heard(self, color: bool, thought: dict[str, Any] | None) -> None:
        if color == self.color:
            self.send_all({"type": "update", "event": self.views[color].events[-1], "state": self.state()})
            self._assist()

    def state_changed(self) -> None:
        self.send_all({"type": "update", "event": None, "state": self.state()})

    def handle(self, message: Message) -> None:
        match message:
            case Sense(step=step, square=square):
                self._expect(step, SENSE)
                self.take_sense(self.color, None if square is None else view(parse_square(square), self.color))
            case Move(step=step, move=move):
                self._expect(step, MOVE)
                if move is not None and move not in listed_moves(self.game):
                    raise Refusal("illegal", f"{move} is not one of your moves")
                self.take_move(self.color, request_code(move, self.color))
            case Resign():
                if self.over:
                    raise Refusal("over", "the game is over")
                self.finish(not self.color, "RESIGN")
            case Assist(on=on):
                self._assisted = on
                if on and not self.over:
                    self.helped("tracker")
                self._assist()
            case Hint(step=step):
                self._expect(step, self.game.step)
                self._advise()
            case _:
                raise Refusal("not watched", f"{message.type!r} is for games that are watched")

    def _expect(self, step: int, kind: int) -> None:
        """Refuses what comes late, twice, too early or out of turn."""
        if self.over:
            raise Refusal("over", "the game is over")
        if self.game.turn != self.color:
            raise Refusal("out of turn", "it is your opponent's turn")
        if step != self.step:
            when = "is done" if step < self.step else "has not come"
            raise Refusal("late" if step < self.step else "early", f"step {step} {when}; the next is {self.step}")
        if self.game.step != kind:
            raise Refusal("wrong step", "this is the time to sense" if kind == MOVE else "this is the time to move")

    @property
    def _thinks(self) -> float | None:
        """Seconds that the opponent's budget allows it for a turn; None where it has none in seconds."""
        seconds = self.setup.side(not self.color).seconds
        return None if seconds is None else 2 * seconds

    # -- assistance

    def keys(self) -> list[str]:
        return [*super().keys(), *(key for key, task in self._helpers() if task is not None)]

    def stop(self) -> None:
        for _, task in self._helpers():
            if task is not None:
                task.cancel()
        super().stop()

    def _helpers(self) -> list[tuple[str, asyncio.Task[None] | None]]:
        return [(self._assistant, self._assisting), (self._adviser, self._advising)]

    @property
    def _adviser(self) -> str:
        return f"{self.setup.id}:adviser"

    def _advise(self) -> None:
        """Penumbra's advice about the step that comes next, from the person's own observations; one at a time."""
        if self._advising is not None and not self._advising.done():
            return
        self.helped("hint")
        actions = tuple(self.game.legal_actions()) if self.game.step == MOVE else ()
        wish = AdviceWish(self.step, tuple(self.views[self.color].observations), actions)
        self._advising = asyncio.get_running_loop().create_task(self._ask_adviser(wish))

    async def _ask_adviser(self, wish: AdviceWish) -> None:
        advice = None
        with contextlib.suppress(Missing, Failed):
            try:
                advice = await self.client.call(self._adviser, "advise", wish)
            except Missing:  # the first hint of the game, or of another bot process
                await self.client.open(self._adviser, AdviserSpec(self.color, START_FEN, self._advice_by))
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
        if self._assisted and (self._assisting is None or self._assisting.done()):
            self._assisting = asyncio.get_running_loop().create_task(self._catch_up())

    async def _catch_up(self) -> None:
        observations = self.views[self.color].observations
        report: dict[str, Any] = {}
        try:
            while self._assisted and (not report or self._reported < len(observations)):
                told = len(observations)
                try:
                    new = tuple(observations[self._reported : told])
                    report = await self.client.call(self._assistant, "report", new)
                except Missing:
                    await self.client.open(self._assistant, AssistantSpec(self.color, START_FEN, ()))
                    self._reported = 0
                    continue
                self._reported = told
        except (Missing, Failed):
            report = {"states": None, "complete": False, "pieces": {}}
        if self._assisted:
            self.send_all({"type": "assistance", **report})
