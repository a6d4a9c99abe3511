"""Spawned processes that play games, kept from one game to the next.

A worker that dies takes only its game with it: the game is played again by a new worker, and given up the second time.
Nothing here knows what a game is: a job is a number and a function of it that can be sent to another process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")
TRIES = 2


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workplace(Protocol):
    """Made once in each worker, by a function that can be sent there."""

    def do(self, job: Any) -> Any: ...
    def close(self) -> None: ...


class Worker:
    def __init__(self, make: Callable[[], Workplace]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, make, os.getpid()))
        self.process.start()
        theirs.close()
        self.job: int | None = None

    def stop(self) -> None:
        """Lets the worker close its players; one that does not leave is killed."""
        self.connection.close()
        self.process.join(0.2 if self.job is None else 0)
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(3)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Pool(Generic[Job, Answer]):
    """Does jobs by several workers at once."""

    def __init__(self, make: Callable[[], Workplace], workers: int) -> None:
        self._make = make
        self._count = workers
        self._workers: list[Worker] = []

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Answer | None, str]]:
        """(index of the job, its answer, "") as they come in; None and what happened where it failed TRIES times."""
        waiting = deque(range(len(jobs)))
        failures = dict.fromkeys(waiting, 0)
        left = len(jobs)
        self._workers = [Worker(self._make) for _ in range(min(self._count, left))]
        while left:
            for worker in self._workers:
                if worker.job is None and waiting:
                    worker.job = waiting.popleft()
                    with contextlib.suppress(OSError):
                        worker.connection.send(jobs[worker.job])
            by_connection = {worker.connection: worker for worker in self._workers}
            for ready in wait(list(by_connection)):
                worker = by_connection[ready]  # type: ignore[index]
                index, answer, trouble = self._collect(worker)
                if index is None:
                    continue
                if trouble:
                    failures[index] += 1
                    if failures[index] < TRIES:
                        waiting.appendleft(index)
                        continue
                left -= 1
                yield index, answer, trouble

    def _collect(self, worker: Worker) -> tuple[int | None, Answer | None, str]:
        index = worker.job
        try:
            answer, trouble = worker.connection.recv()
            worker.job = None
        except (EOFError, OSError):
            worker.process.join(1)
            answer, trouble = None, f"a worker died (exit code {worker.process.exitcode})"
            self._replace(worker)
        return index, answer, trouble

    def _replace(self, worker: Worker) -> None:
        worker.stop()
        self._workers[self._workers.index(worker)] = Worker(self._make)

    def close(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers = []


@contextlib.contextmanager
def ended_by_signal() -> Iterator[None]:
    """A request to terminate ends the run as an interrupt does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def leave_with(parent: int) -> None:
    """Ends this process and its group when its parent is gone: one that is busy would otherwise stay for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    with contextlib.suppress(OSError):
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _serve(connection: Connection, make: Callable[[], Workplace], parent: int) -> None:
    """A worker's life: jobs until the pipe closes or somebody ends it."""
    with contextlib.suppress(OSError):
        os.setpgrp()  # an interrupt at the terminal is for the match, which ends its workers itself
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
    workplace = make()
    try:
        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                return
            try:
                reply: tuple[Any, str] = (workplace.do(job), "")
            except Exception as error:
                reply = (None, f"{type(error).__name__}: {error}")
            with contextlib.suppress(BrokenPipeError):
                connection.send(reply)
    finally:
        workplace.close()
