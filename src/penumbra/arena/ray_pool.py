"""Games played by a Ray cluster; answers come back to the one process that writes.

A job is a Ray task, so that Ray itself plays it again elsewhere when a node or a worker is lost. Workers keep what they
made for the jobs of one pool from one to the next, as the processes of `workers` do. Every node needs Penumbra.
"""

from __future__ import annotations

import functools
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penumbra.arena.organiser import Players, room
from penumbra.arena.workers import Workplace

if TYPE_CHECKING:
    from penumbra.arena.match import Job
    from penumbra.arena.score import GameResult
    from penumbra.arena.tournament import Tournament

J = TypeVar("J")
A = TypeVar("A")
RETRIES = 5  # of a job whose node or worker was lost
PATIENCE = 10.0  # seconds for a cluster to answer at all
AHEAD = 2  # jobs handed out beyond those that are played, so that no core waits for the next

_WORKPLACES: dict[str, Workplace] = {}  # of this process, by the pool


class ClusterLost(ValueError):
    """The cluster cannot be reached, or went away."""


def do_job(pool: str, make: Callable[[], Workplace], job: Any) -> tuple[Any, str]:
    """Runs in a process of the cluster: (the answer, ""), or None and what was raised."""
    if pool not in _WORKPLACES:
        for other in list(_WORKPLACES):
            _WORKPLACES.pop(other).close()
        _WORKPLACES[pool] = make()
    try:
        return _WORKPLACES[pool].do(job), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


class RayPool(Generic[J, A]):
    """Does jobs by all cores of a cluster."""

    def __init__(self, make: Callable[[], Workplace], address: str) -> None:
        self._ray = _connected(address)
        self._make = make
        self._name = uuid.uuid4().hex

    def run(self, jobs: Sequence[J]) -> Iterator[tuple[int, A | None, str]]:
        """(index of the job, its answer, "") as they come in; None and what happened where it failed."""
        task = self._ray.remote(num_cpus=1, max_retries=RETRIES)(do_job)
        make = self._ray.put(self._make)
        waiting = iter(range(len(jobs)))
        playing: dict[Any, int] = {}
        try:
            while True:
                room_left = self._cores() + AHEAD - len(playing)
                for _, index in zip(range(room_left), waiting, strict=False):
                    playing[task.remote(self._name, make, jobs[index])] = index
                if not playing:
                    return
                ready, _ = self._ray.wait(list(playing), num_returns=1, timeout=5.0)
                for reference in ready:
                    yield playing.pop(reference), *self._answer(reference)
        except (self._ray.exceptions.RaySystemError, ConnectionError) as error:
            raise ClusterLost(f"the Ray cluster went away: {error}") from None

    def _cores(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _answer(self, reference: Any) -> tuple[A | None, str]:
        try:
            answer: tuple[A | None, str] = self._ray.get(reference)
            return answer
        except (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.RayTaskError) as error:
            return None, str(error).strip().splitlines()[-1]

    def close(self) -> None:
        self._ray.shutdown()


def _knock(address: str) -> None:
    """OSError if nobody listens at `HOST:PORT`, where Ray itself would wait without end."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


def ray_players(tournament: Tournament, address: str) -> Players:
    """Who plays a tournament's games on the cluster at `address`, one thread each."""
    pool: RayPool[Job, GameResult] = RayPool(functools.partial(room(tournament), 1), address)
    return pool


def _connected(address: str) -> Any:
    try:
        import ray
    except ImportError:
        raise ClusterLost("--ray needs Ray: pip install 'penumbra[ray]'") from None
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, ValueError, RuntimeError) as error:
        raise ClusterLost(f"--ray {address}: there is no cluster: {str(error).splitlines()[0]}") from None
    return ray
