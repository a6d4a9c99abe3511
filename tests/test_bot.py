"""`penumbra.bot`: reconchess' programs load it as it is, it starts nothing before a game, and says what is wrong."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import chess
import pytest
import reconchess
from reconchess.bots.random_bot import RandomBot

from penumbra import bot as penumbra_bot
from penumbra.configs.reader import ConfigurationError
from penumbra.interop.adapters import ReconchessPlayer
from penumbra.interop.history import read_record
from penumbra.players.penumbra.configuration import (
    Configuration,
    from_environment,
    from_file,
    headset,
)
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.registry import make, names
from tests.support.processes import environment, run_python
from tests.support.rbc_server import Invitation, serving


def test_importing_the_bot_starts_nothing() -> None:
    """No thread, of Python's or of a library; and neither numpy, the core nor torch is loaded."""
    code = """
import os, sys, threading
import penumbra.bot
tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
print(threading.active_count(), tasks, [m for m in ("numpy", "penumbra.core", "torch") if m in sys.modules])
"""
    assert run_python("-c", code).stdout == "1 1 []\n"


def test_a_program_may_end_while_the_bot_ponders() -> None:
    """Python ends threads where they are, and one inside the core would take the whole program along."""
    code = """
import chess, time
from reconchess import LocalGame
from penumbra.bot import Penumbra
game, player = LocalGame(600), Penumbra()
player.handle_game_start(True, game.board, "Nobody")
player.handle_opponent_move_result(False, None)
sense = player.choose_sense(game.sense_actions(), game.move_actions(), 600)
player.handle_sense_result(game.sense(sense))
move = player.choose_move(game.move_actions(), 600)
player.handle_move_result(*game.move(move)[:2], False, None)
time.sleep(0.2)
print("the end")
"""
    for _ in range(3):
        ended = run_python("-c", code, PENUMBRA_SECONDS="0.1")
        assert (ended.stdout, ended.stderr, ended.returncode) == ("the end\n", "", 0)


def test_reconchess_finds_exactly_one_player() -> None:
    name, player = reconchess.load_player("penumbra.bot")
    assert name == "Penumbra"
    assert issubclass(player, reconchess.Player)
    player()  # makes nothing yet


@pytest.mark.parametrize("sides", [("penumbra.bot", "reconchess.bots.random_bot"), ("random_bot", "penumbra.bot")])
def test_rc_bot_match_from_a_shell(sides: tuple[str, str], tmp_path: Path) -> None:
    paths = [s if s != "random_bot" else "reconchess.bots.random_bot" for s in sides]
    script = shutil.which("rc-bot-match", path=str(Path(sys.executable).parent))
    command = [script] if script else [sys.executable, "-m", "reconchess.scripts.rc_bot_match"]
    result = subprocess.run(
        [*command, *paths],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(PENUMBRA_SECONDS="0.02", PENUMBRA_RECORD="kept"),
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Game Over!" in result.stdout and "ERROR" not in result.stdout
    games = list(tmp_path.glob("*.json"))
    assert len(games) == 1
    record = read_record(games[0])
    assert "Penumbra" in (record.white_name, record.black_name)
    # The decisions lie beside the game, one for each choice that was made.
    decisions = json.loads(next((tmp_path / "kept").glob("*.decisions.json")).read_text())
    assert decisions["type"] == "PenumbraDecisions"
    assert decisions["color"] == ("white" if sides[0] == "penumbra.bot" else "black")
    turns = [i for i in range(len(record.senses)) if i % 2 == (decisions["color"] == "black")]
    assert len(decisions["decisions"]) == 2 * len(turns)
    assert len(list((tmp_path / "kept").glob("*.json"))) == 2


def test_a_record_that_cannot_be_written_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """reconchess' programs would print a stack trace."""
    monkeypatch.setattr(penumbra_bot, "CONFIGURATION", Configuration(evaluator="heuristic", record="/dev/null/kept"))
    bot = penumbra_bot.Penumbra()
    bot.handle_game_start(True, chess.Board(), "Somebody")
    bot.handle_game_end(None, None, None)
    assert capsys.readouterr().err.count("\n") == 1


def test_rc_connect_plays_the_games_it_is_invited_to(tmp_path: Path) -> None:
    """Two at once, one with each colour, in processes that rc-connect forks; then it is told to stop."""
    invitations = [Invitation(color, seconds=60) for color in (True, False)]
    with serving(invitations) as address:
        options = ["--server-url", address, "--username", "visitor", "--password", "-", "--max-concurrent-games", "2"]
        connected = subprocess.Popen(
            [sys.executable, "-m", "reconchess.scripts.rc_connect", "penumbra.bot", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env=environment(PENUMBRA_SECONDS="0.02", PYTHONUNBUFFERED="1"),
        )
        try:
            until = time.monotonic() + 180
            while not all(invitation.finished for invitation in invitations) and time.monotonic() < until:
                time.sleep(0.1)
        finally:
            connected.send_signal(signal.SIGTERM)
            said, _ = connected.communicate(timeout=30)
    assert all(invitation.finished and not invitation.resigned for invitation in invitations), said
    assert said.count("Finished game") == 2 and "Traceback" not in said
    for invitation in invitations:
        assert invitation.game.get_win_reason() not in (reconchess.WinReason.TIMEOUT, reconchess.WinReason.RESIGN)


def test_games_can_be_played_in_forked_processes() -> None:
    """As rc-connect does: import once, then a process for each game."""
    code = """
import multiprocessing, os
import reconchess
from reconchess.bots.random_bot import RandomBot
_, bot = reconchess.load_player("penumbra.bot")
def game(color):
    players = [bot(), RandomBot()]
    reconchess.play_local_game(*(players if color else players[::-1]), seconds_per_player=20)
context = multiprocessing.get_context("fork")
processes = [context.Process(target=game, args=(color,)) for color in (True, False)]
for process in processes: process.start()
for process in processes: process.join(60)
print([process.exitcode for process in processes])
"""
    result = run_python("-c", code, PENUMBRA_SECONDS="0.01", PENUMBRA_CAP="2000")
    assert result.stdout == "[0, 0]\n" and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "PENUMBRA_PRESET",
            "forest",
            "PENUMBRA_PRESET=forest: it is one of penumbra, mixture, tree, cache, network, simple",
        ),
        ("PENUMBRA_SECONDS", "soon", "PENUMBRA_SECONDS=soon: it must be a number above 0"),
        ("PENUMBRA_NODES", "0", "PENUMBRA_NODES=0: it must be a whole number from 1"),
        ("PENUMBRA_PONDER", "maybe", "PENUMBRA_PONDER=maybe: it is true or false"),
        ("PENUMBRA_CONFIG", "nowhere.toml", "nowhere.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_bad_variable_is_one_line(variable: str, value: str, message: str, tmp_path: Path) -> None:
    code = "from reconchess.scripts.rc_bot_match import main; main()"
    result = run_python("-c", code, "penumbra.bot", "penumbra.bot", cwd=tmp_path, **{variable: value})
    assert result.returncode == 1
    assert result.stderr == f"penumbra: {message}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset = ", "is not TOML"),
        ('presett = "tree"', "there is no 'presett'"),
        ('preset = "forest"', "it is one of"),
        ("seconds = true", "conf.toml: seconds = True: it must be a number above 0"),
        ("nodes = 1.5", "a whole number"),
        ('nodes = "100"', "nodes = '100': it must be a whole number from 1"),
        ("settings = 3", "settings = 3: it must be a table"),
        ("[settings]\nspeed = 3", "settings: there is no 'speed'; there are b, c, d"),
        ("[settings]\nb = 0", "settings: b = 0: it must be a whole number from 1"),
        ('[settings]\nc = "two"', "conf.toml: settings: c = 'two': it must be a number from 0"),
    ],
)
def test_a_bad_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "conf.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        from_file(path)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_variables_come_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "conf.toml"
    path.write_text('preset = "tree"\nseconds = 3\nponder = false\n[settings]\nc = 1.5\nd = [4, 8]\n')
    configuration = from_environment({"PENUMBRA_CONFIG": str(path), "PENUMBRA_PRESET": "cache", "OTHER": "x"})
    assert configuration == Configuration(preset="cache", seconds=3.0, ponder=False, settings={"c": 1.5, "d": [4, 8]})
    settings = configuration.dsmcp()
    assert (settings.m, settings.c, settings.d) == (0.0, 1.5, (4, 8))
    assert from_environment({}) == Configuration()


def test_opponents_are_recognised_by_name() -> None:
    headsets = ("Top", "All", "StrangeFish", "StrangeFish2", "Trout", "Attacker")
    assert headset("auto", "TroutBot", headsets) == "Trout"
    assert headset("auto", "Strange Fish 2", headsets) == "StrangeFish2"
    assert headset("auto", "somebody", headsets) is None
    assert headset("none", "TroutBot", headsets) is None
    assert headset("attacker", "TroutBot", headsets) == "Attacker"
    assert headset("nobody", "TroutBot", headsets) is None
    assert headset("auto", "TroutBot", ()) is None


def test_built_in_players_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOCKFISH_EXECUTABLE", sys.executable)  # those that need an engine start none before a game
    for name in names():
        player = make(name, 1)
        assert isinstance(player, PenumbraPlayer) == name.startswith("penumbra")
    tree = make("penumbra:tree", 5)
    assert isinstance(tree, PenumbraPlayer) and tree.settings.m == float("inf") and tree.settings.seed == 5
    with pytest.raises(ValueError, match="there is no player 'penumbra:forest'; known are penumbra, penumbra:mixture"):
        make("penumbra:forest")


def test_a_node_budget_shrinks_what_would_not_fit_into_it() -> None:
    small = make_penumbra(Configuration(nodes=400))
    assert (small.settings.b, small.settings.n_particles) == (4, 100)
    assert small.ponder is False
    kept = make_penumbra(Configuration(nodes=400, settings={"b": 64, "n_particles": 500}))
    assert (kept.settings.b, kept.settings.n_particles) == (64, 500)


def test_the_background_ends_with_the_game() -> None:
    """It thinks while the opponent does, and not a moment after the end."""
    players: list[PenumbraPlayer] = []
    seen: list[bool] = []

    def make_player() -> PenumbraPlayer:
        players.append(make_penumbra(Configuration(seconds=0.01, seed=1, cap=2_000)))
        return players[-1]

    class Watcher(RandomBot):
        def choose_move(self, *arguments: object) -> object:
            seen.append(any(thread.name == "penumbra-ponder" for thread in threading.enumerate()))
            return super().choose_move(*arguments)

    reconchess.play_local_game(ReconchessPlayer(make_player), Watcher())
    assert any(seen)
    assert not any(thread.name == "penumbra-ponder" for thread in threading.enumerate())
    assert players[0].faults == []


def test_the_same_seed_and_nodes_play_the_same_game() -> None:
    from penumbra.arena.game_loop import play_strictly
    from penumbra.players.opponents.random_player import RandomPlayer

    games = [
        play_strictly(make_penumbra(Configuration(nodes=100, seed=3, cap=2_000)), RandomPlayer(4)).record().to_bytes()
        for _ in range(2)
    ]
    assert games[0] == games[1]
