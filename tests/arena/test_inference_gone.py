"""An inference server that dies: no game played without it is kept or counts, and a new run goes on with another."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from penumbra.arena.archive_run import PATIENCE
from penumbra.arena.entrants import Entrant
from penumbra.arena.game_loop import Clock, play
from penumbra.arena.generate import GeneratedGame, GenerationWorker, run
from penumbra.arena.match import GameWorker, Job
from penumbra.arena.population import Pairing, read_population
from penumbra.core import Game
from penumbra.dsmcp.domain import EvaluatorGone
from penumbra.games.archive import Archive
from penumbra.network.inference_server import InferenceServer, RemoteEvaluator
from penumbra.network.loading import loader
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.player import PenumbraPlayer
from tests.support.pools import FakePool

MOVES = Game().legal_actions()
POPULATION = """
games = 30
seed = 5
workers = 1
opening_plies = 2
ply_limit = 12
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Net"
kind = "penumbra:network"
settings = {{ device = "unix:{socket}", nodes = 1, cap = 1000 }}
"""


@contextlib.contextmanager
def serving(socket: Path) -> Iterator[threading.Event]:
    """A server in a thread, until the block ends or the event is set."""
    stop = threading.Event()
    server = InferenceServer(socket, loader(None, "cpu", 1))
    thread = threading.Thread(target=server.serve, args=(stop.is_set,))
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()


def end(stop: threading.Event, socket: Path) -> None:
    """Its connections are closed with it, as those of a process are."""
    stop.set()
    while socket.exists():
        threading.Event().wait(0.01)


class OneWorker(FakePool[Pairing]):
    """What fails is told, as by a pool of processes."""

    def run(self, jobs: Iterable[Pairing]) -> Iterator[tuple[int, GeneratedGame | None, str]]:
        for index, job in enumerate(jobs):
            try:
                yield index, self.do(job), ""
            except EvaluatorGone as error:
                yield index, None, f"{type(error).__name__}: {error}"


def contents(archive: Archive) -> dict[tuple[str, int], bytes]:
    return {(run, number): game.data for run in archive.runs() for number, game in archive.games_made(run)}


def test_generation_stops_and_goes_on_with_the_same_games(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    socket, file = tmp_path / "socket", tmp_path / "population.toml"
    file.write_text(POPULATION.format(socket=socket))
    population = read_population(file)
    pool = OneWorker(GenerationWorker(1, population.ply_limit).do)
    with Archive.create(tmp_path / "killed.db") as archive, Archive.create(tmp_path / "whole.db") as whole:
        with serving(socket) as stop:
            stopped = run(population, archive, pool, lambda now: end(stop, socket) if now.played == 3 else None)
        assert 3 <= stopped.played < 30
        assert stopped.stopped.startswith(f"{PATIENCE} games in a row failed; game ")
        assert "inference server" in stopped.stopped
        before = contents(archive)
        with serving(socket):
            assert run(population, archive, pool).done == run(population, whole, pool).done == 30
        assert before.items() <= contents(archive).items()
        assert contents(archive) == contents(whole)
    assert "Traceback" not in capfd.readouterr().err


def test_a_match_without_its_server_has_no_loser(tmp_path: Path) -> None:
    net = Entrant("Net", kind="penumbra:network", settings={"device": f"unix:{tmp_path / 'socket'}", "nodes": 1})
    with serving(tmp_path / "socket") as stop:
        worker = GameWorker(1)
        job = Job(0, True, net, Entrant("Wild", kind="random"), Clock(None), 1)
        assert worker.do(job).settled
        end(stop, tmp_path / "socket")
        with pytest.raises(EvaluatorGone, match="inference server"):
            worker.do(job)
        worker.close()


def test_a_player_plays_on_by_itself_and_with_the_next_server(tmp_path: Path) -> None:
    """The bot is not to resign; only a run has others to play the game again."""
    evaluator = RemoteEvaluator(str(tmp_path / "socket"), "Top", "Top")
    player = PenumbraPlayer(evaluator, nodes=1)
    with serving(tmp_path / "socket"):
        player.start(True)  # which needs the server: it says what sort of synopsis its network reads
    player.opponent_moved(None)
    assert player.choose_sense() in range(64)
    player.sensed(None, ())
    assert player.choose_move(MOVES) in MOVES
    assert player.faults and isinstance(player.gone, EvaluatorGone)
    with serving(tmp_path / "socket"):
        player.start(True)
        player.opponent_moved(None)
        assert player.choose_sense() in range(64)
        player.sensed(None, ())
        assert player.choose_move(MOVES) in MOVES
        assert player.faults == [] and player.gone is None


def test_whatever_call_notices_it_the_game_is_nobodys() -> None:
    class Gone(RandomPlayer):
        def sensed(self, square: int | None, contents: object) -> None:
            raise EvaluatorGone("it has gone")

    with pytest.raises(EvaluatorGone):
        play(Gone(1), RandomPlayer(2))
