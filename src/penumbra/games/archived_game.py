"""A game as archives keep it, and what can be wrong with it."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from penumbra.core import GameRecord

VALIDATION_SHARE = 10  # one game in so many is kept for validation
LATEST = 2**33  # seconds since 1970: no game is from after the year 2242
# What a row holds after its number: what messages call it, of which kind it is, and what stands for it if it is not.
_FIELDS: tuple[tuple[str, type | tuple[type, ...], Any], ...] = (
    ("hash", int, 0),
    ("White's name", str, "?"),
    ("Black's name", str, "?"),
    ("winner", (int, type(None)), None),
    ("reason", (str, type(None)), None),
    ("length", int, 0),
    ("source", str, "?"),
    ("settings", str, "{}"),
    ("time", int, 0),
    ("record", bytes, b""),
)


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
    fault: str = ""  # what cannot be read of it; the fields that this concerns are empty

    @functools.cached_property
    def record(self) -> GameRecord:
        """The game itself; ValueError if its bytes are not those of a record."""
        return GameRecord.from_bytes(self.data)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"game {self.id} ({self.white} v {self.black})"


@dataclass(frozen=True)
class NewGame:
    """A game to be added. `made` is its run and its number there, where it was generated."""

    record: GameRecord
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    time: int | None = None
    made: tuple[str, int] | None = None
    visits: bytes = b""  # what was searched, packed


def from_row(row: tuple[Any, ...]) -> ArchivedGame:
    """A row of the archive as it stands; of a damaged one, `fault` says what is not what it should be."""
    number, *values = row
    faults = [name for (name, kind, _), value in zip(_FIELDS, values, strict=True) if not isinstance(value, kind)]
    readable: list[Any] = [
        value if isinstance(value, kind) else empty for (_, kind, empty), value in zip(_FIELDS, values, strict=True)
    ]
    key, white, black, winner, reason, plies, source, settings, when, data = readable
    if winner not in (None, 0, 1):
        faults.append("winner")
    if not 0 <= when < LATEST:
        faults.append("time")
        when = 0
    about = settings_of(settings)
    if about is None:
        faults.append("settings")
    fault = f"its {' and '.join(faults)} cannot be read" if faults else ""
    return ArchivedGame(
        number, key % 2**64, white, black, winner_of(winner), reason, plies, source, about or {}, when, data, fault
    )


def copies(game: ArchivedGame, made: Sequence[tuple[str, int]], visits: bytes) -> list[NewGame]:
    """A game for another archive, once for each run and number that made it, which the archive keeps once."""
    return [
        NewGame(game.record, game.source, game.settings, game.time, mark, visits if i == 0 else b"")
        for i, mark in enumerate(made or [None])
    ]


@functools.lru_cache(maxsize=1024)
def settings_of(text: str) -> Mapping[str, Any] | None:
    """What the text of the settings holds; None if it is none that `settings_text` has written."""
    try:
        found = json.loads(text) if text.isascii() else None
    except (ValueError, RecursionError):
        return None
    return MappingProxyType(found) if isinstance(found, dict) else None


def settings_text(settings: Mapping[str, Any]) -> str:
    """JSON, the same for the same settings."""
    return json.dumps(dict(settings), sort_keys=True)


def winner_of(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def is_validation(record: GameRecord) -> bool:
    """Whether a game is kept for validation: one in ten, by its hash, so always the same ones."""
    return record.hash % VALIDATION_SHARE == 0


def find_damage(game: ArchivedGame) -> str:
    """How what is stored of a game differs from what was written; "": nowhere."""
    if game.fault:
        return game.fault
    try:
        record = game.record
    except ValueError as error:
        return str(error)
    if record.hash != game.hash:
        return "its bytes are not those that were written"
    said = (game.white, game.black, game.winner, game.reason, game.plies)
    found = (record.white_name, record.black_name, record.winner, record.reason, len(record.moves))
    return f"the archive says {said}, its record {found}" if said != found else ""


def find_problem(game: ArchivedGame) -> str:
    """What is wrong with a game, its bytes, what the archive says about it, its moves or its result; "": nothing."""
    return find_damage(game) or contradiction(game.record)


def contradiction(record: GameRecord) -> str:
    """Where a record breaks the rules, or says what cannot be; "": nowhere."""
    try:
        record.replay()  # which also compares the result with the board
    except ValueError as error:
        return str(error)
    if record.reason in ("TIMEOUT", "RESIGN") and record.winner is None:
        return f"nobody won, but the reason is {record.reason}"
    return ""
