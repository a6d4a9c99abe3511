"""Players in another Python: a release meets its successor, and what cannot be played is said before the first game."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

import penumbra
from penumbra.arena.entrants import entrant
from penumbra.arena.game_loop import Clock
from penumbra.arena.match import GameWorker, Match, run, steps
from penumbra.arena.score import GameResult
from penumbra.arena.tournament import run as run_tournament
from penumbra.arena.tournament_plan import read_tournament
from penumbra.configs.reader import ConfigurationError
from penumbra.core import GameRecord
from penumbra.games.archive import Archive
from penumbra.interop.history import read_record
from penumbra.players.penumbra.configuration import Configuration, from_table, to_table
from tests.support.bots import write_bot
from tests.support.processes import environment
from tests.support.processes import run_penumbra as command

SOURCE = Path(penumbra.__file__).parent
CLOCK = Clock(20.0, 0.1)
CONFIGURATION = Configuration(
    evaluator="heuristic", nodes=20, cap=2_000, settings={"table_entries": 4096}, ponder=False
)

VETERAN = """

_make = make


def make(name, seed=None, configuration=None):
    if name != "veteran":
        return _make(name, seed, configuration)
    player = RandomPlayer(seed)
    player.name = "Veteran"
    return player
"""


def write_python(path: Path, before: str = "", command: str = f'exec {sys.executable} "$@"') -> Path:
    path.write_text(f"#!/bin/sh\n{before} {command}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with a Penumbra 0.0.9, which knows a player that this one does not."""
    folder = tmp_path_factory.mktemp("other")
    copy = folder / "src" / "penumbra"
    (copy / "players").mkdir(parents=True)
    for part in (*SOURCE.iterdir(), *(SOURCE / "players").iterdir()):
        beside = copy / part.relative_to(SOURCE)
        if part.name != "__pycache__" and not beside.exists():
            beside.symlink_to(part)
    for name, text in (("__init__.py", '\n__version__ = "0.0.9"\n'), ("players/registry.py", VETERAN)):
        (copy / name).unlink()
        (copy / name).write_text((SOURCE / name).read_text() + text)
    return write_python(folder / "python", f"MARK=seen PYTHONPATH={folder}/src")


def record(result: GameResult) -> GameRecord:
    return GameRecord.from_bytes(result.record)


# -- who plays


def test_the_other_installation_plays(other: Path, tmp_path: Path) -> None:
    """A player that only it knows, with either colour; results and games say which side it was."""
    answer = command(
        *("match", "random", "veteran", "--python-b", str(other), "--name-b", "old", "--workers", "2", "--json"),
        *("--out", str(tmp_path)),
    )
    assert answer.returncode == 0, answer.stderr
    python = f"Python {platform.python_version()}"
    assert answer.stderr.splitlines() == [
        f"random: Penumbra {penumbra.__version__} in {SOURCE}, {python}",
        f"old: Penumbra 0.0.9 in {other.parent}/src/penumbra, {python}",
    ]
    data = json.loads(answer.stdout)
    assert (data["a"], data["b"], data["played"], data["a_installation"]) == ("random", "old", 2, None)
    assert (data["b_installation"]["python"], data["b_installation"]["penumbra"]) == (str(other), "0.0.9")
    assert sum(data["b_losses_by_fault"].values()) == 0
    games = [read_record(tmp_path / f"000{number}.json") for number in (1, 2)]
    assert [(game.white_name, game.black_name) for game in games] == [("Random", "old"), ("old", "Random")]


def test_without_a_name_the_side_is_called_by_its_python(other: Path) -> None:
    who = entrant("penumbra:tree", python=str(other))
    assert who.name == who.label == f"penumbra:tree ({other})"
    assert who.is_penumbra and who.installation is not None
    assert (who.installation.player, who.installation.built_in) == ("PenumbraTree", True)
    assert who.plain()["python"] == str(other) and who.plain()["penumbra"] == "0.0.9"
    ours = entrant("random", label="new")
    assert (ours.name, ours.label) == ("new", "new")
    assert record(GameWorker(1).do(Match(ours, ours, 1, CLOCK).job(0))).white_name == "new"


def test_settings_and_seeds_reach_it(other: Path) -> None:
    """The same code with the same settings and seed plays the same games there as here."""
    games = []
    quick = replace(CONFIGURATION, settings={"table_entries": 4096, "weigh_ended": True})
    for python in (None, str(other)):
        who = entrant("penumbra:simple", quick, python)
        worker = GameWorker(1)
        results = [worker.do(job) for job in map(Match(who, entrant("random"), 2, CLOCK, seed=3).job, range(2))]
        worker.close()
        assert {result.reason for result in results} <= {"king capture", "move limit"}
        games.append([steps(record(result)) for result in results])
    assert games[0] == games[1]


def test_a_table_holds_what_is_not_as_by_default() -> None:
    assert to_table(Configuration()) == {}
    table = to_table(CONFIGURATION)
    assert table["ponder"] is False and table["settings"] == {"table_entries": 4096} and "preset" not in table
    assert from_table(table) == CONFIGURATION


def test_reconchess_players_run_there_too(other: Path, tmp_path: Path) -> None:
    """By file or by module; our own PYTHONPATH does not follow, and cores are shared out as for players of ours."""
    body = "print(os.environ['MARK'], os.environ['PENUMBRA_THREADS'], os.environ['PYTHONPATH'])"
    bot = write_bot(tmp_path, "tells", "choose_move(self, m, s)", body)
    who = entrant(str(bot), python=str(other), label="tells")
    assert not who.keep
    run(Match(who, entrant("random"), 1, CLOCK, workers=os.cpu_count() or 1, out=tmp_path / "out"))
    assert set((tmp_path / "out" / "tells.log").read_text().splitlines()) == {f"seen 1 {other.parent}/src"}
    installation = entrant("reconchess:random", python=str(other)).installation
    assert installation is not None and installation.player == "RandomBot"


def test_the_trouble_of_a_penumbra_there_is_counted(tmp_path: Path) -> None:
    """What `penumbra.bot` calls recoveries and faults comes back at the end of the game."""
    bot = write_bot(tmp_path, "troubled", "choose_move(self, m, s)", "pass")
    bot.write_text(
        bot.read_text()
        + "    class player: recoveries = ['turn 3: lost']; faults = ['turn 4: broken', 'turn 5: broken']\n"
    )
    worker = GameWorker(1)
    result = worker.do(Match(entrant(str(bot)), entrant("random"), 1, CLOCK).job(0))
    worker.close()
    assert result.recoveries == ("turn 3: lost",)
    assert result.search_faults == ("turn 4: broken", "turn 5: broken")


# -- its process


def test_its_process_ends_with_the_match_even_behind_a_shell(tmp_path: Path) -> None:
    """A wrapper that does not exec, a player that is busy, and a match that is killed: nobody stays."""
    bot = write_bot(tmp_path, "busy", "choose_move(self, m, s)", "pass")
    bot.write_text(
        bot.read_text().replace(
            "self.turns = 0", f"open({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getpid()}} '); time.sleep(600)"
        )
    )
    python = write_python(tmp_path / "python", f"PYTHONPATH={SOURCE.parent}", f'{sys.executable} "$@"')
    code = f"""
        from penumbra.interop.isolated_player import IsolatedPlayer
        IsolatedPlayer({str(bot)!r}, python={str(python)!r}).start(True, "8/8/8/8/8/8/8/K6k w - - 0 1")
    """
    match = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=environment())
    pid = tmp_path / "pid"
    try:
        assert _soon(lambda: pid.exists() and pid.read_text().endswith(" "))
        assert _runs(int(pid.read_text()))
    finally:
        match.kill()
        match.wait()
    assert _soon(lambda: not _runs(int(pid.read_text())))


def _soon(is_true: object) -> bool:
    assert callable(is_true)
    for _ in range(200):
        if is_true():
            return True
        time.sleep(0.1)
    return False


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- what cannot be played


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file or command"),
        ("plain", "not an executable file"),
        ("", "cannot be started: Exec format error"),
        ("#!/bin/sh\necho this is no snake; exit 3\n", "not a Python interpreter: this is no snake"),
        ("#!/bin/sh\nexit 3\n", "not a Python interpreter: the process exited with code 3"),
        (f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', "no Penumbra: No module named 'penumbra'"),
    ],
)
def test_a_python_that_will_not_do_is_one_line(text: str | None, message: str, tmp_path: Path) -> None:
    """Our own PYTHONPATH, with which the command runs, is not that of the other: it would find this Penumbra."""
    python = tmp_path / "python"
    if text is not None:
        python.write_text(text)
        python.chmod(0o644 if text == "plain" else 0o755)
    answer = command("match", "random", "penumbra", "--python-b", str(python), "--out", str(tmp_path / "out"))
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == f"penumbra: {python}: {message}\n"
    assert not (tmp_path / "out").exists()


def test_a_player_or_a_setting_that_the_other_does_not_know_is_one_line(other: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=rf"^{other}: no player 'nobody': it is neither a file, a module, nor one of pen"
    ):
        entrant("nobody", python=str(other))
    with pytest.raises(ValueError, match=rf"^{other}: penumbra: there is no 'telepathy'; there are preset"):
        entrant("penumbra", python=str(other), settings={"telepathy": 1})
    with pytest.raises(ValueError, match=rf"^{other}: strange-fish: .*there is no 'nodez'"):
        entrant("strange-fish", python=str(other), settings={"nodez": 1})
    (tmp_path / "broken.py").write_text("import no_such_module_anywhere")
    with pytest.raises(ValueError, match="no_such_module_anywhere"):
        entrant(str(tmp_path / "broken.py"), python=str(other))


# -- tournaments


def write_tournament(folder: Path, player: str) -> Path:
    path = folder / "tournament.toml"
    path.write_text(f'games = 2\nworkers = 1\n[[player]]\nname = "New"\nkind = "random"\n[[player]]\n{player}\n')
    return path


def test_a_tournament_with_another_python_goes_on_where_it_stopped(other: Path, tmp_path: Path) -> None:
    (tmp_path / "old").symlink_to(other)
    path = write_tournament(
        tmp_path, 'name = "Old"\nkind = "trout"\nsettings = { depth = 1, nodes = 50 }\npython = "old"'
    )
    tournament = read_tournament(path)
    old = tournament.players[1]
    assert old.installation is not None and old.installation.player == "Trout"  # Penumbra's kind, not reconchess' own
    with Archive.create(tmp_path / "games.db") as archive:
        assert run_tournament(tournament, archive).played == 2
        assert run_tournament(read_tournament(path), archive).played == 0
        games = list(archive.games())
    assert {game.white for game in games} == {"New", "Old"}
    assert all(game.settings["reason"] in ("king capture", "move limit") for game in games)


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ('kind = "random"\npython = 3', "python = 3: it must be a text"),
        ('kind = "random"\npython = "/nowhere/python"', "/nowhere/python: no such file or command"),
        ('kind = "nobody"\npython = "OTHER"', "no player 'nobody'"),
        ('path = "reconchess.bots.random_bot"\npython = "OTHER"\nsettings = {}', "settings"),
    ],
)
def test_mistakes_in_a_tournament_are_one_line(player: str, message: str, other: Path, tmp_path: Path) -> None:
    path = write_tournament(tmp_path, 'name = "Old"\n' + player.replace("OTHER", str(other)))
    with pytest.raises(ConfigurationError, match=r"player 2 \(Old\): .*" + message):
        read_tournament(path)
