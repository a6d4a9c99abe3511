"""What Penumbra has made of games that are over, kept beside them: lines as they were sent, the newest last.

A new analysis of a whole game replaces what was kept; one of a turn is added to it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from penumbra.whole_files import append_lines, read_lines, write_text

log = logging.getLogger(__name__)

FOLDER = "analyses"
LONGEST = 20_000_000  # bytes of one game; what is beyond them is not kept


class Analyses:
    """The analyses in a folder of games."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def read(self, game_id: str) -> str:
        """The lines that are kept, "" if there are none."""
        try:
            return "".join(f"{line}\n" for line in read_lines(self._path(game_id)))
        except OSError:
            return ""

    async def keep(
        self, game_id: str, items: AsyncIterator[dict[str, Any]], whole: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """Passes on what comes, each kept as soon as it is there. A full disk hinders nobody."""
        first = True
        async for item in items:
            try:
                self._write(game_id, json.dumps(item, separators=(",", ":")) + "\n", first, first and whole)
            except OSError as error:
                log.warning("an analysis is not kept: %s", error)
            first = False
            yield item

    def delete(self, game_id: str) -> None:
        self._path(game_id).unlink(missing_ok=True)

    def _write(self, game_id: str, line: str, first: bool, anew: bool) -> None:
        """What has been deleted meanwhile is not made again."""
        path = self._path(game_id)
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        if anew:
            write_text(path, line)
        elif (first or path.exists()) and (not path.exists() or path.stat().st_size + len(line) <= LONGEST):
            append_lines(path, line)

    def _path(self, game_id: str) -> Path:
        return self._folder / f"{game_id}.jsonl"
