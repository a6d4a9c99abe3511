"""The server's end of the bot process: requests as coroutines, analyses as streams.

A process that dies is replaced by a new one when it is next needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import multiprocessing
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import MappingProxyType
from typing import Any

from penumbra.arena.pool import out_of_reach_of_interrupts
from penumbra.players.penumbra.configuration import Configuration
from penumbra.server.adviser import AdviserSpec
from penumbra.server.bot_process import AssistantSpec, BotSpec, run
from penumbra.server.memory import resident
from penumbra.server.messages import Refusal

log = logging.getLogger(__name__)

LEAST_THREADS = 4  # bots that may think at the same time: a quick one need not wait for two slow ones
MOST_JOBS = 8  # reviews and analyses under way or waiting, of all pages together


class Missing(Exception):
    """The process does not hold what was asked for, because it is a new one."""


class Failed(Exception):
    """What was asked for raised an exception."""


class BotClient:
    """Starts its process when it is first needed, or when told to. All methods belong to one event loop."""

    def __init__(self, own_players: Mapping[str, str] = MappingProxyType({})) -> None:
        """`own_players`: files with players, and their titles, that the process is to know beside the registry's."""
        self._own_players = dict(own_players)
        self._numbers = itertools.count()
        self._jobs = 0
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._waiting: dict[int, tuple[Connection, asyncio.Queue[tuple[str, Any]]]] = {}  # by the process asked

    def prepare(self) -> None:
        """Starts the process before it is needed."""
        if self._pipe is None:
            self._start()

    async def open(self, key: str, spec: BotSpec | AssistantSpec | AdviserSpec) -> None:
        """Makes a bot or an assistant, in place of any other under that key."""
        await self._request("open", key, spec)

    async def call(self, key: str, method: str, *arguments: Any) -> Any:
        """Calls a method of what is under that key."""
        return await self._request("call", key, method, *arguments)

    def release(self, key: str) -> None:
        """What is under that key is freed as soon as it has done what it was asked before."""
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                self._pipe.send((next(self._numbers), "close", key))

    async def try_out(self, name: str, configuration: Configuration) -> None:
        """Lets a player of the registry make one choice; `Failed` says why it cannot."""
        await self._request("try_out", name, configuration)

    def expect_job(self) -> None:
        """`Refusal` if no job can be taken now."""
        if self._jobs >= MOST_JOBS:
            raise Refusal("busy", f"{MOST_JOBS} games are being reviewed and analysed; try again in a moment", 503)

    async def stream(self, job: Callable[..., Iterator[Any]], *arguments: Any) -> AsyncIterator[Any]:
        """What a generator yields over there. A ValueError there is a `Refusal` here."""
        self.expect_job()
        number, answers = self._send("job", job, *arguments)
        self._jobs += 1
        finished = False
        try:
            while True:
                what, value = await answers.get()
                if what == "item":
                    yield value
                    continue
                finished = True
                if what == "refused":
                    raise Refusal("refused", value)
                if what != "answer":
                    raise Failed(value)
                return
        finally:
            self._jobs -= 1
            self._waiting.pop(number, None)
            if not finished and self._pipe is not None:
                with contextlib.suppress(OSError):
                    self._pipe.send((number, "cancel"))

    @property
    def memory(self) -> int:
        """Bytes that the process holds."""
        return 0 if self._process is None else resident(self._process.pid)

    def replace(self) -> None:
        """Another process takes over. Bots are made again when they are next asked, from what they had been told."""
        if self._pipe is not None:
            self._lost(self._pipe)

    def stop(self) -> None:
        """Ends the process; the thread that reads from it then closes the pipe."""
        self._pipe = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    async def _request(self, what: str, *arguments: Any) -> Any:
        number, answers = self._send(what, *arguments)
        try:
            kind, value = await answers.get()
        finally:
            self._waiting.pop(number, None)
        if kind == "missing":
            raise Missing(value)
        if kind == "failed":
            raise Failed(value)
        return value

    def _send(self, what: str, *arguments: Any) -> tuple[int, asyncio.Queue[tuple[str, Any]]]:
        number = next(self._numbers)
        answers: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        try:
            pipe = self._pipe or self._start()
            try:
                pipe.send((number, what, *arguments))
            except OSError:
                self._lost(pipe)
                pipe = self._start()
                pipe.send((number, what, *arguments))
        except OSError as error:
            raise Failed(f"the bot process cannot be started: {error.strerror or error}") from None
        self._waiting[number] = pipe, answers
        return number, answers

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        pipe, theirs = context.Pipe()
        threads = max(LEAST_THREADS, os.cpu_count() or 1)
        self._process = context.Process(
            target=run, args=(theirs, threads, self._own_players), daemon=True, name="penumbra-bots"
        )
        with out_of_reach_of_interrupts():
            self._process.start()
        theirs.close()
        self._pipe = pipe
        loop = asyncio.get_running_loop()
        threading.Thread(target=_read, args=(pipe, loop, self._deliver, self._lost), daemon=True).start()
        return pipe

    def _deliver(self, number: int, what: str, value: Any) -> None:
        if number in self._waiting:
            self._waiting[number][1].put_nowait((what, value))

    def _lost(self, pipe: Connection) -> None:
        """The process at the other end has ended: whoever waits for it is told so; the next request starts another."""
        if pipe is self._pipe:
            self.stop()
            log.warning("the bot process has ended; there will be a new one")
        for asked, answers in self._waiting.values():
            if asked is pipe:
                answers.put_nowait(("missing", "the bot process has ended"))


def _read(
    pipe: Connection,
    loop: asyncio.AbstractEventLoop,
    deliver: Callable[[int, str, Any], None],
    lost: Callable[[Connection], None],
) -> None:
    """In a thread of its own: carries answers to the event loop, as long as that runs."""
    with contextlib.suppress(RuntimeError), contextlib.closing(pipe):
        try:
            while True:
                loop.call_soon_threadsafe(deliver, *pipe.recv())
        except (EOFError, OSError):
            loop.call_soon_threadsafe(lost, pipe)
