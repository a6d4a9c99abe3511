"""What can still be read of a damaged archive, page by page, without SQLite, which gives up at the first fault.

SQLite's file format (https://www.sqlite.org/fileformat2.html) has rows in the leaves of its trees, and each row says
itself of which kinds its columns are. That is enough to tell the rows of an archive's tables from each other, wherever
they stand, and a game's hash stands for all of its record; so nothing that is read here need be believed. Pages of the
write-ahead file beside the archive are looked at too: games are never changed, so an older page is as good as a newer.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from penumbra.core import GameRecord
from penumbra.games.archive import Archive
from penumbra.games.archived_game import LATEST, ArchivedGame, NewGame, contradiction, copies, settings_of
from penumbra.games.database import ArchiveError
from penumbra.games.visits import unpack

NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})  # of a game whose settings cannot be read
UNKNOWN = "(lost)"  # the source of a game whose source cannot be read
WAL_HEADER, FRAME_HEADER = 32, 24
PAGE_SIZES = tuple(2**i for i in range(9, 17))
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
REPLACED = "\ufffd"  # stands for bytes that are no text
LARGEST_ROW = 1 << 24  # bytes; one that says that it is larger is damaged
COLUMNS = 12  # of a game's row
GAME_HEAD = re.compile(rb"[\x0d-\x0f]\x00")  # how its head begins: its length, and an id that stands elsewhere
LONGEST_GAP = 1000  # games lost in a row, beside as many as were found before
LONGEST_START = 12  # bytes that stand before it: the row's length and its id
Row = tuple[Any, ...]


class _Unreadable(Exception):
    """These bytes are not a row."""


@dataclass
class Salvage:
    """What was found: games in their order, each whole and checked. `lost` says what is missing, a line each."""

    games: list[list[NewGame]] = field(default_factory=list)  # each once for each run and number that made it
    lost: list[str] = field(default_factory=list)
    expected: int = 0  # games that the archive had, as far as can be told


@dataclass
class _Rows:
    """All rows found, by table, in all versions that were found."""

    games: dict[int, list[Row]] = field(default_factory=dict)  # by id
    texts: dict[int, set[str]] = field(default_factory=dict)  # by id, from the table and from its index
    searches: dict[int, set[bytes]] = field(default_factory=dict)  # by hash
    marks: set[tuple[int, int, int]] = field(default_factory=set)  # (run, number, hash)
    hashes: dict[int, int] = field(default_factory=dict)  # id by hash, from the index

    def add_game(self, rowid: int, row: Row) -> None:
        if rowid > 0 and len(row) == COLUMNS and row[0] is None and isinstance(row[-1], bytes):
            known = self.games.setdefault(rowid, [])
            if row not in known:
                known.append(row)

    def add_of_table(self, rowid: int, row: Row) -> None:
        match row:
            case (None, str(text)) if REPLACED not in text:
                self.texts.setdefault(rowid, set()).add(text)
            case (None, bytes(visits)):
                self.searches.setdefault(rowid, set()).add(visits)

    def add_of_index(self, row: Row) -> None:
        match row:
            case (int(run), int(number), int(key)):
                self.marks.add((run, number, key))
            case (str(text), int(rowid)) if REPLACED not in text:
                self.texts.setdefault(rowid, set()).add(text)
            case (int(key), int(rowid)) if rowid > 0:
                self.hashes[key] = rowid

    def last_id(self) -> int:
        """The highest id of a game. They have no gaps, so one far beyond all others is damaged."""
        last = 0
        for count, number in enumerate(sorted({*self.games, *self.hashes.values()}), 1):
            if number > last + LONGEST_GAP + count:
                break
            last = number
        return last

    def text(self, number: int) -> str | None:
        """A text that is the same wherever it was found."""
        found = self.texts.get(number, set())
        return next(iter(found)) if len(found) == 1 else None


def repair(path: Path, to: Path) -> Salvage:
    """A new archive of everything that can be read of another one and is sound."""
    found = salvage(path)
    with Archive.create(to) as archive:
        archive.add_all(itertools.chain.from_iterable(found.games))
    return found


def salvage(path: Path) -> Salvage:
    """Everything that can be read of an archive and is sound."""
    rows = _Rows()
    try:
        data = path.read_bytes()
        beside = Path(f"{path}-wal")
        ahead = beside.read_bytes() if beside.exists() else b""
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read: {error.strerror}") from None
    file = _File(data, ahead)
    for page in file.pages():
        _read_page(file, page, rows)
    found = _judge(rows)
    if not found.games:
        found.lost.append("no game can be read")
    elif file.missing:
        found.lost.append(f"the last {file.missing:,} pages of the file, with games after the last one that is known")
    return found


class _File:
    """The pages of an archive and of the write-ahead file beside it."""

    def __init__(self, data: bytes, ahead: bytes) -> None:
        size = int.from_bytes(data[16:18], "big")
        size = 65_536 if size == 1 else size
        self.size = size if size in PAGE_SIZES else 4096
        pages = -(-len(data) // self.size)
        self.missing = max(0, int.from_bytes(data[28:32], "big") - max(pages, _last_page(ahead, self.size)))
        reserved = data[20] if len(data) > 20 else 0
        self.usable = self.size - (reserved if reserved <= 32 else 0)
        self._pages = {
            at // self.size + 1: [data[at : at + self.size].ljust(self.size, b"\0")]
            for at in range(0, len(data), self.size)
        }
        for at in range(WAL_HEADER, len(ahead), FRAME_HEADER + self.size):
            start = at + FRAME_HEADER
            number = int.from_bytes(ahead[at : at + 4], "big")
            page = ahead[start : start + self.size].ljust(self.size, b"\0")
            self._pages.setdefault(number, []).append(page)

    def pages(self) -> Iterator[bytes]:
        """All versions of all pages."""
        return (page for versions in self._pages.values() for page in versions)

    def overflow(self, number: int, length: int) -> list[bytes]:
        """So many bytes of the pages linked from this one on, as they are in each version of the first of them."""
        found = []
        for first in self._pages.get(number, ()):
            parts, page, left = [], first, length
            while True:
                parts.append(page[4 : 4 + min(left, self.usable - 4)])
                left -= len(parts[-1])
                if left <= 0:
                    found.append(b"".join(parts))
                    break
                following = self._pages.get(int.from_bytes(page[:4], "big"))
                if following is None or len(parts) * self.size > LARGEST_ROW:
                    break
                page = following[-1]
        return found


def _last_page(ahead: bytes, size: int) -> int:
    """The highest number of a page in a write-ahead file."""
    frames = range(WAL_HEADER, len(ahead), FRAME_HEADER + size)
    return max((int.from_bytes(ahead[at : at + 4], "big") for at in frames), default=0)


def _read_page(file: _File, page: bytes, rows: _Rows) -> None:
    """Games wherever there are any; of other tables, whose rows have no hash, those that the page itself lists."""
    for head in GAME_HEAD.finditer(page):
        for at in range(head.start() - 2, max(head.start() - LONGEST_START, -1), -1):
            for rowid, row in _table_rows(file, page, at):
                rows.add_game(rowid, row)
    if page[0] not in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
        return
    start = 12 if page[0] == INDEX_INTERIOR else 8
    for place in range(start, min(start + 2 * int.from_bytes(page[3:5], "big"), file.usable - 1), 2):
        at = int.from_bytes(page[place : place + 2], "big")
        if page[0] == TABLE_LEAF:
            for rowid, row in _table_rows(file, page, at):
                rows.add_of_table(rowid, row)
        else:
            for row in _index_rows(file, page, at + (4 if page[0] == INDEX_INTERIOR else 0)):
                rows.add_of_index(row)


def _table_rows(file: _File, page: bytes, at: int) -> Iterator[tuple[int, Row]]:
    """(id, columns) of the row that begins there, in each version that there is; none if none does."""
    with contextlib.suppress(_Unreadable):
        length, at = _varint(page, at)
        rowid, at = _varint(page, at)
        for payload in _payloads(file, page, at, length, file.usable - 35):
            yield rowid, _row(payload)


def _index_rows(file: _File, page: bytes, at: int) -> Iterator[Row]:
    with contextlib.suppress(_Unreadable):
        length, at = _varint(page, at)
        for payload in _payloads(file, page, at, length, (file.usable - 12) * 64 // 255 - 23):
            yield _row(payload)


def _payloads(file: _File, page: bytes, at: int, length: int, most: int) -> list[bytes]:
    """A row's bytes, in each version that there is; `most` may stand on the page itself."""
    if not 0 < length <= LARGEST_ROW:
        raise _Unreadable
    if length <= most:
        if at + length > file.usable:
            raise _Unreadable
        return [page[at : at + length]]
    least = (file.usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (file.usable - 4)
    local = local if local <= most else least
    if at + local + 4 > file.usable:
        raise _Unreadable
    following = int.from_bytes(page[at + local : at + local + 4], "big")
    return [page[at : at + local] + rest for rest in file.overflow(following, length - local)]


def _row(payload: bytes) -> Row:
    """The columns of a row: None (of kinds that no row of ours has, too), int, str or bytes."""
    head, at = _varint(payload, 0)
    if not 1 < head <= len(payload) or head > 64:
        raise _Unreadable
    columns: list[Any] = []
    end = head
    while at < head:
        kind, at = _varint(payload, at)
        start = end
        if kind in (0, 10, 11):
            columns.append(None)
        elif kind in (8, 9):
            columns.append(kind - 8)
        elif kind in (1, 2, 3, 4, 5, 6):
            end += (1, 2, 3, 4, 6, 8)[kind - 1]
            columns.append(int.from_bytes(payload[start:end], "big", signed=True))
        elif kind >= 12:
            end += (kind - 12) // 2
            columns.append(payload[start:end] if kind % 2 == 0 else payload[start:end].decode(errors="replace"))
        else:  # a number with a fraction
            end += 8
            columns.append(None)
        if end > len(payload):
            raise _Unreadable
    if at != head:
        raise _Unreadable
    return tuple(columns)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(SQLite's number of one to nine bytes, where it ends)."""
    value = 0
    for i in range(8):
        if at + i >= len(data):
            raise _Unreadable
        byte = data[at + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    if at + 8 >= len(data):
        raise _Unreadable
    return struct.unpack(">q", (value << 8 | data[at + 8]).to_bytes(8, "big"))[0], at + 9


def _judge(rows: _Rows) -> Salvage:
    """The games that are sound, with what belongs to them, and what is lost."""
    found = Salvage(expected=rows.last_id())
    made: dict[int, list[tuple[str, int]]] = {}
    nameless = set()  # hashes of games that were made by runs whose texts are lost
    for run, number, key in sorted(rows.marks):
        text = rows.text(run)
        if text is None:
            nameless.add(key)
        else:
            made.setdefault(key, []).append((text, number))
    damaged: dict[int, str] = {}
    lacking: dict[str, list[int]] = {}
    saved: dict[int, tuple[int, ArchivedGame]] = {}  # (its id, the game) by hash
    for number, versions in rows.games.items():
        games = [_game(rows, number, row) for row in versions]
        sound = {game.hash: (rows.hashes.get(_signed(game.hash), number), game) for game in games if not game.fault}
        saved |= sound
        if not sound:
            damaged[number] = games[0].fault
    for number, game in sorted(saved.values(), key=lambda pair: (pair[0], pair[1].hash)):
        key = _signed(game.hash)
        searched, unreadable = _searches(rows, key)
        found.games.append(copies(game, made.get(key, []), searched))
        for what, is_lost in (
            ("source", game.source == UNKNOWN),
            ("settings", game.settings is NO_SETTINGS),
            ("searches", unreadable),
            ("run", key in nameless),
        ):
            if is_lost:
                lacking.setdefault(what, []).append(number)
    ids = {number for number, _ in saved.values()}
    missing = [number for number in range(1, found.expected + 1) if number not in ids and number not in damaged]
    found.lost = [f"game {number}: {fault}" for number, fault in sorted(damaged.items()) if number not in ids]
    found.lost += [f"{stretch}: cannot be read" for stretch in _stretches(missing)]
    found.lost += [f"the {what} of {', '.join(_stretches(numbers))}" for what, numbers in lacking.items()]
    return found


def _game(rows: _Rows, number: int, row: Row) -> ArchivedGame:
    """What a row says, by its record where that says it too; `fault` is what is wrong with the record.

    The record's hash stands in the row, and once more in the index.
    """
    _, key, _, _, _, _, _, _, source, settings, when, data = row
    try:
        record = GameRecord.from_bytes(data)
        is_known = _signed(record.hash) == key or rows.hashes.get(_signed(record.hash)) == number
        fault = contradiction(record) if is_known else "its bytes are not those that were written"
    except ValueError as error:
        fault = str(error)
    if fault:
        record = GameRecord()
    about = settings_of(rows.text(settings) or "")
    return ArchivedGame(
        number,
        record.hash,
        record.white_name,
        record.black_name,
        record.winner,
        record.reason,
        len(record.moves),
        rows.text(source) or UNKNOWN,
        NO_SETTINGS if about is None else about,
        when if isinstance(when, int) and 0 <= when < LATEST else 0,
        data,
        fault,
    )


def _searches(rows: _Rows, key: int) -> tuple[bytes, bool]:
    """(what was searched in a game, packed; whether there is something that cannot be read)."""
    for visits in rows.searches.get(key, ()):
        with contextlib.suppress(ValueError):
            unpack(visits)
            return visits, False
    return b"", key in rows.searches


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _stretches(numbers: Sequence[int]) -> list[str]:
    """`game 3`, `games 7 to 12`."""
    found = []
    for _, group in itertools.groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        stretch = [number for _, number in group]
        found.append(f"game {stretch[0]}" if len(stretch) == 1 else f"games {stretch[0]} to {stretch[-1]}")
    return found
