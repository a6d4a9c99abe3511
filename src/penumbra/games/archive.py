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
import itertools
import logging
import random
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from penumbra.games import database
from penumbra.games.archived_game import ArchivedGame as ArchivedGame
from penumbra.games.archived_game import NewGame as NewGame
from penumbra.games.archived_game import copies, find_damage, from_row, settings_text
from penumbra.games.archived_game import find_problem as find_problem
from penumbra.games.archived_game import is_validation as is_validation
from penumbra.games.database import ArchiveDamaged, explained
from penumbra.games.database import ArchiveError as ArchiveError
from penumbra.games.database import ArchiveFull as ArchiveFull
from penumbra.games.visits import unpack
from penumbra.games.writer_lock import WriterLock

log = logging.getLogger(__name__)

APPLICATION = 0x50454E55  # "PENU", SQLite's application_id of an archive
VERSION = 1
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

_COLUMNS = """
game.id, game.hash, white.value, black.value, winner, reason, plies, source.value, settings.value, time, record
"""
_TEXTS = """
LEFT JOIN text AS white ON white.id = game.white
LEFT JOIN text AS black ON black.id = game.black
LEFT JOIN text AS source ON source.id = game.source
LEFT JOIN text AS settings ON settings.id = game.settings
"""  # a game whose texts are lost is one that is damaged, not one that is not there
_SELECT = f"SELECT {_COLUMNS} FROM game {_TEXTS}"
_SELECT_MADE = f"""
SELECT made.number, {_COLUMNS} FROM made
JOIN text AS run ON run.id = made.run
LEFT JOIN game ON game.hash = made.hash {_TEXTS}
WHERE run.value = ? AND made.number > ? ORDER BY made.number LIMIT {PAGE}
"""
Report = Callable[[str], None]


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
    """An open archive, by `open`, `create` or `open_or_create`; close it, or use it in a `with`.

    What is read of it is checked. Damaged games are left out, and `report` hears of each once; if the file itself is
    damaged, `ArchiveDamaged` says so.
    """

    path: Path
    _db: sqlite3.Connection
    _lock: WriterLock | None = None
    _report: Report | None = None
    _texts: dict[str, int] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _is_checked: bool = False

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False, report: Report | None = None) -> Archive:
        """An archive that is there; `ArchiveError` if it is none, of another version, or has a writer already.

        What is left out is logged, if there is no `report` to hear of it.
        """
        path = Path(path)
        if not path.is_file():
            raise ArchiveError(f"{path}: there is no such archive")
        return cls._prepared(path, write, cls._check_version, report)

    @classmethod
    def create(cls, path: str | Path, report: Report | None = None) -> Archive:
        """A new, empty archive, open for writing."""
        path = Path(path)
        if path.exists():
            raise ArchiveError(f"{path}: is there already")
        if not path.parent.is_dir():
            raise ArchiveError(f"{path}: there is no folder {path.parent}")
        return cls._prepared(path, True, cls._set_up, report)

    @classmethod
    def _prepared(cls, path: Path, write: bool, prepare: Callable[[Archive], None], report: Report | None) -> Archive:
        """A connection that is closed again, and a lock that is given back, if `prepare` fails."""
        lock = database.lock(path) if write else None
        try:
            with explained(path, write):
                archive = cls(path, database.connect(path, write), lock, report)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        try:
            with explained(path, write):
                prepare(archive)
        except BaseException:
            archive.close()
            raise
        return archive

    @classmethod
    def open_or_create(cls, path: str | Path, report: Report | None = None) -> Archive:
        """Open for writing, made first where it is not there."""
        path = Path(path)
        return cls.open(path, write=True, report=report) if path.exists() else cls.create(path, report)

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
        with self._explained():
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
        What a damaged game says of itself is no reason to pass over it in silence, so all are read.
        """
        if after == 0:
            self._check_file()
        for game in filter(self._is_sound, self.stored_games(after)):
            if (
                (player is None or player in (game.white, game.black))
                and (source is None or game.source == source)
                and (validation is None or is_validation(game.record) == validation)
            ):
                yield game

    def stored_games(self, after: int = 0) -> Iterator[ArchivedGame]:
        """All games as they are stored, the damaged ones too; `find_problem` tells them."""
        query = f"{_SELECT} WHERE game.id > ? ORDER BY game.id LIMIT {PAGE}"
        last = after
        while True:
            rows = self._fetch(query, last)
            yield from map(from_row, rows)
            if len(rows) < PAGE:
                return
            last = rows[-1][0]

    def get(self, ids: Iterable[int]) -> Iterator[ArchivedGame]:
        """Games by their ids, in that order; `ArchiveError` if one is not there or damaged."""
        for game in map(self._stored, ids):
            damage = find_damage(game)
            if damage:
                raise ArchiveError(f"{self.path}: {game.name}: {damage}")
            yield game

    def newest(self, n: int, before: int | None = None) -> list[ArchivedGame]:
        """At most n games, the newest first, of those with ids below `before`."""
        found: list[ArchivedGame] = []
        last = 2**63 - 1 if before is None else before
        while len(found) < n:
            rows = self._fetch(f"{_SELECT} WHERE game.id < ? ORDER BY game.id DESC LIMIT {n:d}", last)
            found += filter(self._is_sound, map(from_row, rows))
            if len(rows) < n:
                break
            last = rows[-1][0]
        return found[:n]

    def sample(self, n: int, seed: int = 0) -> Iterator[ArchivedGame]:
        """At most `n` games drawn at random, in the order they came."""
        self._check_file()
        ids = [row[0] for row in self._fetch("SELECT id FROM game ORDER BY id")]
        drawn = sorted(random.Random(seed).sample(ids, min(n, len(ids))))
        return filter(self._is_sound, map(self._stored, drawn))

    def made(self, run: str) -> set[int]:
        """The numbers of a generation run that are done."""
        query = "SELECT number FROM made JOIN text ON text.id = run WHERE text.value = ?"
        return {number for (number,) in self._fetch(query, run)}

    def games_made(self, run: str) -> Iterator[tuple[int, ArchivedGame]]:
        """(number, game) of what a run has made, in order of the numbers."""
        last = -1
        while True:
            rows = self._fetch(_SELECT_MADE, run, last)
            for number, *row in rows:
                if row[0] is None:
                    self._leave_out(f"game {number} of a run that made it is not there any more")
                elif self._is_sound(game := from_row(tuple(row))):
                    yield number, game
            if len(rows) < PAGE:
                return
            last = rows[-1][0]

    def visits(self) -> dict[int, bytes]:
        """What was searched, packed, by the hash of the game."""
        found = {}
        for key, visits in self.stored_visits():
            try:
                unpack(visits)
            except ValueError as error:
                self._leave_out(f"the searches of the game with the hash {key}: {error}")
            else:
                found[key] = visits
        return found

    def stored_visits(self) -> Iterator[tuple[int, bytes]]:
        """(hash of the game, what was searched in it, packed), whatever the bytes are."""
        if self._fetch("SELECT 1 FROM sqlite_master WHERE name = 'search'"):
            for key, visits in self._fetch("SELECT hash, visits FROM search"):
                yield key % 2**64, visits if isinstance(visits, bytes) else b"\0"

    def runs(self) -> dict[str, int]:
        """How many games of each generation run are done."""
        query = "SELECT value, count(*) FROM made JOIN text ON text.id = run GROUP BY run"
        return dict(self._fetch(query))

    def results(self) -> list[tuple[str, str, bool | None, int]]:
        """(White, Black, who won, how often) of all finished games. One that several numbers made counts as often."""
        counts: Counter[tuple[str, str, bool | None]] = Counter()
        for _, white, black, winner, times in self.finished():
            counts[white, black, winner] += times
        return [(*key, count) for key, count in counts.items()]

    def finished(self) -> Iterator[tuple[int, str, str, bool | None, int]]:
        """(hash, White, Black, who won, how often it was made) of each finished game."""
        times = dict(self._fetch("SELECT hash, count(*) FROM made GROUP BY hash"))
        for game in self.games():
            if game.reason is not None:
                yield game.hash, game.white, game.black, game.winner, times.get(_signed(game.hash), 1)

    def statistics(self) -> Statistics:
        plies: list[int] = []
        validation = 0
        reasons, sources = Counter[str](), Counter[str]()
        scores: dict[str, list[int]] = {}
        for game in self.games():
            plies.append(game.plies)
            validation += is_validation(game.record)
            reasons[game.reason or "unfinished"] += 1
            sources[game.source] += 1
            for name, color in ((game.white, True), (game.black, False)) if game.reason else ():
                score = scores.setdefault(name, [0, 0, 0])
                score[1 if game.winner is None else 0 if game.winner == color else 2] += 1
        ordered = sorted(scores.items(), key=lambda item: (-sum(item[1]), item[0]))
        (pages,), (page,) = self._fetch("PRAGMA page_count")[0], self._fetch("PRAGMA page_size")[0]
        return Statistics(
            len(plies),
            validation,
            sorted(plies),
            pages * page,
            {name: (wins, draws, losses) for name, (wins, draws, losses) in ordered},
            dict(reasons.most_common()),
            dict(sources.most_common()),
        )

    def merge(self, other: Archive) -> tuple[int, int, list[str]]:
        """Adds another archive's games: (how many were new, how many were known, what is wrong with the others)."""
        other._check_file()
        runs, visits = other._marks(), other.visits()
        new, seen, broken = 0, 0, []
        for page in _batches(other.stored_games()):
            good = []
            for game in page:
                problem = find_problem(game)
                if problem:
                    broken.append(f"{other.path}: {game.name}: {problem}")
                else:
                    good += copies(game, runs.get(_signed(game.hash), []), visits.get(game.hash, b""))
                    seen += 1
            new += self.add(good)
        return new, seen - new, broken

    def _marks(self) -> dict[int, list[tuple[str, int]]]:
        """The runs and numbers that made each game, by its hash as SQLite keeps it."""
        marks: dict[int, list[tuple[str, int]]] = {}
        for key, run, number in self._fetch("SELECT hash, value, number FROM made JOIN text ON text.id = run"):
            marks.setdefault(key, []).append((run, number))
        return marks

    def damage(self) -> str:
        """What is wrong with the file itself, apart from the games in it; "": nothing."""
        with self._explained():
            return database.damage(self._db, thorough=True)

    def _check_file(self) -> None:
        """`ArchiveDamaged` if what SQLite reads cannot be trusted; looked at once."""
        if not self._is_checked:
            with self._explained():
                how = database.damage(self._db, thorough=False)
            if how:
                raise ArchiveDamaged(self.path, how)
            self._is_checked = True

    def _fetch(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._explained():
            return self._db.execute(query, values).fetchall()

    def _explained(self) -> contextlib.AbstractContextManager[None]:
        return explained(self.path, self._lock is not None)

    def _stored(self, number: int) -> ArchivedGame:
        rows = self._fetch(f"{_SELECT} WHERE game.id = ?", number)
        if not rows:
            raise ArchiveError(f"{self.path}: has no game {number}")
        return from_row(rows[0])

    def _is_sound(self, game: ArchivedGame) -> bool:
        damage = find_damage(game)
        if damage:
            self._leave_out(f"{game.name}: {damage}")
        return not damage

    def _leave_out(self, problem: str) -> None:
        """Says what is left out, each thing once."""
        if problem not in self._told:
            self._told.add(problem)
            (self._report or log.warning)(f"{self.path}: {problem}; it is left out")

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
            self._text(settings_text(game.settings)),
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
        with self._explained():
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
            self._check_file()  # what is written to a damaged file may be lost with it
            self._db.execute(_SEARCH)


def is_archive(path: Path) -> bool:
    """Whether a file is an SQLite one, as archives are."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def results_of(paths: Sequence[Path], report: Report | None = None) -> list[tuple[str, str, bool | None, int]]:
    """The results of several archives; a game that is in more than one counts once."""
    games: dict[int, tuple[str, str, bool | None, int]] = {}
    for path in paths:
        with Archive.open(path, report=report) as archive:
            for key, white, black, winner, times in archive.finished():
                if key not in games or games[key][3] < times:
                    games[key] = (white, black, winner, times)
    return list(games.values())


def losses_of(paths: Sequence[Path], endings: Collection[str]) -> Counter[tuple[str, str]]:
    """How often each player lost by each of these endings: (name, ending); a game in several archives counts once."""
    found: dict[int, tuple[str, str]] = {}
    for path in paths:
        with Archive.open(path, report=lambda problem: None) as archive:  # `results_of` has told of damaged games
            for game in archive.games():
                ending = str(game.settings.get("reason"))
                if ending in endings and game.winner is not None:
                    found[game.hash] = (game.black if game.winner else game.white), ending
    return Counter(found.values())


def _signed(number: int) -> int:
    """A 64-bit number as SQLite keeps it."""
    return number - 2**64 if number >= 2**63 else number


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    items = iter(items)
    while batch := list(itertools.islice(items, BATCH)):
        yield batch
