"""The archive: what goes in comes out, nothing twice and nothing broken, and nothing else is taken for an archive."""

from __future__ import annotations

import functools
import gzip
import json
import random
import sqlite3
import tracemalloc
from pathlib import Path

import pytest

from penumbra.arena.pool import Pool
from penumbra.core import GameRecord
from penumbra.games.archive import Archive, ArchivedGame, ArchiveError, NewGame, find_problem, is_validation
from penumbra.games.tracking import Track, track
from penumbra.games.verification import TrackingWorker, verify, verify_tracking
from penumbra.interop.game_files import find_files, read_games, to_json, write_games
from penumbra.interop.history_json import GameFileError
from tests.support import DATA
from tests.support.command_line import penumbra
from tests.support.random_games import random_game

REAL_GAMES = DATA / "real_games.jsonl"


def unwanted(trouble: GameFileError) -> None:
    raise AssertionError(trouble)


@pytest.fixture(scope="module")
def real_games() -> list[GameRecord]:
    return list(read_games(REAL_GAMES, unwanted))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An archive of thirty games."""
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        for i in range(30):
            names = ("A", "B") if i % 2 else ("C", "D")
            archive.add([NewGame(random_game(i, *names), "odd" if i % 2 else "even", {"i": i}, time=1000 + i)])
    return path


def test_what_goes_in_comes_out(tmp_path: Path, real_games: list[GameRecord]) -> None:
    path = tmp_path / "games.db"
    settings = {"nodes": 5, "style": ["ü", None]}
    with Archive.create(path) as archive:
        assert archive.add_all(NewGame(record, "real", settings, time=77) for record in real_games) == len(real_games)
    with Archive.open(path) as archive:
        found = list(archive.games())
    assert len(found) == len(real_games)
    for game, record in zip(found, real_games, strict=True):
        assert game.data == record.to_bytes()
        assert (game.hash, game.white, game.black) == (record.hash, record.white_name, record.black_name)
        assert (game.winner, game.reason, game.plies) == (record.winner, record.reason, len(record.moves))
        assert (game.source, game.settings, game.time) == ("real", settings, 77)
    assert not list(tmp_path.glob("*-w*"))  # neither a write-ahead file nor a lock is left


def test_a_game_is_kept_once(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "games.db") as archive:
        assert archive.add([NewGame(random_game(1), "x"), NewGame(random_game(1), "y")]) == 1
        assert archive.add([NewGame(random_game(1), "x"), NewGame(random_game(2), "x")]) == 1
        assert [game.source for game in archive.games()] == ["x", "x"]


def test_games_by_player_source_and_split(file: Path) -> None:
    with Archive.open(file) as archive:
        assert len(archive) == 30
        assert {game.white for game in archive.games(player="D")} == {"C"}
        assert len(list(archive.games(player="D"))) == 15
        assert [game.settings["i"] for game in archive.games(source="odd")] == list(range(1, 30, 2))
        validation, training = list(archive.games(validation=True)), list(archive.games(validation=False))
        assert len(validation) + len(training) == 30
        assert all(is_validation(game.record) for game in validation)
        assert not any(is_validation(game.record) for game in training)
        assert not list(archive.games(player="nobody"))


def test_more_games_than_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setattr("penumbra.games.archive.PAGE", 7)
    with Archive.open(file) as archive:
        assert [game.settings["i"] for game in archive.games()] == list(range(30))


def test_the_newest_games_come_first_page_by_page(file: Path) -> None:
    with Archive.open(file) as archive:
        ids = [game.id for game in archive.games()]
        first = archive.newest(20)
        second = archive.newest(20, before=first[-1].id)
        assert [game.id for game in (*first, *second)] == ids[::-1]
        assert archive.newest(20, before=ids[0]) == []


def test_a_sample_repeats_by_its_seed(file: Path) -> None:
    with Archive.open(file) as archive:
        drawn = [game.id for game in archive.sample(10, seed=1)]
        assert drawn == [game.id for game in archive.sample(10, seed=1)]
        assert drawn != [game.id for game in archive.sample(10, seed=2)]
        assert len(set(drawn)) == 10
        assert len(list(archive.sample(100))) == 30


def test_statistics_count_everything_once(file: Path) -> None:
    with Archive.open(file) as archive:
        found = archive.statistics()
        games = list(archive.games())
    assert found.games == sum(found.reasons.values()) == sum(found.sources.values()) == 30
    assert found.sources == {"odd": 15, "even": 15}
    assert sum(map(sum, found.players.values())) == 60
    assert found.players["A"][0] == sum(game.winner is True for game in games if game.white == "A")
    assert list(found.plies) == sorted(game.plies for game in games)
    assert found.nbytes == file.stat().st_size


def test_merging_twice_adds_nothing(tmp_path: Path, file: Path) -> None:
    with Archive.create(tmp_path / "all.db") as archive, Archive.open(file) as other:
        archive.add([NewGame(random_game(0, "C", "D"), "before")])
        archive.add([NewGame(random_game(99), "made", made=("run", 5))])
        assert archive.merge(other) == (29, 1, [])
        assert archive.merge(other) == (0, 30, [])
    with Archive.create(tmp_path / "third.db") as third, Archive.open(tmp_path / "all.db") as archive:
        assert third.merge(archive) == (31, 0, [])
        assert third.made("run") == {5}


def test_one_writer_and_many_readers(file: Path) -> None:
    with Archive.open(file, write=True) as writer:
        with pytest.raises(ArchiveError, match="another process is writing"):
            Archive.open(file, write=True)
        with Archive.open(file) as first, Archive.open(file) as second:
            reading = first.games()
            next(reading)
            writer.add([NewGame(random_game(77), "late")])
            assert len(second) == 31
            assert len(list(reading)) == 29  # its page was read before
            with pytest.raises(ArchiveError, match="open for reading"):
                first.add([NewGame(random_game(78), "x")])
    Archive.open(file, write=True).close()


def test_a_transaction_that_fails_leaves_nothing(file: Path) -> None:
    def games() -> list[NewGame]:
        return [NewGame(random_game(50, "New", "Name"), "x"), NewGame(random_game(51), "x", {"not": {1, 2}})]

    with Archive.open(file, write=True) as archive:
        with pytest.raises(TypeError):
            archive.add(games())
        assert len(archive) == 30
        assert archive.add(games()[:1]) == 1
        assert next(archive.games(source="x")).white == "New"


def test_another_version_is_refused(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    for write in (False, True):
        with pytest.raises(ArchiveError, match=r"games.db: is an archive of version 7; this program knows version 1"):
            Archive.open(file, write=write)


def test_an_empty_file_becomes_an_archive(tmp_path: Path) -> None:
    """That is what a kill leaves of one that was about to be made."""
    path = tmp_path / "games.db"
    path.touch()
    with Archive.open_or_create(path) as archive:
        assert archive.add([NewGame(random_game(1), "x")]) == 1
    with Archive.open(path) as archive:
        assert len(archive) == 1


@pytest.mark.parametrize("content", [b"no database" * 100, b"", None])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "games.db"
    if content is None:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE other (a)")
        db.close()
    else:
        path.write_bytes(content)
    with pytest.raises(ArchiveError, match="not an archive of games"):
        Archive.open(path)
    with pytest.raises(ArchiveError, match="there is no such archive"):
        Archive.open(tmp_path / "other.db")
    with pytest.raises(ArchiveError, match="is there already"):
        Archive.create(path)
    result = penumbra("archive", "stats", path)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)


def test_a_sound_archive_verifies(file: Path) -> None:
    with Archive.open(file) as archive:
        found = verify(archive)
        assert (found.games, found.problems) == (30, [])


def _change(file: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(file) as db:
        db.execute(statement, values)
    db.close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE game SET winner = 1 - coalesce(winner, 0) WHERE id = 4", "the archive says"),
        ("UPDATE game SET plies = plies + 1 WHERE id = 4", "the archive says"),
        ("UPDATE game SET white = black WHERE id = 4", "the archive says"),
        ("UPDATE game SET record = (SELECT record FROM game WHERE id = 5) WHERE id = 4", "its bytes are not those"),
        ("UPDATE game SET record = substr(record, 1, length(record) - 1) WHERE id = 4", "truncated"),
    ],
)
def test_verification_finds_what_was_changed(tmp_path: Path, file: Path, statement: str, problem: str) -> None:
    _change(file, statement)
    with Archive.open(file) as archive:
        found = verify(archive).problems
        assert len(found) == 1
        assert found[0].startswith("game 4 ")
        assert problem in found[0]
        with Archive.create(tmp_path / "sound.db") as sound:
            new, known, broken = sound.merge(archive)
    assert (new, known, len(broken)) == (29, 0, 1)


def test_verification_finds_every_changed_byte(file: Path) -> None:
    """The hash stands for the whole record."""
    with Archive.open(file) as archive:
        game = next(archive.games())
    rng = random.Random(0)
    for at in range(len(game.data)):
        data = bytearray(game.data)
        data[at] ^= rng.randrange(1, 256)
        fields = {name: getattr(game, name) for name in game.__dataclass_fields__}
        assert find_problem(ArchivedGame(**{**fields, "data": bytes(data)}))


def test_verification_finds_a_result_that_did_not_happen(tmp_path: Path) -> None:
    record = random_game(3)
    record.winner, record.reason = True, "KING_CAPTURE"
    record.add_turn(5, None)
    impossible = GameRecord("A", "B")
    impossible.add_turn(5, 0)
    impossible.winner, impossible.reason = True, "KING_CAPTURE"
    nobody = GameRecord("A", "B")
    nobody.add_turn(5, 0)
    nobody.reason = "RESIGN"
    with Archive.create(tmp_path / "games.db") as archive:
        archive.add([NewGame(record, "x"), NewGame(impossible, "x"), NewGame(nobody, "x")])
        assert len(verify(archive).problems) == 3


def test_a_king_taken_after_the_time_was_up_is_no_contradiction(tmp_path: Path, real_games: list[GameRecord]) -> None:
    record = next(record for record in real_games if record.reason == "KING_CAPTURE")
    late = GameRecord.from_bytes(record.to_bytes())
    late.winner, late.reason = not record.winner, "TIMEOUT"
    wrong = GameRecord.from_bytes(record.to_bytes())
    wrong.winner = not record.winner
    with Archive.create(tmp_path / "games.db") as archive:
        archive.add([NewGame(late, "x"), NewGame(wrong, "x")])
        assert [problem[:6] for problem in verify(archive).problems] == ["game 2"]


def test_damage_to_the_file_is_found(file: Path) -> None:
    data = bytearray(file.read_bytes())
    middle = 4096 * (len(data) // 4096 - 1)
    data[middle : middle + 100] = bytes(100)
    file.write_bytes(data)
    try:
        with Archive.open(file) as archive:
            assert verify(archive).problems
    except ArchiveError as error:
        assert "damaged" in str(error)
    assert penumbra("archive", "verify", file).returncode == 1


def test_the_truth_stays_in_the_sets_of_real_games(tmp_path: Path, real_games: list[GameRecord]) -> None:
    with Archive.create(tmp_path / "games.db") as archive:
        archive.add([NewGame(record, "real") for record in real_games])
        pool: Pool[bytes, Track | str] = Pool(functools.partial(TrackingWorker, 1, 20_000, False), 1)
        found = verify_tracking(archive, pool)
    assert (found.games, found.problems, len(found.tracks)) == (len(real_games), [], len(real_games))
    assert all(1 < size <= 20_000 for games in found.tracks for size in games.most)


def test_a_small_cap_is_reported_and_a_large_one_looks_everywhere(real_games: list[GameRecord]) -> None:
    record = min(real_games, key=lambda record: len(record.moves))
    whole = track(record)
    assert whole.cut == (False, False)
    assert whole.looks == 3 * len(record.moves)  # after each notice, sense and move
    assert track(record, until_cut=True) == whole
    small = track(record, cap=20)
    shorter = track(record, cap=20, until_cut=True)
    assert (shorter.cut, shorter.looks, shorter.lost) == (small.cut, small.looks, (False, False))
    assert any(small.cut)
    assert small.looks < whole.looks
    assert max(small.most) <= 20


def test_import_and_export_give_the_same_games(tmp_path: Path, real_games: list[GameRecord]) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    lines = len(REAL_GAMES.read_text().splitlines())
    assert f"{lines} games added" in penumbra("archive", "import", first, REAL_GAMES).stdout
    for out in (tmp_path / "out.jsonl.gz", tmp_path / "folder"):
        assert penumbra("archive", "export", first, out).returncode == 0
        result = penumbra("archive", "import", second, out)
        assert result.returncode == 0
    assert f"0 games added, {lines} were known" in result.stdout
    with Archive.open(first) as a, Archive.open(second) as b:
        assert {game.data for game in a.games()} == {game.data for game in b.games()}
        assert {game.data for game in a.games()} == {record.to_bytes() for record in real_games}
        assert {game.source for game in a.games()} == {"real_games"}
    known = [json.loads(line) for line in REAL_GAMES.read_text().splitlines()]
    assert [json.loads(to_json(record)) for record in real_games] == known


def test_every_form_of_file_is_read(tmp_path: Path, real_games: list[GameRecord]) -> None:
    text = [to_json(record) for record in real_games[:4]]
    (tmp_path / "deep").mkdir()
    (tmp_path / "one.json").write_text(json.dumps(json.loads(text[0]), indent=1))
    (tmp_path / "deep" / "two.json.gz").write_bytes(gzip.compress(text[1].encode()))
    (tmp_path / "deep" / "three.JSONL").write_text(f"\n{text[2]}\n\n")
    (tmp_path / "deep" / "lines.json").write_text(f"{text[3]}\n{text[0]}\n")
    (tmp_path / "deep" / "notes.txt").write_text("not looked at")
    files = find_files([tmp_path])
    assert len(files) == 4
    read = [record for file in files for record in read_games(file, unwanted)]
    assert {record.hash for record in read} == {record.hash for record in real_games[:4]}
    assert len(read) == 5


def test_what_is_broken_is_told_and_the_rest_goes_in(tmp_path: Path, real_games: list[GameRecord]) -> None:
    text = [to_json(record) for record in real_games[:5]]
    wrong_rules = text[3].replace('"capture_squares":{"true":[null', '"capture_squares":{"true":[9')
    assert wrong_rules != text[3]
    lines = [text[0], "{", text[1], "[1, 2]", '{"type": "GameHistory"}', wrong_rules, "\udcff\udcfe", text[2]]
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress("\n".join(text[3:] * 20).encode())[:-400])
    empty = tmp_path / "empty.json"
    empty.write_bytes(b"")
    result = penumbra("archive", "import", tmp_path / "games.db", mixed, cut, empty)
    assert result.returncode == 1
    said = result.stderr.splitlines()
    for number, line in zip((2, 4, 5, 6, 7), said, strict=False):
        assert line.startswith(f"penumbra: {mixed}, line {number}: ")
    assert len(said) in (7, 8)
    assert str(cut) in said[5]
    assert said[-1].startswith(f"penumbra: {empty}")
    with Archive.open(tmp_path / "games.db") as archive:
        assert {game.hash for game in archive.games()} == {record.hash for record in real_games[:5]}
        assert not verify(archive).problems
    result = penumbra("archive", "import", tmp_path / "games.db", tmp_path / "nowhere")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


def test_a_line_that_never_ends_is_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_games: list[GameRecord]
) -> None:
    text = to_json(real_games[0])
    monkeypatch.setattr("penumbra.interop.game_files.LONGEST", len(text) + 10)
    file = tmp_path / "long.jsonl"
    file.write_text(f"{'x' * (5 * len(text))}\n{text}\n")
    troubles: list[GameFileError] = []
    assert [record.hash for record in read_games(file, troubles.append)] == [real_games[0].hash]
    assert [str(trouble) for trouble in troubles] == [f"{file}, line 1: is too long for a game"]


def test_reading_many_lines_takes_no_more_memory(tmp_path: Path, real_games: list[GameRecord]) -> None:
    """What is read is let go."""

    def peak(copies: int) -> int:
        file = tmp_path / f"{copies}.jsonl"
        with file.open("w") as stream:
            for _ in range(copies):
                stream.writelines(to_json(record) + "\n" for record in real_games)
        tracemalloc.start()
        with Archive.create(tmp_path / f"{copies}.db") as archive:
            archive.add_all(NewGame(record, "x") for record in read_games(file, unwanted))
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(1)  # what is loaded once
    small, large = peak(5), peak(50)
    assert large < small + 500_000


def test_commands_say_what_is_there(file: Path, tmp_path: Path) -> None:
    stats = penumbra("archive", "stats", file)
    assert stats.stdout.startswith("30 games, ")
    assert json.loads(penumbra("archive", "stats", file, "--json").stdout)["games"] == 30
    assert len(penumbra("archive", "sample", file, "-n", "3").stdout.splitlines()) == 3
    assert penumbra("archive", "sample", file, "-n", "3", "--out", tmp_path / "s.jsonl").stdout.endswith("3 games\n")
    assert "30 games added, 0 were known" in penumbra("archive", "merge", tmp_path / "new.db", file).stdout
    assert "30 games, 0 problems" in penumbra("archive", "verify", tmp_path / "new.db").stdout
    result = penumbra("archive", "merge", file, file)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


def test_games_written_by_lines_are_counted(tmp_path: Path, real_games: list[GameRecord]) -> None:
    assert write_games(real_games, tmp_path / "a.jsonl") == len(real_games)
    assert write_games([], tmp_path / "b.jsonl.gz") == 0
    assert not list(read_games(tmp_path / "b.jsonl.gz", unwanted))
