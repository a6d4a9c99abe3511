"""On a full disk every command that writes a file ends with a line that names it, and leaves what was there before."""

from __future__ import annotations

from pathlib import Path

import pytest

from penumbra.games.archive import Archive, NewGame
from penumbra.interop.history import write_record
from penumbra.network.weights import LITE
from tests.support.command_line import penumbra
from tests.support.full_disk import full_disk
from tests.support.processes import run_penumbra, run_python
from tests.support.random_games import random_game
from tests.support.tournaments import config

BEFORE = b"what was there before"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "games.db"
    with Archive.create(path) as games:
        games.add(NewGame(random_game(i), "x") for i in range(5))
    return path


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "game.json"
    write_record(path, random_game(1))
    return path


COMMANDS = {
    "out.jsonl": ("archive", "export", "ARCHIVE", "OUT"),
    "out.jsonl.gz": ("archive", "export", "ARCHIVE", "OUT"),
    "sample.jsonl": ("archive", "sample", "ARCHIVE", "--out", "OUT"),
    "page.html": ("replay", "GAME", "--html", "OUT"),
    "planes.png": ("planes", "GAME", "--turn", "2", "--out", "OUT"),
    "situation.png": ("situation", "GAME", "--turn", "2", "--out", "OUT"),
    "demo.json": ("demo", "--white", "random", "--black", "attacker", "--out", "OUT"),
    "net.onnx": ("export", str(LITE), "OUT"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_line_and_leaves_what_was_there(
    tmp_path: Path, archive: Path, game: Path, name: str
) -> None:
    out = tmp_path / name
    out.write_bytes(BEFORE)
    given = {"ARCHIVE": archive, "GAME": game, "OUT": out}
    with full_disk():
        answer = penumbra(*(given.get(word, word) for word in COMMANDS[name]))
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1), answer
    assert answer.stderr.startswith(f"penumbra: {out}: could not be written (")
    assert "what was there before is kept" in answer.stderr
    assert "Errno" not in answer.stderr
    assert out.read_bytes() == BEFORE
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_of_games_has_whole_ones(tmp_path: Path, archive: Path) -> None:
    with full_disk():
        answer = penumbra("archive", "export", archive, tmp_path / "folder")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "0 games before it are there, and the same command writes all" in answer.stderr
    assert not list((tmp_path / "folder").iterdir())


def test_a_tournament_keeps_its_games_where_its_page_has_no_room(tmp_path: Path) -> None:
    file, path = config(tmp_path, games=1), tmp_path / "games.db"
    answer = penumbra("tournament", file, "--archive", path, "--report", "/dev/full")
    assert answer.returncode == 1 and "15 of 15 games" in answer.stdout
    assert answer.stderr == (
        "penumbra: /dev/full: could not be written (No space left on device); nothing of it is kept; "
        "the games are kept in the archive, and the same command makes the page\n"
    )
    with Archive.open(path) as archive:
        assert len(archive) == 15


def test_a_match_says_what_came_of_the_games_that_it_could_keep(tmp_path: Path) -> None:
    with full_disk():
        answer = penumbra("match", "random", "random", "--games", "3", "--clock", "none", "--out", tmp_path / "out")
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.startswith(f"penumbra: {tmp_path / 'out' / '0001.json'}: could not be written (")
    assert answer.stderr.endswith("; the games before it are kept\n")
    assert "interrupted: 2 games not played" in answer.stdout
    assert not list((tmp_path / "out").iterdir())


def test_an_archive_is_read_on_a_full_disk(archive: Path) -> None:
    """Readers share files beside it, for which there is no room."""
    with full_disk():
        assert penumbra("archive", "stats", archive).returncode == 0


def test_an_archive_that_cannot_grow_says_so(tmp_path: Path, archive: Path) -> None:
    with full_disk():
        answer = penumbra("archive", "merge", tmp_path / "new.db", archive)
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "cannot be written any further, the disk may be full" in answer.stderr


def test_output_that_has_no_room_is_one_line(archive: Path) -> None:
    """And what is piped to a program that reads no further is none."""
    command = f"import sys; sys.stdout = open('/dev/full', 'w'); sys.argv[1:] = ['archive', 'stats', {str(archive)!r}]"
    answer = run_penumbra_code(f"{command}; from penumbra.commands.main import main; main()")
    assert answer == (1, "penumbra: No space left on device\n")
    command = (
        "import os, sys; a, b = os.pipe(); os.close(a); os.dup2(b, 1);"
        f"sys.argv[1:] = ['archive', 'stats', {str(archive)!r}]"
    )
    assert run_penumbra_code(f"{command}; from penumbra.commands.main import main; main()") == (1, "")


def run_penumbra_code(code: str) -> tuple[int, str]:
    answer = run_python("-c", code)
    return answer.returncode, answer.stderr


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = run_penumbra("match", "random", "random", "--out", tmp_path / "file", "--clock", "none")
    file = tmp_path / "file"
    assert (answer.returncode, answer.stderr) == (1, f"penumbra: {file} cannot be written to: {file} is not a folder\n")
