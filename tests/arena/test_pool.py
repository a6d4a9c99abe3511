"""Pools: jobs are taken one by one, each worker may have cores of its own, and a cluster does as processes here do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from penumbra.arena import archive_run, pool, ray_pool
from penumbra.arena.archive_run import PATIENCE, GameFailed, PlannedGame, Progress, at_intervals, play_into_archive
from penumbra.arena.generate import GeneratedGame
from penumbra.arena.pool import Pool, cores, out_of_reach_of_interrupts, own_cores
from penumbra.arena.ray_pool import RayPool
from penumbra.core import GameRecord
from penumbra.games.archive import Archive, NewGame
from tests.support.command_line import penumbra
from tests.support.pools import FakePool
from tests.support.populations import config, contents
from tests.support.workshop import Task, Workshop


def tasks(folder: Path, taken: list[int]) -> Iterator[Task]:
    """Without end; says which were taken."""
    for number in count():
        taken.append(number)
        yield Task(str(folder), number % 10)


# -- processes on this machine


def test_jobs_are_taken_as_workers_become_free(tmp_path: Path) -> None:
    """So there may be any number of them, and workers are kept from one run to the next."""
    taken: list[int] = []
    workers: Pool[Task, int] = Pool(Workshop, 2)
    try:
        for played, (index, answer, _) in enumerate(workers.run(tasks(tmp_path, taken)), 1):
            assert answer == (index % 10) ** 2
            assert len(taken) <= played + 2
            if played == 20:
                break
        workers.close()
        few = [Task(str(tmp_path), number) for number in (3, 4)]
        first = sorted(workers.run(few))
        processes = list(workers._processes)
        assert sorted(workers.run(few)) == first == [(0, 9, ""), (1, 16, "")]
        assert workers._processes == processes
        assert list(workers.run([])) == []
    finally:
        workers.close()


class Where:
    """Says on which cores it may run."""

    def do(self, job: int) -> list[int]:
        time.sleep(0.2)  # so that every worker gets some
        return sorted(os.sched_getaffinity(0))

    def close(self) -> None:
        """Nothing is kept open."""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processes cannot be kept on cores here")
@pytest.mark.parametrize("pin", [False, True])
def test_pinned_workers_have_cores_of_their_own(pin: bool) -> None:
    usable = sorted(os.sched_getaffinity(0))
    workers: Pool[int, list[int]] = Pool(Where, len(usable), pin)
    try:
        found = {tuple(answer) for _, answer, _ in workers.run(range(3 * len(usable))) if answer is not None}
    finally:
        workers.close()
    assert found == ({(core,) for core in usable} if pin else {tuple(usable)})
    assert sorted(os.sched_getaffinity(0)) == usable


def test_cores_are_shared_out_evenly_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "os", SimpleNamespace(sched_getaffinity=lambda process: {1, 4, 5, 7, 9}))
    assert [list(own) for own in own_cores(2)] == [[1, 4], [5, 7]]
    assert [list(own) for own in own_cores(5)] == [[1], [4], [5], [7], [9]]
    assert [list(own) for own in own_cores(6)] == [[]] * 6
    assert cores() == 5


def test_generation_can_be_pinned(tmp_path: Path) -> None:
    """The games are the same ones."""
    file = config(tmp_path, games=4)
    assert penumbra("generate", file, "--archive", tmp_path / "free.db").returncode == 0
    file.write_text(file.read_text().replace("seed = 11", "seed = 11\npin = true"))
    assert penumbra("generate", file, "--archive", tmp_path / "pinned.db").returncode == 0
    assert contents(tmp_path / "pinned.db") == contents(tmp_path / "free.db")
    file.write_text(file.read_text().replace("pin = true", "pin = 1"))
    assert "pin = 1: it is true or false" in penumbra("generate", file, "--archive", tmp_path / "none.db").stderr


# -- into an archive


def planned(number: int) -> PlannedGame[int, GeneratedGame]:
    def to_archive(game: GeneratedGame) -> NewGame:
        if game.trouble:
            raise GameFailed(game.trouble)
        return NewGame(GameRecord.from_bytes(game.record), "test", made=("run", number))

    return PlannedGame(f"game {number}", number, to_archive)


class Scripted(FakePool[int]):
    """Games of one turn; those of some numbers fail."""

    def __init__(self, failing: set[int], interrupted_at: int = -1) -> None:
        super().__init__(self._game)
        self.failing = failing
        self.interrupted_at = interrupted_at

    def _game(self, number: int) -> GeneratedGame:
        if number == self.interrupted_at:
            raise KeyboardInterrupt
        record = GameRecord("A", "B")
        record.add_turn(number % 64, 0)
        record.winner, record.reason = None, "TURN_LIMIT"
        return GeneratedGame(record.to_bytes(), 0.5, "no board" if number in self.failing else "")


def play(folder: Path, scripted: Scripted, minutes: float | None = None) -> tuple[Progress, list[str], set[int]]:
    """(The progress, its lines, the games that are kept) of a run without end."""
    lines: list[str] = []
    with Archive.open_or_create(folder / "games.db") as archive:
        missing = map(planned, (n for n in count() if n not in archive.made("run")))
        progress = Progress(None, len(archive.made("run")))
        play_into_archive(missing, archive, scripted, progress, lambda now: lines.append(now.line()), minutes)
        return progress, lines, archive.made("run")


def test_an_interrupt_keeps_what_was_played_and_the_next_run_plays_what_is_missing(tmp_path: Path) -> None:
    first = Scripted({1}, interrupted_at=4)
    progress, lines, made = play(tmp_path, first)
    assert (progress.stopped, progress.failures, made) == ("interrupted", ["game 1: no board"], {0, 2, 3})
    assert first.closed
    assert [line.partition(" games")[0] for line in lines] == ["1", "1", "2", "3"]
    assert lines[-1].endswith(", 1 failed")
    assert progress.seconds == {"A": (3, 1.5), "B": (3, 1.5)}
    progress, _, made = play(tmp_path, Scripted(set(), interrupted_at=6))
    assert (progress.played, progress.done, made) == (3, 6, set(range(6)))


def test_a_run_whose_games_all_fail_is_given_up(tmp_path: Path) -> None:
    failing = Scripted(set(range(100)))
    with pytest.raises(ValueError, match=f"the first {PATIENCE} games failed; game {PATIENCE - 1}: no board"):
        play(tmp_path, failing)
    assert failing.closed
    assert play(tmp_path, Scripted(set(range(1, 50)), interrupted_at=50))[0].failures  # one game was played


def test_a_run_ends_when_its_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = count(0, 20)  # seconds; looked at once at the start, then once for each game
    monkeypatch.setattr(archive_run, "time", SimpleNamespace(monotonic=lambda: next(now)))
    assert play(tmp_path, Scripted(set()), minutes=1.0)[0].played == 3


def test_progress_is_reported_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(archive_run, "time", SimpleNamespace(monotonic=lambda: now[0]))
    told: list[float] = []
    report = at_intervals(10.0, lambda progress: told.append(now[0]))
    for second in range(35):
        now[0] = second
        report(Progress(None))
    assert told == [10, 20, 30]


# -- a cluster

FAKE_RAY = """
from types import SimpleNamespace
exceptions = SimpleNamespace(RayError=OSError)
def init(address, log_to_driver, logging_level):
    if address == "guarded": raise ConnectionError("it does not answer")
    if address != "auto": raise ValueError("nobody is there")
def shutdown(): pass
def put(value): return value
def nodes(): return [{"NodeID": "a", "Alive": True, "Resources": {"CPU": 2.0}}]
def remote(**options): return lambda do: SimpleNamespace(remote=lambda *arguments: SimpleTask(do, arguments))
class SimpleTask:
    def __init__(self, do, arguments): self.do, self.arguments = do, arguments
def wait(references, num_returns, timeout): return references[-1:], references[:-1]
def get(reference): return reference.do(*reference.arguments)
"""


@pytest.fixture
def fake_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module `ray` whose cluster is the process that speaks with it, and which answers the last task first."""
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "ray.py").write_text(textwrap.dedent(FAKE_RAY))
    monkeypatch.syspath_prepend(tmp_path / "fake")
    monkeypatch.delitem(sys.modules, "ray", raising=False)


def test_a_cluster_takes_jobs_as_it_has_room(fake_ray: None, tmp_path: Path) -> None:
    taken: list[int] = []
    cluster: RayPool[Task, int] = RayPool(Workshop, "auto")
    try:
        for run in ([1, 2, 3, 12, 4, 5], [], [6]):
            answers = sorted(cluster.run(Task(str(tmp_path), number) for number in run))
            expected = [(n**2, "") if n < 10 else (None, "RuntimeError: a fault of the harness") for n in run]
            assert answers == [(i, *answer) for i, answer in enumerate(expected)]
        for played, (index, answer, _) in enumerate(cluster.run(tasks(tmp_path, taken)), 1):
            assert answer == (index % 10) ** 2
            assert len(taken) <= played + 4
            if played == 20:
                break
    finally:
        cluster.close()


class DwindlingRay:
    """A module `ray` whose cluster has one node fewer whenever one looks again; the last stays. Tasks whose number has
    two digits are lost with their node each time that they are tried."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self, nodes: int) -> None:
        self.there = nodes + 1
        self.begun: list[int] = []

    def nodes(self) -> list[dict[str, object]]:
        self.there = max(1, self.there - 1)
        alive = [{"NodeID": str(i), "Alive": i < self.there, "Resources": {"CPU": 2.0}} for i in range(3)]
        return [*alive, {"NodeID": "head", "Alive": True, "Resources": {}}]

    def put(self, value: object) -> object:
        return value

    def remote(self, **options: object) -> Callable[[object], object]:
        return lambda do: SimpleNamespace(remote=self._begin)

    def _begin(self, name: str, make: object, job: int) -> int:
        self.begun.append(job)
        return job

    def wait(self, references: list[int], num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        return references[:1], references[1:]

    def get(self, reference: int) -> tuple[int, str]:
        if reference > 9:
            raise OSError("\nThe node died.")
        return reference**2, ""


def test_lost_nodes_are_told_of_and_lost_jobs_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer jobs are handed out from then on, and none is missing."""
    monkeypatch.setattr(ray_pool, "LOOK_EVERY", 0.0)
    ray = DwindlingRay(3)
    said = list(ray_pool._answers(ray, Workshop, iter([1, 2, 33, 4, 5, 6, 7, 8, 9])))
    notices = [each.text for each in said if isinstance(each, ray_pool.Notice)]
    again = "the games in flight there are played again"
    assert notices == [
        f"the Ray cluster has lost 1 of its 4 nodes (cores left: 4); {again}",
        f"the Ray cluster has lost 1 of its 3 nodes (cores left: 2); {again}",
    ]
    answers = [each for each in said if not isinstance(each, ray_pool.Notice)]
    assert answers == [(i, None, "The node died.") if i == 2 else (i, (i + 1) ** 2, "") for i in range(9)]
    assert ray.begun == [1, 2, 33, 4, 5, 6, 7, 8, 9]


def test_generation_on_a_cluster_makes_the_same_games(fake_ray: None, tmp_path: Path) -> None:
    file = config(tmp_path, games=6, workers=1)
    answer = penumbra("generate", file, "--archive", tmp_path / "cluster.db", "--ray", "auto")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "6 of 6 games" in answer.stdout
    assert "2 at a time" in answer.stdout
    assert penumbra("generate", file, "--archive", tmp_path / "here.db").returncode == 0
    assert contents(tmp_path / "cluster.db") == contents(tmp_path / "here.db")
    answer = penumbra("generate", file, "--archive", tmp_path / "cluster.db", "--ray", "elsewhere")
    assert (answer.returncode, answer.stderr) == (
        1,
        "penumbra: --ray elsewhere: there is no cluster: nobody is there\n",
    )


def test_a_cluster_that_asks_for_a_token_is_told_of(fake_ray: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(ray_pool.ClusterLost, match="it does not answer; one that asks for a token needs RAY_AUTH_MODE"):
        RayPool(Workshop, "guarded")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(ray_pool.ClusterLost, match=r"it does not answer$"):
        RayPool(Workshop, "guarded")


def test_a_worker_that_is_still_loading_hears_no_interrupt() -> None:
    """It would end in a stack trace; the run itself hears it."""
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with out_of_reach_of_interrupts():
        loading = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loading.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
