"""A player of one's own: `penumbra new-bot` writes one that works, and whatever plays games takes its file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from penumbra.commands.new_bot import names
from penumbra.interop.history import read_record
from penumbra.players import registry
from penumbra.server.application import ServerSettings, make_app
from tests.server.scripted import new_game, page
from tests.support.processes import environment, run_penumbra

MINE = "from reconchess.bots import random_bot\n\n\nclass Mine(random_bot.RandomBot):\n    pass\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_a_new_bot_works_and_passes_its_tests(tmp_path: Path) -> None:
    written = run_penumbra("new-bot", "Grey Heron", "--folder", tmp_path / "bots")
    assert (written.returncode, written.stderr) == (0, "")
    assert written.stdout.startswith(f"GreyHeron is in {tmp_path}/bots/grey_heron.py, its tests in ")
    folder = tmp_path / "bots"
    assert sorted(path.name for path in folder.iterdir()) == ["grey_heron.py", "test_grey_heron.py"]
    for command in (
        ["pytest", "-q", "-p", "no:cacheprovider"],
        ["ruff", "check", "--isolated", "--line-length", "120", "."],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", *command],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment(),
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "test_magpie.py").write_text("mine")
    answer = run_penumbra("new-bot", "Magpie", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (
        1,
        "penumbra: test_magpie.py is there already; choose another name or folder\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["test_magpie.py"]


def test_names_become_files_and_classes() -> None:
    assert names("Magpie") == ("magpie", "Magpie")
    assert names("grey-heron 2") == ("grey_heron_2", "GreyHeron2")
    assert names("RBCBot") == ("rbc_bot", "RBCBot")
    for name in ("", "2 fast", "../x", "class", "é", "a/b"):
        with pytest.raises(ValueError, match="cannot be a player's name"):
            names(name)


def test_a_mistake_in_a_bots_text_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import reconchess\n\n\nclass Mine(reconchess.Player)\n    pass\n")
    said = f"penumbra: {path} cannot be loaded: broken.py, line 4: expected ':': class Mine(reconchess.Player)\n"
    for command in (
        ["match", path, "random", "--games", "1"],
        ["demo", "--white", path],
        ["serve", "--bot", path, "--port", "0"],
    ):
        answer = run_penumbra(*command, cwd=tmp_path)
        assert (answer.returncode, answer.stderr) == (1, said)


def test_ones_own_bot_plays_in_the_demo(mine: Path, tmp_path: Path) -> None:
    answer = run_penumbra("demo", "--white", mine, "--black", "random", "--delay", "0", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert read_record(tmp_path / "demo.json").white_name == "Mine"


def test_ones_own_bot_is_on_the_page(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))
    settings = ServerSettings(tmp_path / "games", own_players={str(mine): "Mine"})
    with TestClient(make_app(settings), base_url="http://localhost") as client:
        offered = {player["name"]: player for player in client.get("/api/about").json()["players"]}
        assert (offered["mine"]["title"], offered["mine"]["line"]) == ("Mine", "is your own, from mine.py")
        with page(client, new_game(client, color="black", player="mine")) as person:
            person.receive_until("sense", "over")
            assert person.state["phase"] == "sense"  # it has played its turn


def test_a_name_means_one_player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))
    with pytest.raises(ValueError, match="there is a player 'random' already; give the file another name"):
        registry.add_file(tmp_path / "random.py", "Random")
    registry.add_file(tmp_path / "other.py", "Other")
    registry.add_file(tmp_path / "other.py", "Other")
    with pytest.raises(ValueError, match="there is a player 'other' already"):
        registry.add_file(tmp_path / "elsewhere" / "other.py", "Other")
