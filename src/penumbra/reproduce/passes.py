"""A pass over games, some at a time, whose partial sums are kept in a file: one that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from penumbra.core import GameRecord
from penumbra.whole_files import append_lines, read_lines

CHUNK = 128  # games
Sums = dict[str, Any]


def go_through(
    path: Path,
    records: Sequence[GameRecord],
    settings: str,
    look: Callable[[Sequence[GameRecord]], Sums],
    say: Callable[[str], None],
) -> list[Sums]:
    """What `look` makes of each chunk of the games; `settings` is everything else that its answer depends on."""
    known = _read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = []
    last = time.monotonic()
    for first in range(0, len(records), CHUNK):
        chunk = records[first : first + CHUNK]
        key = hashlib.blake2b(repr((settings, [record.hash for record in chunk])).encode(), digest_size=8).hexdigest()
        if key not in known:
            known[key] = look(chunk)
            append_lines(path, json.dumps({"key": key, "sums": known[key]}) + "\n")
        found.append(known[key])
        if time.monotonic() - last > 10:
            last = time.monotonic()
            say(f"{first + len(chunk):,} of {len(records):,} games looked at")
    return found


def _read(path: Path) -> dict[str, Sums]:
    """The chunks that are done; a last line cut short by an end of the run does not count."""
    known: dict[str, Sums] = {}
    for line in read_lines(path):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        known[row["key"]] = row["sums"]
    return known
