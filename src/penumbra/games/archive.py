"""The archive: one SQLite file of games in their compact form, one writer and many readers.

A game is its record's bytes (`penumbra.core.GameRecord`, three bytes a turn), with what one asks for beside them:
names, result, plies, source, settings and time. A game is known by its record's hash, so that none is kept twice.
Names, sources and settings repeat, and stand once each in the table `text`. The table `made` says which games of which
generation run are done (see `penumbra.arena.generate`), written with the game itself, and the table `search` what
Penumbra searched in them (see `penumbra.games.visits`).

The file is in SQLite's write-ahead mode: a transaction is in it whole or not at all, whenever its writer is killed, and
readers see the last one that is whole.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

from penumbra.core import GameRecord
from penumbra.games.writer_lock import WriterLock

APPLICATION = 0x50454E55  # "PENU", SQLite's application_id of an archive
VERSION = 1
BUSY_SECONDS = 20.0
PAGE = 1_000  # games read at once
BATCH = 500  # games in a transaction, where many are added
T = TypeVar("T")

_SCHEMA = """
CREATE TABLE text (id INTEGER PRIMARY KEY, value TEXT NOT NULL UNIQUE);
CREATE TABLE game (
    id INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL UNIQUE,                   -- of the record, as a signed number
    white INTEGER NOT NULL REFERENCES text,
    black INTEGER NOT NULL REFERENCES text,
    winner INTEGER,                                 -- 1 White, 0 Black, NULL nobody
    reason TEXT,                                    -- NULL: not finished
    plies INTEGER NOT NULL,
    validation INTEGER NOT NULL,                    -- 1 for one game in ten, by its hash
    source INTEGER NOT NULL REFERENCES text,
    settings INTEGER NOT NULL REFERENCES text,      -- JSON
    time INTEGER NOT NULL,                          -- seconds since 1970 when it was played or, unknown, added
    record BLOB NOT NULL
);
CREATE TABLE made (
    run INTEGER NOT NULL REFERENCES text,           -- what determines the run's games, JSON
    number INTEGER NOT NULL,
    hash INTEGER NOT NULL,                          -- of the game, which another number may have made before
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
"""

_SEARCH = """
CREATE TABLE IF NOT EXISTS search (
    hash INTEGER PRIMARY KEY,                       -- of the game
    visits BLOB NOT NULL                            -- packed
)
"""  # archives of games before there was such a table have none until they are written to

_SELECT = """
SELECT game.id, game.hash, white.value, black.value, winner, reason, plies, source.value, settings.value, time, record
FROM game
JOIN text AS white ON white.id = game.white
JOIN text AS black ON black.id = game.black
JOIN text AS source ON source.id = game.source
JOIN text AS settings ON settings.id = game.settings
"""


VALIDATION_SHARE = 10  # one game in so many is kept for validation


class ArchiveError(ValueError):
    """An archive that cannot be used; one line that says which and why."""


class ArchiveFull(ArchiveError):
    """There is no room to write. What was written before is intact."""


@dataclass(frozen=True)
class ArchivedGame:
    """A game as the archive keeps it."""

    id: int
    hash: int  # unsigned
    white: str
    black: str
    winner: bool | None
    reason: str | None
    plies: int
    source: str
    settings: Mapping[str, Any]
    time: int
    data: bytes

    @functools.cached_property
    def record(self) -> GameRecord:
        """The game itself; ValueError if its bytes are not those of a record."""
        return GameRecord.from_bytes(self.data)


@dataclass(frozen=True)
class NewGame:
    """A game to be added. `made` is its run and its number there, where it was generated."""

    record: GameRecord
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    time: int | None = None
    made: tuple[str, int] | None = None
    visits: bytes = b""  # what was searched, packed


@dataclass(frozen=True)
class Statistics:
    """What an archive holds."""

    games: int
    validation: int
    plies: Sequence[int]  # of each game, in order of size
    nbytes: int  # of the file
    players: Mapping[str, tuple[int, int, int]]  # wins, draws and losses by name, the most games first
    reasons: Mapping[str, int]
    sources: Mapping[str, int]

    @property
    def median_plies(self) -> float:
        return statistics.median(self.plies) if self.plies else 0.0


@dataclass
class Archive:
    """An open archive, by `open`, `create` or `open_or_create`; close it, or use it in a `with`."""

    path: Path
    _db: sqlite3.Connection
    _lock: WriterLock | None = None
    _texts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False) -> Archive:
        """An archive that is there; `ArchiveError` if it is none, of another version, or has a writer already."""
        path = Path(path)
        if not path.is_file():
            raise ArchiveError(f"{path}: there is no such archive")
        return cls._prepared(path, write, cls._check_version)

    @classmethod
    def create(cls, path: str | Path) -> Archive:
        """A new, empty archive, open for writing."""
        path = Path(path)
        if path.exists():
            raise ArchiveError(f"{path}: is there already")
        if not path.parent.is_dir():
            raise ArchiveError(f"{path}: there is no folder {path.parent}")
        return cls._prepared(path, True, cls._set_up)

    @classmethod
    def _prepared(cls, path: Path, write: bool, prepare: Callable[[Archive], None]) -> Archive:
        """A connection that is closed again, and a lock that is given back, if `prepare` fails."""
        lock = _lock(path) if write else None
        try:
            with _explained(path):
                archive = cls(path, _connect(path, write), lock)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        try:
            with _explained(path):
                prepare(archive)
        except BaseException:
            archive.close()
            raise
        return archive

    @classmethod
    def open_or_create(cls, path: str | Path) -> Archive:
        """Open for writing, made first where it is not there."""
        path = Path(path)
        return cls.open(path, write=True) if path.exists() else cls.create(path)

    def close(self) -> None:
        """A full disk may keep SQLite from tidying up: what was written is safe in its write-ahead file."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        with _explained(self.path):
            return int(self._db.execute("SELECT count(*) FROM game").fetchone()[0])

    def add(self, games: Iterable[NewGame]) -> int:
        """Adds games in one transaction; how many were new. Those whose hash is known are passed over."""
        with self._transaction():
            marks, rows, searches = [], [], []
            for game in games:
                rows.append(self._row(game))
                if game.visits:
                    searches.append((rows[-1][0], game.visits))
                if game.made is not None:
                    marks.append((self._text(game.made[0]), game.made[1], rows[-1][0]))
            before = self._db.total_changes
            self._db.executemany(
                "INSERT OR IGNORE INTO game (hash, white, black, winner, reason, plies, validation, source, settings,"
                " time, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            new = self._db.total_changes - before
            self._db.executemany("INSERT OR IGNORE INTO made (run, number, hash) VALUES (?, ?, ?)", marks)
            self._db.executemany("INSERT OR IGNORE INTO search (hash, visits) VALUES (?, ?)", searches)
        return new

    def add_all(self, games: Iterable[NewGame]) -> int:
        """Adds any number of games, in transactions of BATCH; how many were new."""
        return sum(self.add(batch) for batch in _batches(games))

    def games(
        self,
        *,
        player: str | None = None,
        source: str | None = None,
        validation: bool | None = None,
        after: int = 0,
    ) -> Iterator[ArchivedGame]:
        """Games in the order they came: of one player, of one source, of the validation tenth or of the rest; those
        with ids past `after`.

        Games are read a page at a time, so that a long look neither keeps the writer waiting nor fills the memory.
        """
        conditions, values = ["game.id > ?"], []
        if player is not None:
            conditions.append("? IN (white.value, black.value)")
            values.append(player)
        if source is not None:
            conditions.append("source.value = ?")
            values.append(source)
        if validation is not None:
            conditions.append("validation = ?")
            values.append(str(int(validation)))
        query = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY game.id LIMIT {PAGE}"
        last = after
        while True:
            with _explained(self.path):
                rows = self._db.execute(query, (last, *values)).fetchall()
            for row in rows:
                yield _game(row)
            if len(rows) < PAGE:
                return
            last = rows[-1][0]

    def get(self, ids: Iterable[int]) -> Iterator[ArchivedGame]:
        """Games by their ids, in that order."""
        for number in ids:
            with _explained(self.path):
                row = self._db.execute(f"{_SELECT} WHERE game.id = ?", (number,)).fetchone()
            if row is None:
                raise ArchiveError(f"{self.path}: has no game {number}")
            yield _game(row)

    def newest(self, n: int, before: int | None = None) -> list[ArchivedGame]:
        """At most n games, the newest first, of those with ids below `before`."""
        condition, values = ("", ()) if before is None else ("WHERE game.id < ?", (before,))
        with _explained(self.path):
            rows = self._db.execute(f"{_SELECT} {condition} ORDER BY game.id DESC LIMIT {n:d}", values).fetchall()
        return [_game(row) for row in rows]

    def sample(self, n: int, seed: int = 0) -> Iterator[ArchivedGame]:
        """At most `n` games drawn at random, in the order they came."""
        with _explained(self.path):
            ids = [row[0] for row in self._db.execute("SELECT id FROM game ORDER BY id")]
        return self.get(sorted(random.Random(seed).sample(ids, min(n, len(ids)))))

    def made(self, run: str) -> set[int]:
        """The numbers of a generation run that are done."""
        with _explained(self.path):
            rows = self._db.execute(
                "SELECT number FROM made JOIN text ON text.id = run WHERE text.value = ?", (run,)
            ).fetchall()
        return {row[0] for row in rows}

    def games_made(self, run: str) -> Iterator[tuple[int, ArchivedGame]]:
        """(number, game) of what a run has made, in order of the numbers."""
        last = -1
        query = f"""{_SELECT.replace("SELECT", "SELECT made.number,")} JOIN made ON made.hash = game.hash
                    JOIN text ON text.id = made.run
                    WHERE text.value = ? AND made.number > ? ORDER BY made.number LIMIT {PAGE}"""
        while True:
            with _explained(self.path):
                rows = self._db.execute(query, (run, last)).fetchall()
            for row in rows:
                yield row[0], _game(row[1:])
            if len(rows) < PAGE:
                return
            last = rows[-1][0]

    def visits(self) -> dict[int, bytes]:
        """What was searched, packed, by the hash of the game."""
        with _explained(self.path):
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone():
                return {}
            return {key % 2**64: visits for key, visits in self._db.execute("SELECT hash, visits FROM search")}

    def runs(self) -> dict[str, int]:
        """How many games of each generation run are done."""
        with _explained(self.path):
            return dict(self._db.execute("SELECT value, count(*) FROM made JOIN text ON text.id = run GROUP BY run"))

    def results(self) -> list[tuple[str, str, bool | None, int]]:
        """(White, Black, who won, how often) of all finished games. One that several numbers made counts as often."""
        counts: Counter[tuple[str, str, bool | None]] = Counter()
        for _, white, black, winner, times in self.finished():
            counts[white, black, winner] += times
        return [(*key, count) for key, count in counts.items()]

    def endings(self) -> Iterator[tuple[int, str, str, bool | None, str]]:
        """(hash, White, Black, who won, how it ended) of each game whose settings say how."""
        query = """SELECT game.hash, white.value, black.value, winner,
                   CASE WHEN json_valid(settings.value) THEN json_extract(settings.value, '$.reason') END AS ending
                   FROM game JOIN text AS white ON white.id = game.white JOIN text AS black ON black.id = game.black
                   JOIN text AS settings ON settings.id = game.settings WHERE ending IS NOT NULL"""
        with _explained(self.path):
            rows = self._db.execute(query).fetchall()
        for key, white, black, winner, ending in rows:
            yield key, white, black, _winner(winner), ending

    def finished(self) -> Iterator[tuple[int, str, str, bool | None, int]]:
        """(hash, White, Black, who won, how often it was made) of each finished game."""
        query = """SELECT game.hash, white.value, black.value, winner, coalesce(times, 1) FROM game
                   JOIN text AS white ON white.id = game.white JOIN text AS black ON black.id = game.black
                   LEFT JOIN (SELECT hash, count(*) AS times FROM made GROUP BY hash) AS made ON made.hash = game.hash
                   WHERE reason IS NOT NULL ORDER BY game.id"""
        with _explained(self.path):
            rows = self._db.execute(query).fetchall()
        for key, white, black, winner, times in rows:
            yield key, white, black, _winner(winner), times

    def statistics(self) -> Statistics:
        with _explained(self.path):
            fetch = self._db.execute
            games, validation = fetch("SELECT count(*), coalesce(sum(validation), 0) FROM game").fetchone()
            plies = [row[0] for row in fetch("SELECT plies FROM game ORDER BY plies")]
            pages, page = fetch("PRAGMA page_count").fetchone()[0], fetch("PRAGMA page_size").fetchone()[0]
            reasons = fetch("SELECT coalesce(reason, 'unfinished'), count(*) FROM game GROUP BY 1 ORDER BY 2 DESC")
            sources = fetch(
                "SELECT value, count(*) FROM game JOIN text ON text.id = source GROUP BY source ORDER BY 2 DESC"
            )
            return Statistics(
                games,
                validation,
                plies,
                pages * page,
                self._scores(),
                dict(reasons.fetchall()),
                dict(sources.fetchall()),
            )

    def _scores(self) -> dict[str, tuple[int, int, int]]:
        scores: dict[str, list[int]] = {}
        for _, white, black, winner, _ in self.finished():
            for name, color in ((white, True), (black, False)):
                score = scores.setdefault(name, [0, 0, 0])
                score[1 if winner is None else 0 if winner == color else 2] += 1
        ordered = sorted(scores.items(), key=lambda item: (-sum(item[1]), item[0]))
        return {name: (wins, draws, losses) for name, (wins, draws, losses) in ordered}

    def merge(self, other: Archive) -> tuple[int, int, list[str]]:
        """Adds another archive's games: (how many were new, how many were known, what is wrong with the others)."""
        runs, visits = other._marks(), other.visits()
        new, seen, broken = 0, 0, []
        for page in _batches(other.games()):
            good = []
            for game in page:
                problem = find_problem(game)
                if problem:
                    broken.append(f"{other.path}: game {game.id}: {problem}")
                else:
                    marks = runs.get(_signed(game.hash), [])
                    first = marks[0] if marks else None
                    searched = visits.get(game.hash, b"")
                    good.append(NewGame(game.record, game.source, game.settings, game.time, first, searched))
                    good += [NewGame(game.record, game.source, game.settings, game.time, mark) for mark in marks[1:]]
                    seen += 1
            new += self.add(good)
        return new, seen - new, broken

    def _marks(self) -> dict[int, list[tuple[str, int]]]:
        """The runs and numbers that made each game, by its hash."""
        marks: dict[int, list[tuple[str, int]]] = {}
        with _explained(self.path):
            for game, run, number in self._db.execute(
                "SELECT hash, value, number FROM made JOIN text ON text.id = run"
            ):
                marks.setdefault(game, []).append((run, number))
        return marks

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file itself."""
        try:
            rows = self._db.execute("PRAGMA integrity_check").fetchall()
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [row[0] for row in rows if row[0] != "ok"]

    def _row(self, game: NewGame) -> tuple[Any, ...]:
        record = game.record
        return (
            _signed(record.hash),
            self._text(record.white_name),
            self._text(record.black_name),
            None if record.winner is None else int(record.winner),
            record.reason,
            len(record.moves),
            int(is_validation(record)),
            self._text(game.source),
            self._text(json.dumps(dict(game.settings), sort_keys=True)),
            int(time.time()) if game.time is None else game.time,
            record.to_bytes(),
        )

    def _text(self, value: str) -> int:
        """The id of a text, which is added if need be."""
        found = self._texts.get(value)
        if found is None:
            self._db.execute("INSERT OR IGNORE INTO text (value) VALUES (?)", (value,))
            found = int(self._db.execute("SELECT id FROM text WHERE value = ?", (value,)).fetchone()[0])
            self._texts[value] = found
        return found

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of it or nothing; ids of texts learnt in one that fails are forgotten."""
        if self._lock is None:
            raise ArchiveError(f"{self.path}: is open for reading")
        with _explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._texts.clear()
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def _set_up(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        with self._transaction():
            for statement in [*_SCHEMA.split(";\n"), _SEARCH]:
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {VERSION}")

    def _check_version(self) -> None:
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if self._lock is not None and (application, version, tables) == (0, 0, 0):
            self._set_up()  # a kill left an empty file
        elif application != APPLICATION:
            raise ArchiveError(f"{self.path}: is a database, but not an archive of games")
        elif version != VERSION:
            raise ArchiveError(f"{self.path}: is an archive of version {version}; this program knows version {VERSION}")
        elif self._lock is not None:
            self._db.execute(_SEARCH)


def is_validation(record: GameRecord) -> bool:
    """Whether a game is kept for validation: one in ten, by its hash, so always the same ones."""
    return record.hash % VALIDATION_SHARE == 0


def is_archive(path: Path) -> bool:
    """Whether a file is an SQLite one, as archives are."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def results_of(paths: Sequence[Path]) -> list[tuple[str, str, bool | None, int]]:
    """The results of several archives; a game that is in more than one counts once."""
    games: dict[int, tuple[str, str, bool | None, int]] = {}
    for path in paths:
        with Archive.open(path) as archive:
            for key, white, black, winner, times in archive.finished():
                if key not in games or games[key][3] < times:
                    games[key] = (white, black, winner, times)
    return list(games.values())


def losses_of(paths: Sequence[Path], endings: Collection[str]) -> Counter[tuple[str, str]]:
    """How often each player lost by each of these endings: (name, ending); a game in several archives counts once."""
    found: dict[int, tuple[str, str]] = {}
    for path in paths:
        with Archive.open(path) as archive:
            for key, white, black, winner, ending in archive.endings():
                if ending in endings and winner is not None:
                    found[key] = (black if winner else white), ending
    return Counter(found.values())


def find_problem(game: ArchivedGame) -> str:
    """What is wrong with a game, its bytes, what the archive says about it, its moves or its result; "": nothing."""
    try:
        record = game.record
        if record.hash != game.hash:
            return "its bytes are not those that were written"
        said = (game.white, game.black, game.winner, game.reason, game.plies)
        found = (record.white_name, record.black_name, record.winner, record.reason, len(record.moves))
        if said != found:
            return f"the archive says {said}, its record {found}"
        record.replay()  # which also compares the result with the board
    except ValueError as error:
        return str(error)
    if record.reason in ("TIMEOUT", "RESIGN") and record.winner is None:
        return f"nobody won, but the reason is {record.reason}"
    return ""


def _connect(path: Path, write: bool) -> sqlite3.Connection:
    """Readers share files beside the archive, which the last one to close removes: that takes leave to write, too."""
    if write:
        mode = "rwc"
    elif os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        mode = "rw"
    else:
        mode = "ro" if Path(f"{path}-wal").exists() else "ro&immutable=1"
    db = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}", timeout=BUSY_SECONDS, isolation_level=None, uri=True
    )
    db.execute("PRAGMA synchronous = NORMAL")
    if not write:
        db.execute("PRAGMA query_only = ON")
    return db


def _lock(path: Path) -> WriterLock:
    try:
        return WriterLock(path.with_name(f"{path.name}-writer"))
    except BlockingIOError:
        raise ArchiveError(f"{path}: another process is writing to it") from None
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What SQLite says, in words about this archive."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise ArchiveFull(f"{path}: cannot be written any further, the disk may be full ({error})") from None
        if code == sqlite3.SQLITE_NOTADB:
            raise ArchiveError(f"{path}: is not an archive of games") from None
        if code == sqlite3.SQLITE_CORRUPT:
            raise ArchiveError(f"{path}: is damaged ({error}); merge what can be read into a new one") from None
        raise ArchiveError(f"{path}: {error}") from None


def _game(row: tuple[Any, ...]) -> ArchivedGame:
    number, key, white, black, winner, reason, plies, source, settings, when, data = row
    return ArchivedGame(
        number, key % 2**64, white, black, _winner(winner), reason, plies, source, _settings(settings), when, data
    )


@functools.lru_cache(maxsize=1024)
def _settings(text: str) -> Mapping[str, Any]:
    return MappingProxyType(json.loads(text))


def _winner(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _signed(number: int) -> int:
    """A 64-bit number as SQLite keeps it."""
    return number - 2**64 if number >= 2**63 else number


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
