"""The bot process: every bot of every game, every tracker that assists, every analysis; one process for all.

It serves the server's requests in threads. The native core and the evaluators do their work outside Python's lock, and
whatever the bots share, such as the weights of a network, is in memory once. It runs at a lower priority than the
server, so that thinking never delays an answer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from penumbra.arena.pool import ignore_interrupts
from penumbra.core import START_FEN
from penumbra.network.weights import WeightsError
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.player import Player, tell
from penumbra.rbc.observations import Observation
from penumbra.server.adviser import AdviserSpec
from penumbra.server.assistance import Assistant
from penumbra.server.memory import return_freed

log = logging.getLogger(__name__)

NICENESS = 5
MOST_FAULTS = 3  # that a player survives in a game; after that it only plays at random, and has crashed


@dataclass(frozen=True)
class BotSpec:
    """A bot in one game: enough to make it, and to make it again."""

    name: str
    seed: int
    configuration: Configuration
    color: bool
    fen: str
    opponent: str
    observations: tuple[Observation, ...]
    thoughts: bool  # whether its decisions are wanted

    def open(self) -> Bot:
        player = registry.make(self.name, self.seed, self.configuration)
        if isinstance(player, PenumbraPlayer):
            player.record = self.thoughts
        player.meet(self.opponent)
        player.start(self.color, self.fen)
        for observation in self.observations:
            tell(player, observation)
        return Bot(player)


@dataclass(frozen=True)
class AssistantSpec:
    """The tracker that assists one side of a game."""

    color: bool
    fen: str
    observations: tuple[Observation, ...]

    def open(self) -> Assistant:
        return Assistant(self.color, self.fen, self.observations)


class Bot:
    """A player, called as a game calls it. `left` is what its clock shows, None without one."""

    def __init__(self, player: Player) -> None:
        self._player = player

    def sense(self, capture: int | None, left: float | None) -> tuple[int | None, dict[str, Any] | None]:
        """Its turn has come: where it senses, and what it thinks."""
        self._player.opponent_moved(capture)
        self._player.tell_time(left)
        return self._player.choose_sense(), self._thought()

    def move(
        self, square: int | None, contents: Sequence[int], left: float | None, actions: Sequence[int]
    ) -> tuple[int, int, dict[str, Any] | None]:
        """Its sense showed this: its move, what a pawn becomes, and what it thinks."""
        self._player.sensed(square, contents)
        self._player.tell_time(left)
        action = self._player.choose_move(actions)
        return action, self._player.promotion, self._thought()

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self._player.moved(requested, taken, capture)

    def close(self) -> None:
        self._player.game_over(None, None)
        self._player.close()

    def _thought(self) -> dict[str, Any] | None:
        if len(self._player.faults) >= MOST_FAULTS:
            raise RuntimeError(self._player.faults[-1])
        recorded = self._player.recorded if isinstance(self._player, PenumbraPlayer) else []
        return recorded[-1] if recorded else None


class _Missing(Exception):
    """There is nothing under this key: the process is younger than the game."""


class BotProcess:
    """What the process holds, by key, and the requests under way.

    Requests about one key are answered one after the other, in the order in which they came.
    """

    def __init__(self, pipe: Connection, threads: int) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()
        self._held: dict[str, Any] = {}
        self._lines: dict[str, deque[Callable[[], None]]] = {}  # requests that wait, by key; none: nothing under way
        self._queueing = threading.Lock()  # of `_lines`
        self._running: set[int] = set()  # jobs under way or waiting; one that is cancelled is taken out
        self._players = ThreadPoolExecutor(threads, "penumbra-bot")
        self._jobs = ThreadPoolExecutor(1, "penumbra-job")

    def serve(self) -> None:
        """Until the server goes away."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, what, *arguments = self._pipe.recv()
                if what == "cancel":
                    self._running.discard(number)
                elif what == "job":
                    self._running.add(number)
                    self._jobs.submit(self._stream, number, *arguments)
                else:
                    self._queue(arguments[0], partial(self._answer, number, getattr(self, what), *arguments))

    def open(self, key: str, spec: BotSpec | AssistantSpec | AdviserSpec) -> None:
        self.close(key)
        self._held[key] = spec.open()

    def call(self, key: str, method: str, *arguments: Any) -> Any:
        if key not in self._held:
            raise _Missing(key)
        return getattr(self._held[key], method)(*arguments)

    def close(self, key: str) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            held.close()

    def try_out(self, name: str, configuration: Configuration) -> None:
        """Raises what keeps a player from its first choice, and what it would have survived by playing at random."""
        player = registry.make(name, 0, configuration)
        player.start(True, START_FEN)
        try:
            player.opponent_moved(None)
            player.choose_sense()
        finally:
            player.close()
        if player.faults:
            raise RuntimeError(player.faults[0])

    def _queue(self, key: str, request: Callable[[], None]) -> None:
        with self._queueing:
            if key in self._lines:
                self._lines[key].append(request)
                return
            self._lines[key] = deque()
        self._players.submit(self._work, key, request)

    def _work(self, key: str, request: Callable[[], None]) -> None:
        """One request; the next about the same key waits behind those about others."""
        request()
        with self._queueing:
            if not self._lines[key]:
                del self._lines[key]
                return
            following = self._lines[key].popleft()
        self._players.submit(self._work, key, following)

    def _answer(self, number: int, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            self._send(number, "answer", call(*arguments))
        except _Missing as missing:
            self._send(number, "missing", str(missing))
        except WeightsError as error:
            self._send(number, "failed", str(error))
        except Exception as error:
            log.exception("a request failed")
            self._send(number, "failed", f"{type(error).__name__}: {error}")

    def _stream(self, number: int, job: Callable[..., Iterator[Any]], *arguments: Any) -> None:
        try:
            if number in self._running:
                for item in job(*arguments):
                    if number not in self._running:
                        break
                    self._send(number, "item", item)
            self._send(number, "answer", None)
        except ValueError as error:
            self._send(number, "refused", str(error))
        except Exception as error:
            log.exception("a job failed")
            self._send(number, "failed", f"{type(error).__name__}: {error}")
        finally:
            self._running.discard(number)

    def _send(self, number: int, what: str, value: Any) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._pipe.send((number, what, value))


def run(pipe: Connection, threads: int, own_players: Mapping[str, str]) -> None:
    """The process' main function."""
    return_freed()
    for path, title in own_players.items():
        registry.add_file(path, title)
    ignore_interrupts()  # the server decides when it is over
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    BotProcess(pipe, threads).serve()
    os._exit(0)  # threads that still think have nobody to answer to
