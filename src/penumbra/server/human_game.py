"""A person against a bot. The person hears what the rules tell that colour and nothing else, until the game is over."""

from __future__ import annotations

import asyncio
from typing import Any

from penumbra.core import MOVE, SENSE, START_FEN
from penumbra.rbc.actions import parse_square, view
from penumbra.rbc.player_view import PROTOCOL, color_name, listed_moves, request_code
from penumbra.server.bot_client import Failed, Missing
from penumbra.server.bot_process import AssistantSpec
from penumbra.server.live_game import LiveGame
from penumbra.server.messages import Assist, Message, Move, Refusal, Resign, Sense


class HumanGame(LiveGame):
    """All that is sent is made of the person's own view, of whose turn it is, and of the clocks."""

    _assisting: asyncio.Task[None] | None = None
    _assisted = False  # whether the person wants to be
    _reported = 0  # observations that the assistant has been told

    @property
    def color(self) -> bool:
        """The person's."""
        assert self.setup.person is not None
        return self.setup.person

    def greeting(self) -> dict[str, Any]:
        return {
            "type": "game",
            "protocol": PROTOCOL,
            "game": self.about() | {"mode": "play", "color": color_name(self.color)},
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
                self._assist()
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

    # -- assistance

    def keys(self) -> list[str]:
        return super().keys() if self._assisting is None else [*super().keys(), self._assistant]

    def stop(self) -> None:
        if self._assisting is not None:
            self._assisting.cancel()
        super().stop()

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
