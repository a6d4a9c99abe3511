"""The SQLite file below an archive: opened, locked, checked, and what SQLite says about it in words of ours."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from penumbra.games.writer_lock import WriterLock

BUSY_SECONDS = 20.0
FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
UNREADABLE = "pages of it cannot be read"
MOST_FAULTS = 100  # of a file that are counted


class ArchiveError(ValueError):
    """An archive that cannot be used; one line that says which and why."""


class ArchiveFull(ArchiveError):
    """There is no room to write. What was written before is intact."""


class ArchiveDamaged(ArchiveError):
    """The file itself is damaged, not only games in it: what SQLite reads of it cannot be trusted."""

    def __init__(self, path: Path, how: str) -> None:
        super().__init__(f"{path}: is damaged ({how}); `penumbra archive repair {path} NEW` saves what can be read")


def connect(path: Path, write: bool) -> sqlite3.Connection:
    """Readers share files beside the archive, which the last one to close removes: that takes leave to write, too.

    Where those files cannot be made, on a full disk for example, and no writer has left any, the archive is read
    without them.
    """
    if write:
        return _opened(path, "rwc", write)
    is_alone = _size(Path(f"{path}-wal")) == 0
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        try:
            return _opened(path, "rw", write)
        except sqlite3.Error as error:
            if not (is_alone and _code(error) in FULL):
                raise
    return _opened(path, "ro&immutable=1" if is_alone else "ro", write)


def _opened(path: Path, mode: str, write: bool) -> sqlite3.Connection:
    """A connection that has read the file's beginning."""
    db = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}", timeout=BUSY_SECONDS, isolation_level=None, uri=True
    )
    try:
        db.text_factory = _text  # a damaged text is not to end the reading of all others
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("SELECT 1 FROM sqlite_master").fetchall()
        if not write:
            db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def lock(path: Path) -> WriterLock:
    try:
        return WriterLock(path.with_name(f"{path.name}-writer"))
    except BlockingIOError:
        raise ArchiveError(f"{path}: another process is writing to it") from None
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be written: {error.strerror}") from None


def damage(db: sqlite3.Connection, thorough: bool) -> str:
    """What is wrong with the file, in words; "" if nothing is. `thorough` compares its indices with its tables too."""
    check = "integrity_check" if thorough else "quick_check"
    try:
        rows = db.execute(f"PRAGMA {check}({MOST_FAULTS if thorough else 1})").fetchall()
    except UnicodeDecodeError:
        return UNREADABLE
    except sqlite3.Error as error:
        if _code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            raise
        return UNREADABLE
    faults = [line for row in rows if row[0] != "ok" for line in str(row[0]).splitlines() if not line.startswith("***")]
    if not faults:
        return ""
    if not thorough:
        return "its pages contradict each other"
    many = f"{MOST_FAULTS} places or more" if len(faults) >= MOST_FAULTS else f"{len(faults)} places"
    return f"its pages contradict each other in {'one place' if len(faults) == 1 else many}"


@contextlib.contextmanager
def explained(path: Path, write: bool) -> Iterator[None]:
    """What SQLite says, in words about this archive."""
    try:
        yield
    except UnicodeDecodeError:  # of a message of SQLite's, which quotes what it has found
        raise ArchiveDamaged(path, UNREADABLE) from None
    except sqlite3.Error as error:
        code = _code(error)
        if code in FULL:
            if write:
                raise ArchiveFull(f"{path}: cannot be written any further, the disk may be full ({error})") from None
            raise ArchiveError(f"{path}: cannot be read: {error}") from None
        if code == sqlite3.SQLITE_NOTADB:
            raise ArchiveError(
                f"{path}: is not an archive of games; if it was one, `penumbra archive repair` may save it"
            ) from None
        if code == sqlite3.SQLITE_BUSY:
            raise ArchiveError(f"{path}: another process kept it for {BUSY_SECONDS:.0f} seconds; try again") from None
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):  # an error in a statement: a table is not there
            raise ArchiveDamaged(path, UNREADABLE) from None
        raise ArchiveError(f"{path}: {error}") from None


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
