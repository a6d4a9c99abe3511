"""A Ray cluster plays: the same games as processes here, and all of them when a node is lost half-way."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penumbra.arena import generate
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


@pytest.mark.evidence
def test_a_cluster_that_loses_a_node_plays_all_games(cluster: Any, tmp_path: Path) -> None:
    """The same as here, though the second node is killed when a third of the games is done."""
    tournament = quick(GAMES)
    second = next(iter(cluster.worker_nodes))
    killed: list[int] = []

    def report(standing: Standing) -> None:
        if not killed and standing.done >= standing.target // 3:
            killed.append(standing.done)
            cluster.remove_node(second, allow_graceful=False)

    path = tmp_path / "cluster.db"
    with Archive.create(path) as archive:
        standing = run(tournament, archive, pool_for(tournament, cluster.address), report)
        assert sum(1 for _ in games_of(tournament, archive)) == standing.target
    assert killed and killed[0] < standing.target
    assert (standing.done, standing.failures) == (3 * GAMES, [])
    assert contents(tournament, path) == played_here(tournament, tmp_path / "here.db")


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
