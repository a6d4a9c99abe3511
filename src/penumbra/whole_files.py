"""Files are written whole or not at all, whatever happens: one place for every file that this program writes.

A file is written beside its place and renamed into it, so that a full disk or a kill leaves what was there before. A
log, which grows by lines, keeps whole lines alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

AGAIN = "the same command makes it again"
LONGEST_NAME = 200  # bytes of a name that something is added to


class WriteError(OSError):
    """A file could not be written: one line that says which, why, what is kept and how to go on."""


@contextlib.contextmanager
def replacing(path: str | Path, go_on: str = AGAIN) -> Iterator[Path]:
    """A path beside this one to write the file to, which takes its place at the end of the block.

    If the block fails, nothing is left of it, and `WriteError` says so where it could not write; `go_on` ends that
    message. Devices and pipes are written to directly, and a link stays one.
    """
    path = Path(path)
    if _is_no_file(path):
        with _explained(path, path, go_on):
            yield path
        return
    place = path.resolve()
    beside = place.with_name(f"{_shortened(place.name)}.{os.getpid()}.part")
    try:
        with _explained(path, beside, go_on):
            yield beside
            if place.exists():
                beside.chmod(stat.S_IMODE(place.stat().st_mode))
            beside.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


@contextlib.contextmanager
def replacing_text(path: str | Path, go_on: str = AGAIN, newline: str | None = None) -> Iterator[IO[str]]:
    """The same, open for text."""
    with replacing(path, go_on) as beside, beside.open("w", encoding="utf-8", newline=newline) as file:
        yield file


def write_text(path: str | Path, text: str, go_on: str = AGAIN) -> None:
    """Writes a file of text, whole or not at all."""
    with replacing_text(path, go_on) as file:
        file.write(text)


def append_lines(path: str | Path, text: str, go_on: str = "the same command goes on from there") -> None:
    """Adds whole lines to a file, or nothing. A last line that a kill cut short is taken away first."""
    path = Path(path)
    with _explained(path, path, go_on), path.open("ab+", buffering=0) as file:
        end = _end_of_lines(file)
        if end < file.seek(0, os.SEEK_END):
            file.truncate(end)
        try:
            data = text.encode()
            while data:
                data = data[file.write(data) :]
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(end)
            raise


def read_lines(path: str | Path) -> list[str]:
    """The whole lines of a file, without one that was cut short; none if there is no file."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return []
    return data[: data.rfind(b"\n") + 1].decode(errors="replace").splitlines()


def reason_of(error: OSError) -> str:
    """`No space left on device`."""
    return error.strerror or str(error)


@contextlib.contextmanager
def _explained(path: Path, written: Path, go_on: str) -> Iterator[None]:
    """What the system says about the file that is written, in a line; what it says about others is left as it is."""
    was_there = written != path and path.exists()
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        if error.filename is not None and Path(os.fsdecode(error.filename)) != written:
            raise
        kept = "what was there before is kept" if was_there else "nothing of it is kept"
        kept = "its lines before are kept" if written == path and path.is_file() else kept
        raise WriteError(f"{path}: could not be written ({reason_of(error)}); {kept}; {go_on}") from None


def _is_no_file(path: Path) -> bool:
    """Whether it is a device, a pipe or a folder, or a name for what a process has open."""
    return (path.exists() and not path.is_file()) or path.absolute().is_relative_to("/dev")


def _shortened(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:LONGEST_NAME])


def _end_of_lines(file: IO[bytes]) -> int:
    """Where the last whole line ends."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - 4096)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
