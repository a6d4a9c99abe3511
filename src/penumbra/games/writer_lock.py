"""One writer at a time: a lock beside a file, which the system takes back from a process that dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path


class WriterLock:
    """Held from its making until `release`. BlockingIOError if another process holds it.

    The lock's file is not the one it guards: closing that a second time would drop the locks of SQLite.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        while True:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._file)
                raise
            if self._still_there():
                return
            os.close(self._file)  # its holder has just removed it

    def release(self) -> None:
        """The file goes with the lock."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(self._file)

    def _still_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            return False
