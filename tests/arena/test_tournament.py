"""Tournaments: every game once, whatever stops them; the same games whoever plays them; a page that shows them all."""

from __future__ import annotations

import dataclasses
import html.parser
import io
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.console import Console

from penumbra.arena.entrants import Entrant, entrant
from penumbra.arena.game_loop import Clock
from penumbra.arena.match import CANNOT_START, GameWorker, Job, unsettled
from penumbra.arena.report import page
from penumbra.arena.score import GameResult
from penumbra.arena.tournament import ReplayWorker, Standing, games_of, outset, run
from penumbra.arena.tournament_plan import Tournament, read_tournament
from penumbra.commands.tournament import standing_table
from penumbra.configs.reader import ConfigurationError
from penumbra.games.archive import Archive, ArchivedGame
from tests.support.bots import write_bot
from tests.support.command_line import penumbra
from tests.support.evidence import scale
from tests.support.processes import environment
from tests.support.tournaments import CONFIG, config, contents, quick

KILLS = scale(2, 5)
# -- who meets whom


def test_everybody_meets_everybody_with_both_colours() -> None:
    fixtures = quick(4).fixtures()
    assert len(fixtures) == 4 * 3
    for name in ("Wild", "Hasty", "Other"):
        whites = sum((f.job.a if f.job.a_is_white else f.job.b).name == name for f in fixtures)
        assert whites == 4
    assert [f.job.number for f in fixtures] == sorted(f.job.number for f in fixtures)
    assert len({f.job.seed for f in fixtures}) == len(fixtures)


def test_a_gauntlet_is_one_against_all_others() -> None:
    pairs = quick(2, format="gauntlet", hero="Other").pairings()
    assert [(p.first.name, p.second.name) for p in pairs] == [("Wild", "Other"), ("Hasty", "Other")]
    assert {p.first.name for p in quick(2, format="gauntlet").pairings()} == {"Wild"}


# -- playing


def test_a_second_run_plays_what_is_missing_and_players_may_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        assert run(quick(2), archive).played == 6
        assert run(quick(2), archive).played == 0
        before = [game.id for game in archive.games()]
        assert run(quick(4), archive).played == 6
        fourth = Entrant("Fourth", kind="attacker", settings={"script": "mate"})
        more = Tournament((*quick().players, fourth), 2)
        standing = run(more, archive)
        assert standing.played == 6  # those of the newcomer alone
        assert (standing.done, sum(standing.results.values())) == (12, 12)
        assert [game.id for game in archive.games()][: len(before)] == before
        other_clock = quick(2, clock=Clock(60.0, 1.0))
        assert run(other_clock, archive).played == 6  # another clock, other games
    game = next(iter(contents(quick(2), path)))
    assert game[2] in (0, 1)


def test_two_games_of_a_pairing_begin_alike_and_others_are_other_games(tmp_path: Path) -> None:
    opened, plain = quick(4, opening_plies=3), quick(4)
    assert (
        [p.run for p in opened.pairings()] != [p.run for p in plain.pairings()] == [p.run for p in quick(2).pairings()]
    )
    with Archive.create(tmp_path / "games.db") as archive:
        run(opened, archive)
        openings = {(game.white, game.black, n): game.record.moves[:3] for n, game in games_of(opened, archive)}
    for first, second in itertools.combinations(("Wild", "Hasty", "Other"), 2):
        begun = [list(openings.get((first, second, n)) or openings[second, first, n]) for n in range(4)]
        assert begun[0] == begun[1] != begun[2] == begun[3]


def test_what_a_game_is_known_by(tmp_path: Path) -> None:
    fish = Entrant("Fish", kind="trout", settings={"depth": 1, "nodes": 200})
    tournament = Tournament((fish, *quick().players), 1, "gauntlet")  # in each game one of the players takes its time
    with Archive.create(tmp_path / "games.db") as archive:
        run(tournament, archive)
        games = list(games_of(tournament, archive))
        assert len(games) == 3
        for _, game in games:
            assert game.source == "tournament"
            assert game.settings["reason"] == "king capture" or game.winner is None
            assert len(game.settings["seconds"]) == 2 and max(game.settings["seconds"]) > 0


class Scripted:
    """A pool whose jobs fail as they are told."""

    at_once = 1

    def __init__(self, failing: Sequence[int]) -> None:
        self.failing = failing
        self.worker = GameWorker(1)
        self.closed = False

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, GameResult | None, str]]:
        for index, job in enumerate(jobs):
            yield (index, None, "a worker died") if index in self.failing else (index, self.worker.do(job), "")

    def close(self) -> None:
        self.closed = True


def test_a_fault_of_the_harness_is_nobodys_loss_and_is_played_the_next_time(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "games.db") as archive:
        pool = Scripted([1, 4])
        standing = run(quick(2), archive, pool)
        assert pool.closed
        assert (standing.done, len(standing.failures)) == (4, 2)
        assert standing.failures[0] == "Wild v Other, game 1: a worker died"
        assert len(outset(quick(2), archive)[0]) == 2
        assert run(quick(2), archive, Scripted([])).done == 6
    with Archive.create(tmp_path / "none.db") as archive, pytest.raises(ValueError, match="the first 20 games failed"):
        run(quick(20), archive, Scripted(range(100)))


def test_many_games_take_no_more_memory_or_files(tmp_path: Path) -> None:
    """Of this process and of the larger of its two workers, from half of the games to the last: one may start late."""
    tournament = quick(scale(40, 334), workers=2)
    seen: list[list[tuple[int, int]]] = []
    others = set(_children(os.getpid()))  # what earlier tests have left

    def look(standing: Standing) -> None:
        if standing.played in (standing.target // 2, standing.target - 2):  # the last is played by one of the workers
            workers = sorted(int(pid) for pid in _children(os.getpid()) if pid not in others)
            seen.append([_held(pid) for pid in (os.getpid(), *workers)])

    with Archive.create(tmp_path / "games.db") as archive:
        assert run(tournament, archive, report=look).done == tournament.games * 3
    first, last = seen
    assert len(first) == len(last) >= 3
    assert [files for _, files in last] == [files for _, files in first]
    assert last[0][0] - first[0][0] < 4_000, (first, last)
    assert max(last[1:])[0] - max(first[1:])[0] < 4_000, (first, last)


def _held(pid: int) -> tuple[int, int]:
    """(resident kilobytes, open files) of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]), len(list(Path(f"/proc/{pid}/fd").iterdir()))


# -- players that fail


@pytest.fixture
def unreliable(tmp_path: Path) -> Entrant:
    """Crashes in most games, by its own luck."""
    bot = write_bot(tmp_path, "unreliable", "choose_move(self, m, s)", "raise KeyError('no idea')")
    text = bot.read_text()
    bot.write_text(text.replace("if self.turns >= 2:", "if self.turns == 2 and random.random() < 0.6:"))
    bot.write_text(bot.read_text().replace("import os,", "import random, os,"))
    return Entrant("Unreliable", str(bot), keep=True)


def test_a_player_that_fails_loses(tmp_path: Path, unreliable: Entrant) -> None:
    tournament = Tournament((unreliable, Entrant("Hasty", kind="attacker")), 4)
    with Archive.create(tmp_path / "games.db") as archive:
        assert run(tournament, archive).done == 4
        failed = [game for _, game in games_of(tournament, archive) if game.settings["reason"] == "crash"]
    assert failed
    for game in failed:
        assert (game.white if game.winner else game.black) == "Hasty"
        assert "choose_move: KeyError: 'no idea' (unreliable.py:" in game.settings["detail"]


def test_by_the_papers_rule_a_game_with_an_error_is_played_again(tmp_path: Path, unreliable: Entrant) -> None:
    tournament = Tournament((unreliable, Entrant("Hasty", kind="attacker")), 4, on_error="replay")
    with Archive.create(tmp_path / "games.db") as archive:
        assert run(tournament, archive).done == 4
        assert {game.settings["reason"] for _, game in games_of(tournament, archive)} == {"king capture"}


def test_a_player_that_always_fails_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = write_bot(tmp_path, "broken", "choose_move(self, m, s)", "raise KeyError('no idea')")
    worker = ReplayWorker(1)
    monkeypatch.setattr("penumbra.arena.tournament.REPLAYS", 3)
    job = Job(0, True, Entrant("Broken", str(bot), keep=True), Entrant("random"), Clock(None), 1)
    with pytest.raises(RuntimeError, match="3 games in a row ended by errors, the last by crash: choose_move: Key"):
        worker.do(job)
    worker.close()


def test_a_player_that_cannot_start_is_told_before_any_game(tmp_path: Path) -> None:
    """Although its own games would come last."""
    lost = {"weights": str(tmp_path / "none.safetensors"), "device": "cpu"}
    players = (*quick().players, entrant("penumbra:network", settings=lost, label="Lost"))
    with Archive.create(tmp_path / "games.db") as archive:
        with pytest.raises(ValueError, match=r"^Lost cannot start: .*none.safetensors: there are no weights"):
            run(Tournament(players, 2), archive)
        assert list(archive.finished()) == []
        assert run(quick(2), archive).done == 6


def test_a_player_that_cannot_start_any_more_ends_the_tournament(tmp_path: Path) -> None:
    pool = Scripted([])
    do = pool.worker.do

    def do_until_the_third(job: Job) -> GameResult:
        lost = not job.rehearsal and job.number == 1
        return unsettled(job, CANNOT_START, "Wild cannot start: no weights") if lost else do(job)

    with (
        Archive.create(tmp_path / "games.db") as archive,
        patch.object(pool.worker, "do", do_until_the_third),
        pytest.raises(ValueError, match=r"^Wild cannot start: no weights$"),
    ):
        run(quick(2), archive, pool)
    with Archive.open(tmp_path / "games.db") as archive:
        assert pool.closed and len(list(archive.finished())) == 3


def test_losses_by_a_fault_are_told_with_the_ratings(tmp_path: Path, unreliable: Entrant) -> None:
    tournament, path = Tournament((unreliable, Entrant("Hasty", kind="attacker")), 4), tmp_path / "games.db"
    with Archive.create(path) as archive:
        standing = run(tournament, archive)
        games = [game for _, game in games_of(tournament, archive)]
        assert outset(tournament, archive)[1].faults == standing.faults
    crashes = standing.faults["Unreliable", "crash"]
    assert crashes == sum(game.settings["reason"] == "crash" for game in games) > 0
    said = f"Unreliable lost {crashes} of 4 games by its own fault (crash {crashes}); they are rated as losses"
    assert penumbra("rate", path).stdout.splitlines()[-1] == said
    players = json.loads(penumbra("rate", path, "--json").stdout)["players"]
    assert {player["name"]: player["faults"] for player in players} == {"Unreliable": {"crash": crashes}, "Hasty": {}}
    assert f"<td></td><td>{crashes}</td>" in page(tournament, games, (None, 1500.0))
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(standing_table(standing))
    assert f"crash {crashes}" in console.export_text()


# -- kills


def command(file: Path, archive: Path) -> list[str]:
    return [sys.executable, "-m", "penumbra", "tournament", str(file), "--archive", str(archive)]


def test_a_killed_tournament_goes_on_and_has_every_game_once(tmp_path: Path) -> None:
    """The same games and ratings, six players with node budgets, as one that a single worker played undisturbed."""
    rng = random.Random(1)
    games = scale(1, 8)
    file, path = config(tmp_path, games=games, workers=2), tmp_path / "killed.db"
    tournament = read_tournament(file)
    counts = []
    for _ in range(KILLS):
        process = subprocess.Popen(command(file, path), env=environment(), stdout=subprocess.DEVNULL)
        _wait_for_growth(path, tournament)
        time.sleep(rng.uniform(0.0, scale(0.3, 1.5)))
        process.kill()
        process.wait()
        counts.append(len(contents(tournament, path)))
    assert counts == sorted(counts) and counts[0] > 0
    undisturbed = tmp_path / "undisturbed.db"
    with Archive.open(path, write=True) as archive:
        finished = run(tournament, archive)
    with Archive.create(undisturbed) as archive:
        whole = run(dataclasses.replace(tournament, workers=1), archive)
    assert finished.done == whole.done == whole.target == 15 * games
    assert contents(tournament, path) == contents(tournament, undisturbed)
    assert finished.ratings() == whole.ratings()


def _wait_for_growth(path: Path, tournament: Tournament) -> None:
    """Until there is a game more than before, or all of them."""
    before, end = _count(path, tournament), time.monotonic() + 90
    while time.monotonic() < end:
        if _count(path, tournament) > before or before == 15 * tournament.games:
            return
        time.sleep(0.05)
    raise AssertionError("no game was played")


def _count(path: Path, tournament: Tournament) -> int:
    try:
        with Archive.open(path) as archive:
            return sum(1 for _ in games_of(tournament, archive))
    except ValueError:
        return 0  # it is being made


def test_an_interrupt_keeps_what_was_played(tmp_path: Path) -> None:
    file, path = config(tmp_path, games=1_000), tmp_path / "games.db"
    process = subprocess.Popen(
        command(file, path), env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    _wait_for_growth(path, read_tournament(file))
    process.send_signal(signal.SIGTERM)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "penumbra: interrupted; what was played is kept, and a new run goes on from there\n"
    assert "played now" in out


def test_a_worker_leaves_when_its_tournament_is_killed(tmp_path: Path) -> None:
    """Also in the middle of a long game."""
    text = CONFIG.replace("nodes = 20, cap", "nodes = 2000000, cap").replace(":network", ":tree")
    process = subprocess.Popen(command(config(tmp_path, text=text), tmp_path / "games.db"), env=environment())
    end = time.monotonic() + 60
    while not (workers := _children(process.pid)) and time.monotonic() < end:
        time.sleep(0.1)
    process.kill()
    process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert workers and not any(Path(f"/proc/{pid}").exists() for pid in workers)


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


# -- bad input


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'kind = "random"',
            'kind = "rundom"',
            "player 1 (Wild): there is no player 'rundom'; known are ",
        ),
        ("nodes = 200", "nodez = 200", "player 4 (Fish): trout: there is no 'nodez'"),
        ("cap = 1000", "cup = 1000", "player 6 (Deep): there is no 'cup'"),
        ("n_particles = 8", "particles = 8", "player 6 (Deep): settings: "),
        ("seed = 4", "sead = 4", "there is no 'sead'"),
        ("seed = 4", 'format = "knockout"', "format = 'knockout': it is one of round-robin, gauntlet"),
        ("seed = 4", 'hero = "Nobody"', "hero = 'Nobody': it is one of the players of a gauntlet"),
        ("seed = 4", 'on_error = "ignore"', "on_error = 'ignore': it is one of lose, replay"),
        ("games = 2", "games = 300000000", "games = 300000000: that makes 4,500,000,000, and 1,000,000 are the most"),
        ("seed = 4", "seconds = 0", "seconds = 0: it must be a number above 0"),
        ('name = "Hasty"', 'name = "Wild"', "two players are called 'Wild'"),
        ('kind = "random"', 'path = "nowhere.py"', "player 1 (Wild): nowhere.py cannot be read: there is no such file"),
        ('kind = "random"', "", "player 1 (Wild): it has either a kind or a path"),
        ('kind = "random"', 'path = "broken.py"', "cannot be loaded: ModuleNotFoundError: No module named 'no_s"),
        ('kind = "random"', 'kind = "random"\nkeep = true', "player 1 (Wild): there is no 'keep'"),
        ("[[player]]", "[[", "is not TOML"),
    ],
)
def test_what_is_wrong_in_a_tournament_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "broken.py").write_text("x = 1\nimport no_such_module_anywhere\n")
    file = config(tmp_path)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1) if old != "[[player]]" else text.replace(old, new))
    with pytest.raises(ConfigurationError) as error:
        read_tournament(file)
    assert str(error.value).startswith(f"{file}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    if "broken.py" in new:
        assert "(broken.py:2)" in str(error.value)


def test_the_commands_mistakes_are_one_line(tmp_path: Path) -> None:
    file = config(tmp_path)
    for arguments, said in (
        (("--anchor", "Nobody=1500"), "there is no such player"),
        (("--on-error", "ignore"), "on_error = 'ignore'"),
        (("--ray", "127.0.0.1:1"), "--ray"),
    ):
        answer = penumbra("tournament", file, "--archive", tmp_path / "games.db", *arguments)
        assert (answer.returncode, answer.stderr.count("\n")) == (1, 1), answer.stderr
        assert said in answer.stderr
    assert not (tmp_path / "games.db").exists()


def test_the_tournament_that_ships_can_be_read() -> None:
    tournament = read_tournament("tournament")
    assert len(tournament.players) >= 6
    assert any(player.source for player in tournament.players)
    assert any(player.is_penumbra for player in tournament.players)


# -- what is shown


class Counting(html.parser.HTMLParser):
    """Counts elements, and sees that each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_shows_every_game_and_needs_nothing_else(tmp_path: Path) -> None:
    names = {"Wild": 'A <b>"wild"</b> & co', "Hasty": "Hasty", "Other": "Other"}
    players = tuple(Entrant(names[p.name], kind=p.kind) for p in quick().players)
    tournament = Tournament(players, 4)
    with Archive.create(tmp_path / "games.db") as archive:
        run(tournament, archive)
        games = [game for _, game in games_of(tournament, archive)]
    text = page(tournament, games, ("Hasty", 1000.0))
    found = Counting()
    found.feed(text)
    assert not found.open
    assert found.counts["details"] == len(games) == 12
    assert (found.counts["svg"], found.counts["circle"], found.counts["h2"]) == (2, 3, 6)
    assert all(link.startswith("#") for link in found.links)
    assert "<b>" not in text
    assert ">1000<" in text and "±0" in text
    first = games[0].record
    assert all(f"{n}/4" in text for n in _points_of_pairs(games))
    assert f"{len(first.moves)} plies" in text


def _points_of_pairs(games: Sequence[ArchivedGame]) -> set[str]:
    points: dict[tuple[str, str], float] = {}
    for game in games:
        for name, other, won in ((game.white, game.black, True), (game.black, game.white, False)):
            score = 0.5 if game.winner is None else float(game.winner == won)
            points[name, other] = points.get((name, other), 0.0) + score
    return {f"{score:g}" for score in points.values()}


def test_the_command_plays_rates_and_reports(tmp_path: Path) -> None:
    file, path, report = config(tmp_path, games=1), tmp_path / "games.db", tmp_path / "report.html"
    answer = penumbra("tournament", file, "--archive", path, "--report", report, "--anchor", "Fish=1500")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "15 of 15 games" in answer.stdout
    assert any(line.split()[1:4] == ["Fish", "1500", "±0"] for line in answer.stdout.splitlines() if "Fish" in line)
    assert report.read_text().count("<details") == 15
    assert "0 played now" in penumbra("tournament", file, "--archive", path).stdout
    said = answer.stdout.splitlines()
    assert said[0] == "15 of 15 games to play, 1 at a time"
    assert penumbra("rate", path, "--anchor", "Fish=1500").stdout.splitlines()[1:8] == said[3:10]


def test_the_live_table_has_everybody(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "games.db") as archive:
        standing = run(quick(1), archive)
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(standing_table(standing))
    text = console.export_text()
    assert all(name in text for name in ("Wild", "Hasty", "Other", "3 of 3 games"))
    apart = Standing(3, results=Counter({("Ann", "Bob", True): 2, ("Cid", "Dot", None): 1}))
    console.print(standing_table(apart))  # nobody can be rated yet
    text = console.export_text()
    assert all(name in text for name in ("Ann", "Bob", "Cid", "Dot"))
