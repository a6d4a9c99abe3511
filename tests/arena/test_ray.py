"""A Ray cluster plays: the same games as processes here, and all of them when a node is lost half-way."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penumbra.arena import generate
from penumbra.arena.archive_run import Progress
from penumbra.arena.population import read_population
from penumbra.arena.ray_pool import ClusterLost, RayPool
from penumbra.arena.tournament import Standing, games_of, pool_for, run
from penumbra.arena.tournament_plan import Tournament
from penumbra.games.archive import Archive
from tests.support.command_line import penumbra
from tests.support.populations import config as population_file
from tests.support.populations import contents as games_in
from tests.support.tournaments import config, contents, quick
from tests.support.workshop import Task, Workshop

GAMES = 40
LOSSES = 200  # enough that a run goes on for some seconds after a node is lost


def test_without_ray_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for command, file in (("tournament", config(tmp_path)), ("generate", population_file(tmp_path))):
        answer = penumbra(command, file, "--archive", tmp_path / "games.db", "--ray", "auto")
        assert (answer.returncode, answer.stderr) == (1, "penumbra: --ray needs ray: pip install 'penumbra[ray]'\n")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes on this machine, one core each; the first also looks after the cluster."""
    utilities = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    made = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    made.shutdown()


class Where:
    """Says on which node it is."""

    def do(self, job: int) -> str:
        import ray

        time.sleep(0.5)
        return str(ray.get_runtime_context().get_node_id())

    def close(self) -> None:
        pass


@pytest.mark.evidence
def test_both_nodes_play(cluster: Any) -> None:
    pool: RayPool[int, str] = RayPool(Where, cluster.address)
    places = [answer for _, answer, _ in pool.run(range(20))]
    pool.close()
    assert len(places) == 20
    assert len(set(places)) == 2


def test_nobody_listens() -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(ClusterLost, match=r"--ray 127\.0\.0\.1:1: there is no cluster: "):
        pool_for(quick(), "127.0.0.1:1")


@pytest.mark.evidence
def test_jobs_that_fail_are_told_of(cluster: Any, tmp_path: Path) -> None:
    """A worker that dies is replaced by Ray; one that always dies is given up; an error is reported."""
    pool: RayPool[Task, int] = RayPool(Workshop, cluster.address)
    numbers = [1, 10, 2, 11, 3, 12]
    answers = {index: (answer, why) for index, answer, why in pool.run([Task(str(tmp_path), n) for n in numbers])}
    pool.close()
    assert [answers[i][0] for i in range(6)] == [1, 100, 4, None, 9, None]
    assert answers[3][1]
    assert answers[5][1] == "RuntimeError: a fault of the harness"


def played_here(tournament: Tournament, path: Path) -> dict[tuple[str, str, int], bytes]:
    with Archive.create(path) as archive:
        run(tournament, archive)
    return contents(tournament, path)


@pytest.mark.evidence
def test_a_cluster_generates_the_same_games_as_processes_here(cluster: Any, tmp_path: Path) -> None:
    population = read_population(population_file(tmp_path, games=GAMES))
    for name, pool in (("cluster", generate.pool_for(population, cluster.address)), ("here", None)):
        with Archive.create(tmp_path / f"{name}.db") as archive:
            progress = generate.run(population, archive, pool)
        assert (progress.done, progress.failures) == (GAMES, [])
    assert games_in(tmp_path / "cluster.db") == games_in(tmp_path / "here.db")


@dataclass
class Killer:
    """Kills a node of a cluster of two when a third of a run's games is there."""

    cluster: Any
    at: int = 0  # how many games were there

    def __call__(self, progress: Progress) -> None:
        if not self.at and progress.target and progress.done >= progress.target // 3:
            self.at = progress.done
            self.cluster.remove_node(next(iter(self.cluster.worker_nodes)), allow_graceful=False)


@pytest.fixture
def killer(cluster: Any) -> Iterator[Killer]:
    yield Killer(cluster)
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()


LOST = "the Ray cluster has lost 1 of its 2 nodes (cores left: 1); the games in flight there are played again"


@pytest.mark.evidence
def test_a_tournament_outlives_a_node(killer: Killer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its games are those of processes here, each once, and one line tells of the node."""
    tournament, path = quick(LOSSES), tmp_path / "cluster.db"
    with Archive.create(path) as archive:
        standing = run(tournament, archive, pool_for(tournament, killer.cluster.address), killer)
        assert sum(1 for _ in games_of(tournament, archive)) == standing.target
    assert 0 < killer.at < standing.target
    assert (standing.done, standing.played, standing.failures) == (standing.target, standing.target, [])
    assert [record.message for record in caplog.records] == [LOST]
    assert contents(tournament, path) == played_here(tournament, tmp_path / "here.db")


@pytest.mark.evidence
def test_generation_outlives_a_node(killer: Killer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As a tournament does; every number is there, and no game twice."""
    population, path = read_population(population_file(tmp_path, games=2 * LOSSES)), tmp_path / "cluster.db"
    with Archive.create(path) as archive:
        pool = generate.pool_for(population, killer.cluster.address)
        progress = generate.run(population, archive, pool, killer)
        numbers = [number for number, _ in archive.games_made(population.identity())]
    assert 0 < killer.at < 2 * LOSSES
    assert (progress.played, progress.new, progress.failures) == (2 * LOSSES, 2 * LOSSES, [])
    assert sorted(numbers) == list(range(2 * LOSSES))
    assert [record.message for record in caplog.records] == [LOST]
    with Archive.create(tmp_path / "here.db") as archive:
        generate.run(population, archive)
    assert games_in(path) == games_in(tmp_path / "here.db")


@pytest.mark.evidence
def test_a_cluster_that_goes_away_is_told_of_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its head is killed when a few games are there: one line, those games, and the rest from the next run."""
    utilities = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "5")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    made = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    tournament, path = quick(GAMES), tmp_path / "games.db"

    def report(standing: Standing) -> None:
        if standing.done == 5:
            made.head_node.kill_all_processes(check_alive=False, allow_graceful=False)

    try:
        with Archive.create(path) as archive, pytest.raises(ClusterLost, match="went away; what was played is kept"):
            run(tournament, archive, pool_for(tournament, made.address), report)
    finally:
        made.shutdown()
    with Archive.open(path, write=True) as archive:
        assert 5 <= sum(1 for _ in games_of(tournament, archive)) < 3 * GAMES
        run(tournament, archive)
    assert contents(tournament, path) == played_here(tournament, tmp_path / "here.db")
