"""Games played by a Ray cluster; answers come back to the one process that writes.

A job is a Ray task, so that Ray itself plays it again elsewhere when a node or a worker is lost. The processes of the
cluster keep their workers from one job of a run to the next, as those of `penumbra.arena.pool` do. Every node needs
Penumbra. docs/clusters.md is for who runs one.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from penumbra.arena.pool import Worker, leave_with
from penumbra.extras import require

J = TypeVar("J")
A = TypeVar("A")
RETRIES = 5  # of a job whose node or worker was lost
SECONDS_TO_LEAVE = 5.0
PATIENCE = 10.0  # seconds for a cluster to answer at all
BEGIN, NEXT, END = "begin", "next", "end"  # of a run; the next job, in a list, which is empty after the last
AHEAD = 2  # jobs handed out beyond those that are played, so that no core waits for the next
TOKEN = "; one that asks for a token needs RAY_AUTH_MODE=token here too"
LOOK_EVERY = 2.0  # seconds between looks at which nodes there are

log = logging.getLogger(__name__)
_WORKERS: dict[str, Worker] = {}  # of this process, by the run


class ClusterLost(ValueError):
    """The cluster cannot be reached, or went away."""


@dataclass(frozen=True)
class Notice:
    """What the user of a run is told while it goes on."""

    text: str


def do_job(run: str, make: Callable[[], Worker], job: Any) -> tuple[Any, str]:
    """Runs in a process of the cluster: (the answer, ""), or None and what was raised."""
    if run not in _WORKERS:
        for other in list(_WORKERS):
            _WORKERS.pop(other).close()
        _WORKERS[run] = make()
    try:
        return _WORKERS[run].do(job), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


class RayPool(Generic[J, A]):
    """Does jobs by all cores of a cluster.

    A process of its own speaks with the cluster: Ray ends the process that does when its cluster goes away.
    """

    def __init__(self, make: Callable[[], Worker], address: str) -> None:
        require("ray", "--ray")
        try:
            _knock(address)
        except OSError as error:
            raise ClusterLost(f"--ray {address}: there is no cluster: {error}") from None
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_drive, args=(theirs, make, address, os.getpid()), daemon=True)
        self._process.start()
        theirs.close()
        found = self._hear()
        if isinstance(found, str):
            self.close()
            raise ClusterLost(f"--ray {address}: there is no cluster: {found}")
        self.at_once: int = found

    def run(self, jobs: Iterable[J]) -> Iterator[tuple[int, A | None, str]]:
        """As `AnyPool.run`; a job has failed when it raised, or lost its node or worker too often."""
        waiting = iter(jobs)
        self._tell(BEGIN)
        while (said := self._hear()) != END:
            if said == NEXT:
                self._tell(list(islice(waiting, 1)))
            elif isinstance(said, Notice):
                log.warning("%s", said.text)
            else:
                yield said

    def _tell(self, what: Any) -> None:
        with contextlib.suppress(OSError):  # it is gone; that is found when it is to answer
            self._connection.send(what)

    def _hear(self) -> Any:
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            kept = "what was played is kept, and the same command goes on from there"
            raise ClusterLost(f"the Ray cluster went away; {kept}") from None

    def close(self) -> None:
        self._connection.close()
        self._process.join(SECONDS_TO_LEAVE)
        if self._process.is_alive():
            self._process.terminate()
        self._process.join()


def _drive(connection: Connection, make: Callable[[], Worker], address: str, parent: int) -> None:
    """The life of the process that speaks with the cluster: its cores, or why there are none, then answers to jobs."""
    with contextlib.suppress(OSError):
        os.setpgrp()  # an interrupt at the terminal is for the run
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Ray says at its end is not for the reader
    import ray

    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        connection.send(why + TOKEN * (isinstance(error, OSError) and "RAY_AUTH_MODE" not in os.environ))
        return
    connection.send(cores(nodes_of(ray)))
    with contextlib.suppress(EOFError, OSError):  # the run is over
        while connection.recv() == BEGIN:
            for answer in _answers(ray, make, _jobs(connection)):
                connection.send(answer)
            connection.send(END)
    ray.shutdown()


def _jobs(connection: Connection) -> Iterator[Any]:
    """Jobs, each asked for when it is wanted."""
    while True:
        connection.send(NEXT)
        job = connection.recv()
        if not job:
            return
        yield job[0]


def _answers(ray: Any, make: Callable[[], Worker], jobs: Iterator[Any]) -> Iterator[tuple[int, Any, str] | Notice]:
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(do_job)
    name, there = uuid.uuid4().hex, ray.put(make)
    numbered = enumerate(jobs)
    playing: dict[Any, int] = {}
    nodes, looked = nodes_of(ray), time.monotonic()
    while True:
        for index, job in islice(numbered, max(0, cores(nodes) + AHEAD - len(playing))):
            playing[task.remote(name, there, job)] = index
        if not playing:
            return
        ready, _ = ray.wait(list(playing), num_returns=1, timeout=LOOK_EVERY)
        for reference in ready:
            yield playing.pop(reference), *_answer(ray, reference)
        if time.monotonic() - looked >= LOOK_EVERY:
            before, nodes, looked = nodes, nodes_of(ray), time.monotonic()
            if lost := before.keys() - nodes.keys():
                gone = f"{len(lost)} of its {len(before)} nodes (cores left: {cores(nodes):,})"
                yield Notice(f"the Ray cluster has lost {gone}; the games in flight there are played again")


def _answer(ray: Any, reference: Any) -> tuple[Any, str]:
    try:
        answer: tuple[Any, str] = ray.get(reference)
        return answer
    except ray.exceptions.RayError as error:
        return None, str(error).strip().splitlines()[-1]


def nodes_of(ray: Any) -> dict[str, float]:
    """The cores of each node that is there."""
    return {node["NodeID"]: node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]}


def cores(nodes: dict[str, float]) -> int:
    """Of all nodes, each of which plays one game at a time."""
    return max(1, int(sum(nodes.values())))


def _knock(address: str) -> None:
    """OSError if nobody listens at `HOST:PORT`, where Ray itself would wait without end."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
