"""`penumbra serve` and `penumbra replay --html`: what they write, and one line for what cannot be done."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from penumbra.server.access import LOOPBACK
from penumbra.server.application import ServerSettings
from penumbra.server.serve import is_public, listening_socket
from tests.support import DATA
from tests.support.command_line import penumbra

GAME = DATA / "paper_game.json"


def test_a_replay_page_holds_the_game(tmp_path: Path) -> None:
    page = tmp_path / "game.html"
    answer = penumbra("replay", GAME, "--html", page)
    assert answer.returncode == 0 and str(page) in answer.stdout
    embedded = re.search(r'id="penumbra-review">(.*?)</script>', page.read_text(), re.DOTALL)
    assert embedded is not None
    review = json.loads(embedded[1])
    assert review["type"] == "penumbra review"
    assert json.loads(review["file"])["requested_moves"] == json.loads(GAME.read_text())["requested_moves"]


def test_what_cannot_be_done_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for arguments, words in (
            (("serve", "--port", str(port), "--data", tmp_path), f"127.0.0.1:{port} cannot be used"),
            (("serve", "--port", str(port), "--data", tmp_path), f"; port {next_free(port)} is free"),
            (("serve", "--port", "0", "--archive", tmp_path / "none.db"), "none.db"),
            (("serve", "--port", "0", "--host", "0.0.0.0"), "0.0.0.0: other machines could connect; add --public"),
            (("serve", "--port", "0", "--host", "::"), "add --public"),
            (("serve", "--port", "0", "--host", "example.org"), "add --public"),
            (("serve", "--port", "0", "--config", tmp_path / "none.toml"), "none.toml: cannot be read"),
            (("replay", GAME, "--html", tmp_path / "none" / "x.html"), "none/x.html"),
        ):
            answer = penumbra(*arguments)
            assert answer.returncode == 1
            assert answer.stderr.count("\n") == 1 and words in answer.stderr


def next_free(port: int) -> int:
    for candidate in range(port + 1, port + 20):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", candidate)):
            return candidate
    raise AssertionError("twenty ports in a row are in use")


def test_what_is_let_in_sends_at_once() -> None:
    """An answer in two parts does not wait for the first to be acknowledged (Nagle's algorithm), which takes 40 ms."""
    with listening_socket(socket.AF_INET) as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        with socket.create_connection(door.getsockname()):
            accepted, _ = door.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                assert accepted.proto == socket.IPPROTO_TCP  # by which asyncio knows that it may ask for this too


def test_an_address_of_this_machine_alone_is_not_public() -> None:
    for host in ("127.0.0.1", "127.3.2.1", "::1", "localhost"):
        assert not is_public(host)
    for host in ("0.0.0.0", "::", "192.168.0.1", "example.org", ""):
        assert is_public(host)


@pytest.mark.parametrize("names", [(), ("Chess.example.org",)])
def test_a_public_server_gives_each_game_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: Any) -> None:
    started: list[ServerSettings] = []
    monkeypatch.setattr("penumbra.server.serve.serve", lambda settings, host, port: started.append(settings))
    options = [word for name in names for word in ("--name", name)]
    for arguments in (["--host", "0.0.0.0", "--public"], ["--public"], []):
        assert penumbra("serve", "--data", tmp_path, *arguments, *options).returncode == 0
    assert [settings.secret for settings in started] == [True, True, False]
    assert started[0].hosts == ((*LOOPBACK, "chess.example.org") if names else ())
    assert set(LOOPBACK) <= set(started[1].hosts)
