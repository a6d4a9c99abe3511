"""`penumbra serve` and `penumbra replay --html`: what they write, and one line for what cannot be done."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

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
            (("serve", "--port", "0", "--archive", tmp_path / "none.db"), "none.db"),
            (("serve", "--port", "0", "--config", tmp_path / "none.toml"), "none.toml: cannot be read"),
            (("replay", GAME, "--html", tmp_path / "none" / "x.html"), "none/x.html"),
        ):
            answer = penumbra(*arguments)
            assert answer.returncode == 1
            assert answer.stderr.count("\n") == 1 and words in answer.stderr
