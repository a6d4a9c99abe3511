"""Many games at once: folders, files and lines of reconchess' JSON, plain or compressed by gzip, one game at a time.

A file whose name ends in .jsonl or .ndjson holds a game on each line; any other one holds a single game, or is taken by
lines if its first line is a whole object. What is broken is told, and the rest is read all the same.
"""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from reconchess.history import GameHistoryEncoder

from penumbra.core import GameRecord
from penumbra.interop.history import history_to_record, record_to_history
from penumbra.interop.history_json import GameFileError, parse_history
from penumbra.whole_files import replacing, write_text

log = logging.getLogger(__name__)

LINES = (".jsonl", ".ndjson")
NAMES = (".json", *LINES)  # with or without .gz: what is looked for in folders
LONGEST = 64 * 1024 * 1024  # bytes of one game: a longer line is not a game, and is not held in memory


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The files named, and all games in the folders named and below them; `GameFileError` if one is not there."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(file for file in path.rglob("*") if file.is_file() and _bare_name(file).endswith(NAMES))
        elif path.exists():
            files.append(path)
        else:
            raise GameFileError(str(path), "there is no such file or folder")
    return files


def read_games(
    file: Path,
    trouble: Callable[[GameFileError], None],
    progress: Callable[[int], None] = lambda n: None,
    note: Callable[[str], None] = log.warning,
) -> Iterator[GameRecord]:
    """The games in one file; `trouble` hears of those that cannot be read, `progress` of bytes of the file done, `note`
    of what was changed in a game so that it could be."""
    try:
        with _opened(file) as (stream, raw):
            done = 0
            for text, source in _objects(file, stream, trouble):
                try:
                    yield history_to_record(parse_history(text, source), source, note)
                except GameFileError as error:
                    trouble(error)
                now = raw.tell()
                progress(now - done)
                done = now
    except (OSError, EOFError, zlib.error) as error:
        trouble(GameFileError(str(file), f"cannot be read any further: {error}"))


def write_games(records: Iterable[GameRecord], out: Path) -> int:
    """Writes games to a file of lines (compressed if its name ends in .gz) or to a folder; how many."""
    if not is_file_of_lines(out):
        return _write_folder(records, out)
    count = 0
    with replacing(out) as beside, beside.open("wb") as raw, _compressed(raw, out) as stream:
        for record in records:
            stream.write(to_json(record).encode() + b"\n")
            count += 1
    return count


def to_json(record: GameRecord) -> str:
    """A game as one line of reconchess' JSON."""
    return json.dumps(record_to_history(record), cls=GameHistoryEncoder, separators=(",", ":"))


def is_file_of_lines(out: Path) -> bool:
    """Whether games are written to one file, by its name, rather than to a folder."""
    return _bare_name(out).endswith(LINES)


def _write_folder(records: Iterable[GameRecord], out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for record in records:
        go_on = f"{count:,} games before it are there, and the same command writes all"
        write_text(out / f"{record.hash:016x}.json", to_json(record) + "\n", go_on)
        count += 1
    return count


@contextmanager
def _compressed(raw: IO[bytes], out: Path) -> Iterator[IO[bytes]]:
    """The file, or what compresses into it if its name ends in .gz."""
    if out.suffix == ".gz":
        with gzip.GzipFile(out.name, "wb", fileobj=raw) as stream:
            yield stream  # type: ignore[misc]
    else:
        yield raw


def _bare_name(file: Path) -> str:
    return file.name.lower().removesuffix(".gz")


@contextmanager
def _opened(file: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """(the text, the file below it, which says how far reading has come)."""
    with file.open("rb") as raw:
        compressed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if compressed:
            with gzip.open(raw) as stream:
                yield stream, raw  # type: ignore[misc]
        else:
            yield raw, raw


def _objects(file: Path, stream: IO[bytes], trouble: Callable[[GameFileError], None]) -> Iterator[tuple[bytes, str]]:
    """(one JSON object, where it is)."""
    first = stream.readline(LONGEST)
    if not (_bare_name(file).endswith(LINES) or _is_whole(first)):
        rest = stream.read(LONGEST)
        if len(rest) == LONGEST:
            raise OSError("it is too long for a game")
        yield first + rest, str(file)
        return
    number, line = 1, first
    while line:
        if len(line) == LONGEST:
            trouble(GameFileError(f"{file}, line {number}", "is too long for a game"))
            while len(line) == LONGEST and not line.endswith(b"\n"):
                line = stream.readline(LONGEST)
        elif line.strip():
            yield line, f"{file}, line {number}"
        number, line = number + 1, stream.readline(LONGEST)


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
