"""Players of others, each in a spawned process of its own, where it can neither crash nor stall anybody else.

`ForeignPlayer` is one of our players; every call goes to the process and waits for the answer, no longer than the limit
it was given. One that raises, dies, stays silent or answers nonsense is a `ForeignFault`; its process is then ended and
the next game gets a new one. What such a player prints goes to a file, or nowhere.
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import signal
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from penumbra.core import GameRecord
from penumbra.interop.foreign_host import serve
from penumbra.interop.stockfish import find_stockfish

START_LIMIT = 60.0  # seconds to load a player and to start a game
END_LIMIT = 10.0  # seconds to take leave
UNTIMED_LIMIT = 120.0  # seconds for a call when nobody set a limit

RECONCHESS = {
    "reconchess:random": "reconchess.bots.random_bot",
    "attacker": "reconchess.bots.attacker_bot",
    "reconchess:attacker": "reconchess.bots.attacker_bot",
    "trout": "reconchess.bots.trout_bot",
    "reconchess:trout": "reconchess.bots.trout_bot",
}


class ForeignFault(Exception):
    """Why a foreign player can play no further: `reason` is crash, nonsense, hang or killed."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def find_player(name: str) -> str | None:
    """What `reconchess.load_player` takes for this name: a file or a module; None if there is neither."""
    if name in RECONCHESS:
        return RECONCHESS[name]
    if Path(name).is_file():
        return str(Path(name).resolve())
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except (ImportError, ValueError):
        return None


class ForeignPlayer:
    """A reconchess player by module or path, asked through its process, which is started when first needed."""

    def __init__(
        self,
        source: str,
        name: str | None = None,
        log: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._source = source
        self._environment = dict(environment or {})
        self._log = log
        self._given_name = name
        self.name = name or Path(source).stem
        self.promotion = 0
        self._seconds_left: float | None = None
        self._deadline: float | None = None
        self._opponent_name = ""
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._seed: int | None = None

    # -- the process

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def load(self) -> None:
        """Starts the process and loads the player's class; `ForeignFault` if that cannot be done."""
        if self._process is not None:
            return
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        engine = find_stockfish()  # Trout and others look for it in STOCKFISH_EXECUTABLE
        environment = {**({"STOCKFISH_EXECUTABLE": engine} if engine else {}), **os.environ, **self._environment}
        process = context.Process(
            target=serve, args=(theirs, self._source, self._log, environment, os.getpid()), daemon=True
        )
        process.start()
        theirs.close()
        self._process, self._connection = process, ours
        name = self._receive("load", time.monotonic() + START_LIMIT)
        self.name = self._given_name or str(name)

    def seed(self, seed: int) -> None:
        """Python's own random numbers, in the player's process, start from here at each game."""
        self._seed = seed

    def limit(self, seconds: float | None) -> None:
        """Calls from now on must be answered within so many seconds together; None: each within UNTIMED_LIMIT."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def close(self) -> None:
        """Ends the process, and whatever it started in its own group."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is None or connection is None:
            return
        connection.close()
        process.join(0.3)
        if process.pid is not None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.is_alive():
            process.kill()
        process.join(5)

    def _call(self, method: str, *arguments: Any, deadline: float | None = None) -> Any:
        if self._connection is None:
            self.load()
        assert self._connection is not None
        try:
            self._connection.send((method, arguments))
        except OSError:
            raise self._dead(method) from None
        if deadline is None:
            deadline = self._deadline if self._deadline is not None else time.monotonic() + UNTIMED_LIMIT
        return self._receive(method, deadline)

    def _receive(self, method: str, deadline: float) -> Any:
        assert self._connection is not None
        began = time.monotonic()
        try:
            if not self._connection.poll(max(0.0, deadline - began)):
                self.close()
                raise ForeignFault("hang", f"{method} gave no answer in {time.monotonic() - began:.1f} s")
            outcome, value = self._connection.recv()
        except (EOFError, OSError):
            raise self._dead(method) from None
        if outcome != "answer":
            self.close()
            raise ForeignFault(outcome, f"{method}: {value}")
        return value

    def _dead(self, method: str) -> ForeignFault:
        process = self._process
        code = None
        if process is not None:
            process.join(1)
            code = process.exitcode
        self.close()
        if code is not None and code < 0:
            return ForeignFault("killed", f"{method}: the process was ended by {signal.Signals(-code).name}")
        return ForeignFault("killed", f"{method}: the process exited with code {code}")

    # -- the player

    def meet(self, opponent_name: str) -> None:
        self._opponent_name = opponent_name

    def tell_time(self, seconds_left: float | None) -> None:
        self._seconds_left = seconds_left

    def start(self, color: bool, fen: str) -> None:
        self._call("start", color, fen, self._opponent_name, self._seed, deadline=time.monotonic() + START_LIMIT)

    def opponent_moved(self, capture: int | None) -> None:
        self._call("opponent_moved", capture)

    def choose_sense(self) -> int | None:
        square: int | None = self._call("choose_sense", self._seconds_left)
        return square

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        self._call("sensed", square, tuple(contents))

    def choose_move(self, actions: Sequence[int]) -> int:
        action: int
        action, self.promotion = self._call("choose_move", self._seconds_left)
        return action

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self._call("moved", requested, taken, capture)

    def game_over(self, winner: bool | None, reason: str | None, record: GameRecord | None = None) -> None:
        """A player that fails now has nothing left to lose; its process is ended."""
        if self._connection is None:
            return
        data = None if record is None else record.to_bytes()
        with contextlib.suppress(ForeignFault):
            self._call("game_over", winner, reason, data, deadline=time.monotonic() + END_LIMIT)
