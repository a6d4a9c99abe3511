"""Games on a server: several at once, and none is lost to a restart, of a game's process or of everything."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import reconchess

from penumbra.interop.history import read_history
from penumbra.interop.kept_game import KeptGame
from tests.support.processes import environment
from tests.support.rbc_server import Invitation, serving


@contextlib.contextmanager
def connected(
    address: str, folder: Path, games: int = 2, evaluator: str = "heuristic"
) -> Iterator[subprocess.Popen[str]]:
    """`penumbra connect` in a group of processes of its own."""
    config = folder / "quick.toml"
    config.write_text(f'evaluator = "{evaluator}"\nnodes = 20\ncap = 2000\n')
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "penumbra", "connect", address, "--username", "visitor"),
            *("--games", str(games), "--data", str(folder / "kept"), "--config", str(config)),
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(PENUMBRA_PASSWORD="-"),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)


def wait_for(what: str, seconds: float, found: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def turns_of(invitation: Invitation) -> int:
    return int(invitation.game.board.fullmove_number)


def spawned(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a program has started, the oldest first."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()]


def test_games_are_gone_on_with_after_everything_was_killed(tmp_path: Path) -> None:
    """In the middle of two games, without a warning; then a new start plays them on, until it is interrupted."""
    invitations = [Invitation(color, seconds=600) for color in (True, False)]
    with serving(invitations) as address:
        with connected(address, tmp_path):
            wait_for("both are under way", 120, lambda: all(turns_of(each) >= 3 for each in invitations))
        assert not any(each.finished for each in invitations)
        before = [len(KeptGame(path).observations) for path in sorted((tmp_path / "kept").glob("*.game"))]
        assert len(before) == 2 and min(before) >= 5
        with connected(address, tmp_path) as process:
            further = [turns_of(each) + 3 for each in invitations]

            def all_go_on() -> bool:
                return all(
                    each.finished or turns_of(each) >= turn for each, turn in zip(invitations, further, strict=True)
                )

            wait_for("both go on", 300, all_go_on)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            _, said = process.communicate(timeout=60)
    assert (
        process.returncode == 130
        and said.splitlines()[-1].startswith("penumbra: interrupted; ")
        and "Traceback" not in said
    )
    assert said.count("goes on after") == 2
    for each in invitations:
        assert not each.resigned
        assert each.game.get_win_reason() not in (reconchess.WinReason.TIMEOUT, reconchess.WinReason.RESIGN)


def test_a_game_whose_process_dies_is_gone_on_with(tmp_path: Path) -> None:
    invitation = Invitation(True, seconds=600)
    with serving([invitation]) as address, connected(address, tmp_path, games=1) as process:
        wait_for("it is under way", 120, lambda: turns_of(invitation) >= 3)
        os.kill(spawned(process)[-1], signal.SIGKILL)
        wait_for("it is over", 400, lambda: invitation.finished)
    assert not invitation.resigned
    log = (tmp_path / "kept" / "connect.log").read_text()
    assert log.count("has ended") == 1 and "has ended: SIGKILL" in log and "goes on after" in log
    (path,) = (tmp_path / "kept").glob("*.json")
    assert read_history(path).get_winner_color() == invitation.game.get_winner_color()


@pytest.mark.parametrize("status", [401, 404])
def test_what_a_server_refuses_is_one_line(status: int, tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with connected(f"http://127.0.0.1:{server.server_port}", tmp_path) as process:
            _, said = process.communicate(timeout=60)
        server.shutdown()
    assert process.returncode == 1
    assert said.splitlines()[-1].startswith("penumbra: http://127.0.0.1:") and "Traceback" not in said


def test_a_server_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with connected("http://127.0.0.1:9", tmp_path) as process:
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (
        1,
        "penumbra: http://127.0.0.1:9 cannot be reached (ConnectionError)\n",
    )


def test_a_folder_has_one_program(tmp_path: Path) -> None:
    with serving([]) as address, connected(address, tmp_path):
        log = tmp_path / "kept" / "connect.log"
        wait_for("it is connected", 60, lambda: log.exists() and "connected to" in log.read_text())
        with connected(address, tmp_path) as second:
            _, said = second.communicate(timeout=60)
    assert second.returncode == 1 and "another penumbra connect" in said


def test_an_acceptance_that_was_interrupted_is_made_again(tmp_path: Path) -> None:
    """The server does not list the invitation any more."""
    invitation = Invitation(True, seconds=600)
    invitation.accepted = True
    (tmp_path / "kept").mkdir()
    with serving([invitation]) as address:
        mark = tmp_path / "kept" / "0.accepting"
        mark.write_text(json.dumps([address, "visitor"]))
        with connected(address, tmp_path, games=1):
            wait_for("it is under way", 120, lambda: turns_of(invitation) >= 2)
    assert not mark.exists()


def test_why_a_process_ended_is_in_the_log(tmp_path: Path) -> None:
    """Each time; then the game is resigned."""
    invitation = Invitation(True, seconds=600, strict=True)
    invitation.done.append(("sense", 0))  # the server does not let us sense
    with serving([invitation]) as address, connected(address, tmp_path, games=1):
        wait_for("it is given up", 200, lambda: invitation.finished)
    log = (tmp_path / "kept" / "connect.log").read_text()
    assert invitation.resigned and log.count("has ended: status 1: penumbra.") == 6  # the first observed something
    assert log.count('status 400: {"error": "sense after sense"} (more in ') == 6
    (file,) = (tmp_path / "kept").glob("*.stderr")
    assert file.read_text().count("Traceback") == 6


def test_games_go_on_without_the_inference_server(tmp_path: Path) -> None:
    """Each with a network of its own, and no choice is drawn at random meanwhile."""
    invitations = [Invitation(color, seconds=600) for color in (True, False)]
    with serving(invitations) as address, connected(address, tmp_path, evaluator="network") as process:
        wait_for("both are under way", 120, lambda: all(turns_of(each) >= 3 for each in invitations))
        inference_server, *games = spawned(process)
        assert len(games) == 2
        os.kill(inference_server, signal.SIGKILL)
        further = [turns_of(each) + 2 for each in invitations]
        wait_for(
            "both go on",
            120,
            lambda: all(
                each.finished or turns_of(each) >= turn for each, turn in zip(invitations, further, strict=True)
            ),
        )
        log = tmp_path / "kept" / "connect.log"
        wait_for("both have gone on", 60, lambda: log.read_text().count("goes on after") == 2)
    said = log.read_text()
    assert said.count("each game has its own network") == 1 and said.count("an action is drawn instead") <= 2
    assert not any(each.resigned for each in invitations)
