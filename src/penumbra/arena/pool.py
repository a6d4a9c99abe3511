"""Worker processes that play games, kept from one game to the next.

A worker that dies takes only its game with it: the game is played again by a new worker, and given up the second time.
Nothing here knows what a game is: a job is anything that can be sent to another process. `penumbra.arena.ray_pool` does
the same on a cluster.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")
J_contra = TypeVar("J_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)
TRIES = 2


class Worker(Protocol):
    """Does jobs; made once in each process, by a function that can be sent there."""

    def do(self, job: Any) -> Any: ...
    def close(self) -> None: ...


class AnyPool(Protocol[J_contra, A_co]):
    """Workers, on this machine or on a cluster."""

    @property
    def at_once(self) -> int:
        """How many jobs are done at a time, as far as is known before the first."""

    def run(self, jobs: Iterable[J_contra]) -> Iterator[tuple[int, A_co | None, str]]:
        """(index of the job, its answer, "") as they come in; None and what happened where it failed.

        Jobs are taken as workers become free, so that there may be any number of them.
        """

    def close(self) -> None:
        """Ends the workers, and the jobs that they are at."""


class WorkerProcess:
    """A spawned process with a worker in it, and the job that it is at."""

    def __init__(self, make: Callable[[], Worker], cores: Sequence[int]) -> None:
        context = multiprocessing.get_context("spawn")
        self.cores = cores
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, make, os.getpid(), cores))
        with out_of_reach_of_interrupts():
            self.process.start()
        theirs.close()
        self.task: tuple[int, Any] | None = None  # a job and its index

    def begin(self, task: tuple[int, Any]) -> None:
        self.task = task
        with contextlib.suppress(OSError):  # it has died; that is found when it is to answer
            self.connection.send(task[1])

    def stop(self) -> None:
        """Lets the worker close its players; one that does not leave is killed."""
        self.connection.close()
        self.process.join(0.2 if self.task is None else 0)
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(3)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Pool(Generic[Job, Answer]):
    """Several worker processes on this machine. With `pin` each stays on cores of its own, if there are enough."""

    def __init__(self, make: Callable[[], Worker], workers: int, pin: bool = False) -> None:
        self._make = make
        self.at_once = workers
        # The cores of each worker that is not running; none are given: any will do.
        self._free: list[Sequence[int]] = own_cores(workers) if pin else [()] * workers
        self._processes: list[WorkerProcess] = []

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Answer | None, str]]:
        """As `AnyPool.run`; a job has failed when it failed TRIES times."""
        waiting, again = enumerate(jobs), list[tuple[int, Job]]()
        failures = Counter[int]()
        while True:
            while self._free or any(process.task is None for process in self._processes):
                task = again.pop() if again else next(waiting, None)
                if task is None:
                    break
                self._idle().begin(task)
            busy = {process.connection: process for process in self._processes if process.task is not None}
            if not busy:
                return
            for ready in wait(list(busy)):
                task, answer, trouble = self._collect(busy[ready])  # type: ignore[index]
                failures[task[0]] += bool(trouble)
                if trouble and failures[task[0]] < TRIES:
                    again.append(task)
                else:
                    yield task[0], answer, trouble

    def _idle(self) -> WorkerProcess:
        """A worker that has nothing to do, started if need be."""
        for process in self._processes:
            if process.task is None:
                return process
        self._processes.append(WorkerProcess(self._make, self._free.pop(0)))
        return self._processes[-1]

    def _collect(self, process: WorkerProcess) -> tuple[tuple[int, Job], Answer | None, str]:
        assert process.task is not None
        task = process.task
        try:
            answer, trouble = process.connection.recv()
            process.task = None
        except (EOFError, OSError):
            process.process.join(1)
            answer, trouble = None, f"a worker died (exit code {process.process.exitcode})"
            process.stop()
            self._processes.remove(process)
            self._free.append(process.cores)
        return task, answer, trouble

    def close(self) -> None:
        for process in self._processes:
            process.stop()
            self._free.append(process.cores)
        self._processes = []


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_for_each(workers: int) -> int:
    """Threads of each of so many workers, so that together they fill the cores."""
    return max(1, cores() // workers)


def own_cores(workers: int) -> list[Sequence[int]]:
    """The same number of cores for each of so many workers, none twice; none at all where there are too few, or where
    the system cannot keep a process on them."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    each = len(usable) // workers
    return [usable[i * each : (i + 1) * each] for i in range(workers)]


def pool_of(make: Callable[[int], Worker], workers: int, pin: bool, ray: str | None) -> AnyPool[Any, Any]:
    """Workers, made with a number of threads: processes here, or on the Ray cluster at an address, one thread each."""
    if ray is not None:
        from penumbra.arena.ray_pool import RayPool

        return RayPool(functools.partial(make, 1), ray)
    return Pool(functools.partial(make, threads_for_each(workers)), workers, pin)


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


@contextlib.contextmanager
def out_of_reach_of_interrupts() -> Iterator[None]:
    """Processes started meanwhile hear no interrupt at the terminal until they say what to do with them.

    One that comes while it loads its modules would end in a stack trace. It reaches this process afterwards.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """For such a process: its run ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def leave_with(parent: int) -> None:
    """Ends this process and its group when its parent is gone: one that is busy would otherwise stay for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    with contextlib.suppress(OSError):
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _serve(connection: Connection, make: Callable[[], Worker], parent: int, cores: Sequence[int]) -> None:
    """A worker's life: jobs until the pipe closes or somebody ends it."""
    with contextlib.suppress(OSError):
        os.setpgrp()  # an interrupt at the terminal is for the run, which ends its workers itself
    ignore_interrupts()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
    if cores:
        os.sched_setaffinity(0, cores)
    worker = make()
    try:
        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                return
            try:
                reply: tuple[Any, str] = (worker.do(job), "")
            except Exception as error:
                reply = (None, f"{type(error).__name__}: {error}")
            with contextlib.suppress(OSError):  # nobody is left who waits for it
                connection.send(reply)
    finally:
        worker.close()
