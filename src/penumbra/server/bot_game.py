"""Two bots, and whoever watches: everything is shown, for there is nobody to hide it from."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from penumbra.core import START_FEN
from penumbra.rbc.player_view import PROTOCOL
from penumbra.rbc.walk import Step
from penumbra.review.frames import Reviewer
from penumbra.server import messages
from penumbra.server.live_game import Listener, LiveGame
from penumbra.server.messages import Message, Pace, Refusal

TOP_ACTIONS = 8  # of a thought


class BotGame(LiveGame):
    """Steps are shown as a review shows them. While nobody watches, or a step waits to be taken, no clock runs."""

    def __init__(self, *arguments: Any, paused: bool = False, seconds: float = 0.5, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.paused = paused
        self.seconds = seconds  # that a step stays before the next
        self.steps: list[dict[str, Any]] = []
        self._reviewer = Reviewer(START_FEN)
        self._go = asyncio.Event()
        self._watched = asyncio.Event()
        self._new: asyncio.Queue[tuple[Step, dict[str, Any] | None]] = asyncio.Queue()
        self._showing: asyncio.Task[None] | None = None

    def place(self, owner: str | None = None) -> BotGame:
        return self

    def greeting(self) -> dict[str, Any]:
        """For a page that comes, or comes back: everything so far."""
        return {
            "type": "game",
            "protocol": PROTOCOL,
            "game": self.about() | {"mode": "watch", "start": START_FEN},
            "steps": self.steps,
            "state": self.state(),
        }

    def state(self) -> dict[str, Any]:
        phase = "over" if self.over else "paused" if self.paused else "running"
        result = None if self.result is None else self.result.to_json()
        clocks = self.clocks.to_json()
        return {"phase": phase, "seconds": self.seconds, "clocks": clocks, "result": result, "kept": self.kept}

    def start(self) -> None:
        self._showing = asyncio.get_running_loop().create_task(self._show())
        super().start()

    def join(self, listener: Listener) -> None:
        self.admit(listener, len(self.listeners))
        listener.send(self.greeting())
        self._watched.set()
        if not self.paused:
            self._go.set()

    def leave(self, listener: Listener) -> None:
        self.dismiss(listener)

    def handle(self, message: Message) -> None:
        match message:
            case Pace(paused=paused, seconds=seconds):
                self.paused, self.seconds = paused, seconds
                if not paused:
                    self._go.set()
                self.state_changed()
            case messages.Step():
                self._go.set()
            case _:
                raise Refusal("watched", "this game is played by programs; you can only watch it")

    def heard(self, color: bool, thought: dict[str, Any] | None) -> None:
        assert self.last_step is not None
        self._new.put_nowait((self.last_step, thought))

    def resumed(self, color: bool) -> None:
        self.heard(color, None)

    def state_changed(self) -> None:
        self.send_all({"type": "update", "step": None, "state": self.state()})

    def stop(self) -> None:
        if self._showing is not None:
            self._showing.cancel()
        super().stop()

    async def before_thought(self) -> None:
        """Programs that nobody watches do not even think."""
        if not self.listeners:
            self.hold_clock()
            self._watched.clear()
            await self._watched.wait()
            self.run_clock()

    async def before_step(self) -> None:
        self.hold_clock()
        self._go.clear()
        if self.paused or not self.listeners:
            await self._go.wait()
        else:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._go.wait(), self.seconds)
        self.run_clock()

    async def _show(self) -> None:
        """Each new step as a step of the review, its sets of states followed in a thread."""
        while True:
            step, thought = await self._new.get()
            shown = await asyncio.to_thread(self._reviewer.review, step)
            self.steps.append(shown | {"thought": _short(thought)})
            self.send_all({"type": "update", "step": self.steps[-1], "state": self.state()})


def _short(thought: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the page shows of a decision."""
    if thought is None:
        return None
    keys = ("action", "reason", "value", "states", "particles", "nodes", "seconds", "belief")
    return {key: thought[key] for key in keys} | {"actions": thought["actions"][:TOP_ACTIONS]}
