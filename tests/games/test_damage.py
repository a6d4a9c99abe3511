"""Damaged archives: no reader takes what is damaged for good, all say what they leave out; repair saves the rest."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from penumbra.core import GameRecord
from penumbra.games.archive import Archive, ArchivedGame, ArchiveError, NewGame
from penumbra.games.salvage import _Rows, repair
from penumbra.games.verification import verify
from penumbra.games.visits import Searched, pack
from penumbra.interop.game_files import read_games
from tests.support.command_line import Answer, penumbra
from tests.support.processes import environment
from tests.support.random_games import random_game

GAMES = 120
LONG = "a run that is described at length " * 200  # its text takes more than a page


def searches(i: int) -> bytes:
    rng = np.random.default_rng(i)
    return pack(
        Searched(ply, rng.permutation(40).astype(np.int32), rng.random(40).astype(np.float32)) for ply in range(i)
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of four players, some with searches, some of which take more than a page, made by two runs."""
    path = tmp_path_factory.mktemp("sound") / "games.db"
    with Archive.create(path) as archive:
        for i in range(GAMES):
            names = ("A", "B") if i % 2 else ("C", "A")
            run = LONG if i % 3 == 0 else "short"
            visits = searches(i) if i % 5 == 0 else b""
            archive.add([NewGame(random_game(i, *names), f"source {i % 4}", {"i": i}, 1000 + i, (run, i), visits)])
    return path


@pytest.fixture
def file(tmp_path: Path, sound: Path) -> Path:
    path = tmp_path / "games.db"
    path.write_bytes(sound.read_bytes())
    return path


def flip_record(file: Path, number: int) -> ArchivedGame:
    """Flips a bit of the last move of a game, where it stands in the file; the game as it was."""
    with Archive.open(file) as archive:
        game = next(archive.get([number]))
    data = file.read_bytes()
    at = data.index(game.data) + len(game.data) - 2
    file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    return game


def contents(path: Path) -> dict[int, tuple[object, ...]]:
    """Everything about the games of an archive, by hash."""
    with Archive.open(path) as archive:
        visits = archive.visits()
        runs = {run: archive.made(run) for run in archive.runs()}
        return {
            game.hash: (game.data, game.source, dict(game.settings), game.time, visits.get(game.hash), game.id)
            for game in archive.games()
        } | {hash(run): (run, numbers) for run, numbers in runs.items()}


def is_one_line_each(answer: Answer) -> bool:
    """Whether all that was said on stderr is ours, in words of ours."""
    said = answer.stderr.splitlines()
    theirs = ("Traceback", "malformed", "Tree ", "btree", "rowid", "database disk", "Errno")
    return all(line.startswith("penumbra: ") for line in said) and not any(word in answer.stderr for word in theirs)


def test_no_reader_takes_a_damaged_game_for_good(tmp_path: Path, file: Path) -> None:
    before = penumbra("rate", file, "--json").stdout
    lost = flip_record(file, 7)
    name = f"{file}: game 7 ({lost.white} v {lost.black}): its bytes are not those that were written"
    for command, said in (
        (("archive", "export", file, tmp_path / "out.jsonl"), f"{tmp_path / 'out.jsonl'}: {GAMES - 1} games\n"),
        (("archive", "sample", file, "-n", str(GAMES)), ""),
        (("archive", "sample", file, "-n", str(GAMES), "--out", tmp_path / "s"), f"{GAMES - 1} games\n"),
        (("archive", "stats", file), f"{GAMES - 1} games, "),
        (("archive", "stats", file, "--json"), f'"games": {GAMES - 1}'),
        (("archive", "merge", tmp_path / "merged.db", file), "1 broken"),
        (("rate", file), f"{GAMES - 1} games\n"),
        (("rate", file, "--json"), f'"games": {GAMES - 1}'),
    ):
        answer = penumbra(*command)
        assert answer.returncode == 1, command
        assert answer.stderr.count("\n") == 1 and f"penumbra: {name}" in answer.stderr, answer.stderr
        assert said in answer.stdout, (command, answer.stdout)
    assert f'"games": {GAMES}' in before
    kept = {record.hash for record in read_games(tmp_path / "out.jsonl", lambda trouble: pytest.fail(str(trouble)))}
    assert len(kept) == GAMES - 1 and lost.hash not in kept


def test_a_game_that_is_asked_for_by_its_number_is_not_given_damaged(file: Path) -> None:
    flip_record(file, 7)
    with Archive.open(file) as archive:
        assert [game.id for game in archive.newest(GAMES)] == [n for n in range(GAMES, 0, -1) if n != 7]
        assert len(archive.newest(5, before=9)) == 5
        with pytest.raises(ArchiveError, match=r"game 7 .* its bytes are not those"):
            next(archive.get([7]))


def test_each_damaged_game_is_told_of_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    flip_record(file, 7)
    said: list[str] = []
    with Archive.open(file, report=said.append) as archive:
        assert len(list(archive.games())) == len(list(archive.games())) == GAMES - 1
    assert len(said) == 1
    with Archive.open(file) as archive:
        archive.results()
    assert [record.getMessage() for record in caplog.records] == said


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE game SET white = 9999 WHERE id = 7", "its White's name cannot be read"),
        ("UPDATE game SET settings = white WHERE id = 7", "its settings cannot be read"),
        ("UPDATE game SET winner = 7 WHERE id = 7", "its winner cannot be read"),
        ("UPDATE game SET time = 99999999999999 WHERE id = 7", "its time cannot be read"),
        ("UPDATE game SET plies = 'many' WHERE id = 7", "its length cannot be read"),
        (
            "UPDATE text SET value = x'ff' WHERE value = 'source 2'",
            "its source cannot be read",
        ),
        ("UPDATE game SET record = 'text' WHERE id = 7", "its record cannot be read"),
    ],
)
def test_what_is_said_of_a_game_must_be_of_its_kind(file: Path, change: str, problem: str) -> None:
    with sqlite3.connect(file) as db:
        db.execute(change)
    db.close()
    said: list[str] = []
    with Archive.open(file, report=said.append) as archive:
        assert 7 not in [game.id for game in archive.games()]
    assert any(line.startswith(f"{file}: game 7 ") and problem in line for line in said), said


def test_a_game_that_a_run_made_and_is_gone_is_told_of(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE game SET hash = 5 WHERE id = 2")
    db.close()
    said: list[str] = []
    with Archive.open(file, report=said.append) as archive:
        assert 1 in archive.made("short")
        assert 1 not in [number for number, _ in archive.games_made("short")]
    assert said == [f"{file}: game 1 of a run that made it is not there any more; it is left out"]


def test_damaged_searches_are_left_out(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE search SET visits = x'00' WHERE rowid IN (SELECT hash FROM search LIMIT 1)")
    db.close()
    said: list[str] = []
    with Archive.open(file, report=said.append) as archive:
        assert len(archive.visits()) == len(list(archive.stored_visits())) - 1
    assert len(said) == 1 and "the searches of the game with the hash" in said[0]


COMMANDS = (
    ("archive", "stats"),
    ("archive", "verify"),
    ("archive", "sample"),
    ("rate",),
)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.77, 0.98])
def test_a_file_that_was_cut_is_one_line_in_our_words(tmp_path: Path, file: Path, share: float) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    for command in COMMANDS:
        answer = penumbra(*command, file)
        assert answer.returncode == 1 and is_one_line_each(answer), answer
    answer = penumbra("archive", "export", file, tmp_path / "out.jsonl")
    assert answer.returncode == 1 and "penumbra archive repair" in answer.stderr and is_one_line_each(answer)
    assert not (tmp_path / "out.jsonl").exists()


def test_words_of_sqlite_that_are_no_text_are_no_stack_trace(file: Path) -> None:
    """It quotes a damaged schema in its message, whatever bytes that has."""
    data = file.read_bytes()
    file.write_bytes(data.replace(b"number INTEGER NOT NULL", b"number INTEGER NOT \xc5ULL"))
    for write in (False, True):
        with pytest.raises(ArchiveError, match=r"is damaged .*`penumbra archive repair .* NEW` saves"):
            Archive.open(file, write=write)


def test_nothing_is_written_to_a_damaged_file(file: Path) -> None:
    data = bytearray(file.read_bytes())
    leaf = next(at for at in range(4096, len(data), 4096) if data[at] == 0x0D and data[at + 4] > 5)
    data[leaf + 3 : leaf + 5] = (1).to_bytes(2, "big")  # all of its rows but one are hidden
    file.write_bytes(data)
    with pytest.raises(ArchiveError, match="is damaged"):
        Archive.open(file, write=True)
    with Archive.open(file) as archive, pytest.raises(ArchiveError, match="is damaged"):
        list(archive.games())


# -- repair


def by_number(path: Path) -> set[int]:
    """The slow way: each game by its number, as far as SQLite gives it; the hashes of the sound ones."""
    found = set()
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        db.execute("PRAGMA writable_schema = ON")  # which makes SQLite read a file that was cut
        for number in range(1, GAMES + 1):
            try:
                row = db.execute("SELECT hash, record FROM game WHERE id = ?", (number,)).fetchone()
                if row and GameRecord.from_bytes(row[1]).hash == row[0] % 2**64:
                    found.add(row[0] % 2**64)
            except (sqlite3.Error, ValueError, TypeError):
                continue
    finally:
        db.close()
    return found


def test_repair_of_a_sound_archive_loses_nothing(tmp_path: Path, sound: Path) -> None:
    found = repair(sound, tmp_path / "new.db")
    assert (len(found.games), found.expected, found.lost) == (GAMES, GAMES, [])
    assert contents(tmp_path / "new.db") == contents(sound)


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(20):
        data[rng.randrange(len(data))] ^= rng.randrange(1, 256)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data) // 2, len(data)) :]


def _clear(data: bytearray, rng: random.Random) -> None:
    page = 4096 * rng.randrange(1, len(data) // 4096)
    data[page : page + 4096] = bytes(4096)


def _lose_header(data: bytearray, rng: random.Random) -> None:
    data[:4096] = rng.randbytes(4096)


def _insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at:at] = rng.randbytes(4096)


@pytest.mark.parametrize("damage", [_flip, _cut, _clear, _lose_header, _insert])
@pytest.mark.parametrize("seed", range(4))
def test_repair_saves_all_that_can_be_read_by_number(
    tmp_path: Path, file: Path, sound: Path, damage: Callable[[bytearray, random.Random], None], seed: int
) -> None:
    data = bytearray(file.read_bytes())
    damage(data, random.Random(seed))
    file.write_bytes(data)
    readable = by_number(file)
    found = repair(file, tmp_path / "new.db")
    with Archive.open(tmp_path / "new.db") as archive, Archive.open(sound) as before:
        original = {game.hash: game for game in before.games()}
        saved = {game.hash: game for game in archive.games()}
        assert verify(archive).problems == []
    assert readable <= set(saved) <= set(original)
    assert all(saved[key].data == original[key].data for key in saved)
    assert len(found.games) == len(saved) and (len(saved) == GAMES or found.lost)
    if damage in (_flip, _clear, _lose_header, _insert):
        assert len(saved) > GAMES // 2


def test_repair_says_what_is_lost(tmp_path: Path, file: Path) -> None:
    lost = flip_record(file, 7)
    answer = penumbra("archive", "repair", file, tmp_path / "new.db")
    assert answer.returncode == 1
    assert answer.stderr == f"penumbra: {file}: lost: game 7: its bytes are not those that were written\n"
    assert answer.stdout == f"{tmp_path / 'new.db'}: {GAMES - 1} of {GAMES} games saved\n"
    with Archive.open(tmp_path / "new.db") as archive:
        assert lost.hash not in {game.hash for game in archive.games()}
        assert 6 not in archive.made(LONG)  # so that a run plays it again
        assert 3 in archive.made(LONG)
    answer = penumbra("archive", "repair", file, tmp_path / "new.db")
    assert (answer.returncode, answer.stderr) == (1, f"penumbra: {tmp_path / 'new.db'}: is there already\n")
    answer = penumbra("archive", "repair", tmp_path / "none.db", tmp_path / "other.db")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert not (tmp_path / "other.db").exists()


def test_repair_names_stretches(tmp_path: Path, file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE game SET record = 1 WHERE id BETWEEN 5 AND 9 OR id = 30")
    db.close()
    assert repair(file, tmp_path / "new.db").lost == ["games 5 to 9: cannot be read", "game 30: cannot be read"]


def test_repair_mends_what_the_archive_says_beside_a_record(tmp_path: Path, file: Path, sound: Path) -> None:
    """The record says it too, and its hash stands in the index once more."""
    with sqlite3.connect(file) as db:
        db.execute("UPDATE game SET winner = 1 - coalesce(winner, 0), plies = 3, white = black WHERE id = 7")
    db.close()
    data = file.read_bytes()
    with Archive.open(sound) as archive:
        game = next(archive.get([20]))
    signed = (game.hash - 2**64 if game.hash >= 2**63 else game.hash).to_bytes(8, "big", signed=True)
    row = data.rindex(signed, 0, data.index(game.data))
    file.write_bytes(data[:row] + bytes([data[row] ^ 4]) + data[row + 1 :])
    found = repair(file, tmp_path / "new.db")
    assert found.lost == []
    assert contents(tmp_path / "new.db").keys() == contents(sound).keys()


def test_repair_is_not_misled_by_an_id_that_is_damaged(tmp_path: Path, file: Path, sound: Path) -> None:
    """The index knows a game's id too; nobody looks for millions of games that never were."""
    with Archive.open(sound) as archive:
        game = next(archive.get([GAMES]))
    data = bytearray(file.read_bytes())
    row = data.index(game.data)
    head = data.rindex(b"\x0e\x00", 0, row)
    assert data[head - 1] == GAMES  # the id, just before the head of the row
    data[head - 1] = 5  # which another game has
    file.write_bytes(data)
    found = repair(file, tmp_path / "new.db")
    assert (len(found.games), found.expected, found.lost) == (GAMES, GAMES, [])
    rows = _Rows(games={1: [], 2: [], 2**50: []}, hashes={5: 4, 6: 2**60})
    assert rows.last_id() == 4


def test_repair_reads_what_a_killed_writer_left_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    script = f"""
import os
from penumbra.games.archive import Archive, NewGame
from tests.support.random_games import random_game
archive = Archive.create({str(path)!r})
for i in range(20):
    archive.add([NewGame(random_game(i), "x")])
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", script], env=environment(), cwd=Path(__file__).parents[2], check=False)
    assert Path(f"{path}-wal").stat().st_size > path.stat().st_size
    found = repair(path, tmp_path / "new.db")
    assert (len(found.games), found.lost) == (20, [])
