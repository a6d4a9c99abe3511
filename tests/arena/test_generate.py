"""Generation: the same seed makes the same games, and whatever stops a run costs the games in flight alone."""

from __future__ import annotations

import dataclasses
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penumbra.arena.generate import GeneratedGame, GenerationWorker, run
from penumbra.arena.population import Member, Pairing, Population, read_population
from penumbra.configs.reader import ConfigurationError
from penumbra.core import GameRecord
from penumbra.games.archive import Archive
from penumbra.games.verification import verify
from penumbra.players.player import Player
from tests.support.command_line import penumbra
from tests.support.evidence import scale
from tests.support.pools import FakePool
from tests.support.populations import config, contents
from tests.support.processes import environment

KILLS = scale(3, 20)
MEMBERS = (
    Member("Wild", "random", weight=2.0),
    Member("Hasty", "attacker", {"script": "kingside"}),
    Member("Other", "attacker"),
)


def command(file: Path, archive: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "penumbra", "generate", str(file), "--archive", str(archive), *more]


def test_the_same_seed_makes_the_same_games_for_any_number_of_workers(tmp_path: Path) -> None:
    played: list[dict[int, bytes]] = []
    for workers in (1, 2):
        population = read_population(config(tmp_path, games=12, workers=workers))
        path = tmp_path / f"{workers}.db"
        with Archive.create(path) as archive:
            progress = run(population, archive)
        assert (progress.played, progress.done, progress.new) == (12, 12, 12)
        assert (progress.failures, progress.stopped) == ([], "")
        played.append(dict(enumerate(sorted(contents(path)))))
    assert played[0] == played[1]
    other = read_population(config(tmp_path, games=12), seed=12)
    worker = GenerationWorker(1, other.ply_limit)
    assert not {worker.do(other.pairing(number)).record for number in range(12)} & set(played[0].values())


def test_a_game_is_determined_by_its_number() -> None:
    population = Population(MEMBERS, games=1, seed=5, opening_plies=4, ply_limit=30)
    worker = GenerationWorker(1, 30)
    for number in (0, 7, 123_456):
        first = worker.do(population.pairing(number)).record
        assert first == worker.do(population.pairing(number)).record
        assert GameRecord.from_bytes(first).replay().plies <= 30


def test_players_meet_others_by_their_weights_with_both_colours() -> None:
    pairings = [Population(MEMBERS, seed=1, opening_plies=3).pairing(number) for number in range(3_000)]
    assert all(pairing.white is not pairing.black for pairing in pairings)
    seats = {member.name: 0 for member in MEMBERS}
    for pairing in pairings:
        seats[pairing.white.name] += 1
        seats[pairing.black.name] += 1
    assert 1.25 < seats["Wild"] / seats["Hasty"] < 1.6  # 5 to 3.5: nobody meets itself, so weights do not say it all
    assert 0.9 < seats["Other"] / seats["Hasty"] < 1.1
    whites = sum(pairing.white.name == "Wild" for pairing in pairings)
    assert 0.45 < whites / seats["Wild"] < 0.55
    assert {pairing.opening_plies for pairing in pairings} == {0, 1, 2, 3}
    alone = Population(MEMBERS[:1]).pairing(3)
    assert alone.white is alone.black


def test_openings_are_random_and_then_the_player_plays() -> None:
    """Two games of scripted players begin alike, but for the moves at random."""

    def moves(opening_plies: int, number: int) -> list[int]:
        script = {"script": "kingside"}
        population = Population((Member("A", "attacker", script), Member("B", "attacker", script)), ply_limit=20)
        pairing = population.pairing(number)
        played = GenerationWorker(1, 20).do(Pairing(number, pairing.white, pairing.black, opening_plies, pairing.seeds))
        assert not played.trouble
        return GameRecord.from_bytes(played.record).moves

    assert moves(0, 1)[:4] == moves(0, 2)[:4]
    assert len({tuple(moves(3, number)[:3]) for number in range(10)}) == 10
    assert moves(1, 1)[1] == moves(0, 1)[1]  # Black's first move is its own


def test_a_second_run_plays_only_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        run(read_population(config(tmp_path, games=6)), archive)
        before = [game.id for game in archive.games()]
        assert run(read_population(config(tmp_path, games=6)), archive).played == 0
        assert run(read_population(config(tmp_path, games=10)), archive).played == 4
        assert [game.id for game in archive.games()][: len(before)] == before
        other = run(read_population(config(tmp_path, games=10, ply_limit=30)), archive)
        assert other.played == 10  # another population is another run
        assert sorted(archive.runs().values()) == [10, 10]
    first = next(Archive.open(path).games())
    assert set(first.settings) == {"white", "black", "opening_plies"}
    assert first.settings["white"]["name"] == first.white


def test_any_pool_plays_the_same_games(tmp_path: Path) -> None:
    """A pool is asked for what is missing alone, one job after another, and is closed at the end."""
    population = read_population(config(tmp_path, games=8))
    with Archive.create(tmp_path / "here.db") as archive:
        run(population, archive)
    worker = GenerationWorker(1, population.ply_limit)
    with Archive.create(tmp_path / "there.db") as archive:
        run(dataclasses.replace(population, games=3), archive, FakePool(worker.do))
        pool = FakePool(worker.do)
        progress = run(population, archive, pool)
        assert (progress.played, progress.done, pool.begun, pool.closed) == (5, 8, 5, True)
    assert contents(tmp_path / "here.db") == contents(tmp_path / "there.db")


def test_a_time_limit_ends_a_run_without_a_target(tmp_path: Path) -> None:
    population = Population(MEMBERS, minutes=0.02, seed=1, ply_limit=20)
    with Archive.create(tmp_path / "games.db") as archive:
        progress = run(population, archive)
        assert 0 < progress.played == len(archive.made(population.identity()))


def test_a_game_that_was_made_before_counts_as_done(tmp_path: Path) -> None:
    """Scripted players without luck play one game again and again: the archive keeps it once, and the run ends."""
    script = {"script": "kingside"}
    members = (Member("A", "no senses", script), Member("B", "no senses", script))
    population = Population(members, games=3, ply_limit=4)
    record = GameRecord("A", "B")
    record.add_turn(1, 0)
    record.winner, record.reason = None, "TURN_LIMIT"
    with Archive.create(tmp_path / "games.db") as archive:
        progress = run(population, archive, FakePool(lambda pairing: GeneratedGame(record.to_bytes(), 0.1)))
        assert (len(archive), progress.new, progress.done) == (1, 1, 3)
        assert archive.made(population.identity()) == {0, 1, 2}


def test_a_player_that_fails_is_told_of_and_its_games_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(Player):
        name = "x"

        def start(self, color: bool, fen: str) -> None:
            raise RuntimeError("no board")

    monkeypatch.setattr(Member, "make", lambda member, seed: Failing())
    population = Population(MEMBERS, games=3)
    worker = GenerationWorker(1, 20)
    game = worker.do(population.pairing(0))
    assert game.record == b""
    assert game.trouble.endswith(": crash: RuntimeError: no board")
    with Archive.create(tmp_path / "games.db") as archive:
        progress = run(population, archive, FakePool(worker.do))
        assert (len(archive), progress.played, len(progress.failures)) == (0, 0, 3)
        assert archive.made(population.identity()) == set()
        many = dataclasses.replace(population, games=30)
        with pytest.raises(ValueError, match=r"the first 20 games failed; game 19: "):
            run(many, archive, FakePool(worker.do))


def test_penumbra_is_a_member_like_others(tmp_path: Path) -> None:
    """With a node budget its games repeat, whoever plays them."""
    thinking = {"evaluator": "heuristic", "nodes": 40, "cap": 2_000, "settings": {"table_entries": 4096}}
    members = (Member("Deep", "penumbra", thinking), Member("Trees", "penumbra:tree", thinking), MEMBERS[0])
    found = []
    for workers in (1, 2):
        population = Population(members, games=4, seed=6, workers=workers, opening_plies=2, ply_limit=12)
        path = tmp_path / f"{workers}.db"
        with Archive.create(path) as archive:
            progress = run(population, archive)
            assert (progress.played, progress.failures) == (4, [])
            assert {name for game in archive.games() for name in (game.white, game.black)} == {"Deep", "Trees", "Wild"}
        found.append(contents(path))
    assert found[0] == found[1]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_played(tmp_path: Path, end: signal.Signals) -> None:
    """Also where the run began as shells begin what runs in the background: with interrupts ignored."""
    path = tmp_path / "games.db"
    arguments = command(config(tmp_path, games=100_000), path)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            arguments, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    _wait_for_games(path, 3)
    process.send_signal(end)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.count("\n") == 1
    assert "interrupted; what was played is kept" in said
    assert len(contents(path)) >= 3
    assert not list(tmp_path.glob("games.db-*"))


def _wait_for_games(path: Path, games: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if path.exists() and path.stat().st_size:
            try:
                with Archive.open(path) as archive:
                    if len(archive) >= games:
                        return
            except ValueError:
                pass  # it is being made
        time.sleep(0.05)
    raise AssertionError(f"{path} has not got {games} games")


def test_a_kill_at_any_moment_costs_the_games_in_flight_alone(tmp_path: Path) -> None:
    rng = random.Random(2)
    games = 30 * KILLS
    file, path = config(tmp_path, games=games), tmp_path / "games.db"
    kept: set[bytes] = set()
    for _ in range(KILLS):
        process = subprocess.Popen(command(file, path), env=environment(), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 3.0))
        process.kill()
        process.wait()
        if path.exists() and path.stat().st_size:
            with Archive.open(path, write=True) as archive:
                assert not verify(archive).problems
                now = {game.data for game in archive.games()}
                done = sum(archive.runs().values())
            assert kept <= now
            assert len(now) <= done <= games
            kept = now
    with Archive.open_or_create(path) as archive:
        population = read_population(file)
        left = games - len(archive.made(population.identity()))
        progress = run(population, archive)
        assert (progress.played, progress.done, progress.stopped) == (left, games, "")
        assert archive.made(population.identity()) == set(range(games))
    assert kept <= contents(path)
    worker = GenerationWorker(1, population.ply_limit)
    for number in rng.sample(range(games), 5):
        assert worker.do(population.pairing(number)).record in contents(path)


def test_a_full_disk_stops_cleanly_and_the_archive_is_intact(tmp_path: Path) -> None:
    """No file may grow past a limit, which is what a full disk looks like."""
    path = tmp_path / "games.db"
    limit = 500_000
    result = subprocess.run(
        command(config(tmp_path, games=100_000, ply_limit=10), path),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "cannot be written any further, the disk may be full" in result.stderr
    kept = contents(path)
    assert len(kept) >= 10
    with Archive.open(path, write=True) as archive:
        population = read_population(config(tmp_path, games=len(archive) + 5, ply_limit=10))
        assert run(population, archive).done == population.games
    assert kept <= contents(path)


def test_it_runs_without_any_chess_package(tmp_path: Path) -> None:
    barred = tmp_path / "barred"
    barred.mkdir()
    for name in ("chess", "reconchess", "scipy", "torch", "matplotlib"):
        (barred / f"{name}.py").write_text(f"raise ImportError('{name} was imported')\n")
    path = tmp_path / "games.db"
    result = subprocess.run(
        command(config(tmp_path, games=4), path),
        env=environment(barred),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(contents(path)) == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'kind = "attacker"',
            'kind = "atacker"',
            "player 2 (Hasty): there is no player 'atacker'; known are penumbra, ",
        ),
        ("nodes = 300", "nodez = 300", "player 3 (Trout): trout: there is no 'nodez'"),
        ("nodes = 300", "nodes = -1", "player 3 (Trout): trout: nodes = -1"),
        ("seed = 11", "sead = 11", "there is no 'sead'"),
        ("seed = 11", 'seed = "x"', "seed = 'x': it must be a whole number from 0"),
        ("games = 40", "", "neither games nor minutes"),
        ("games = 40", "minutes = 0", "minutes = 0: it must be a number above 0"),
        ('name = "Hasty"', 'name = "Wild"', "two players are called 'Wild'"),
        ('name = "Hasty"', "weight = -1.0", "weight = -1.0"),
        ('name = "Hasty"', "wait = 1.0", "there is no 'wait'"),
        ('kind = "attacker"', "", "player 2 (Hasty): kind is missing: it must be a text"),
        ("[[player]]", "[[", "is not TOML"),
        ('kind = "attacker"', 'kind = "penumbra"', "player 2 (Hasty): there are no clocks: settings need nodes"),
        ('kind = "attacker"', 'kind = "penumbra:big"', "player 2 (Hasty): there is no player 'penumbra:big'"),
        ('kind = "trout"', 'kind = "penumbra"', "player 3 (Trout): there is no 'depth'; there are preset"),
    ],
)
def test_what_is_wrong_in_a_population_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = config(tmp_path)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ConfigurationError) as error:
        read_population(file)
    assert str(error.value).startswith(f"{file}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    answer = penumbra("generate", file, "--archive", tmp_path / "games.db")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert not (tmp_path / "games.db").exists()


def test_the_command_plays_and_goes_on(tmp_path: Path) -> None:
    file, path = config(tmp_path, games=3), tmp_path / "games.db"
    answer = penumbra("generate", file, "--archive", path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "3 of 3 games" in answer.stdout
    answer = penumbra("generate", file, "--archive", path, "--games", "4", "--workers", "1")
    assert "4 of 4 games" in answer.stdout
    assert "1 played now" in answer.stdout
    (tmp_path / "missing.toml").unlink(missing_ok=True)
    answer = penumbra("generate", tmp_path / "missing.toml", "--archive", path)
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)


def test_the_population_that_ships_has_players_of_many_kinds() -> None:
    population = read_population("population")
    assert len(population.members) >= 12
    assert len({member.kind for member in population.members}) >= 10
    worker = GenerationWorker(1, 6)
    for i, member in enumerate(population.members):
        pairing = Population((member, population.members[i - 1]), seed=i, opening_plies=2).pairing(i)
        assert not worker.do(pairing).trouble
