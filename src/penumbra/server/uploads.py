"""Games that people have uploaded to review them: kept under an id that cannot be guessed, until they are deleted.

A file is one JSON object of some kilobytes: whose it is, what a list shows of it, and the game as an archive holds it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from penumbra.core import GameRecord
from penumbra.rbc.player_view import ColorName, color_name
from penumbra.server.messages import Refusal
from penumbra.whole_files import write_text

FOLDER = "uploads"
MOST = 20_000  # of all people together


@dataclass(frozen=True)
class Upload:
    """A game that somebody has uploaded."""

    id: str
    owner: str  # SHA-256 of the cookie
    time: int  # seconds since 1970
    white: str
    black: str
    winner: ColorName | None
    reason: str | None
    plies: int
    record: str  # its bytes in base 64

    def listed(self) -> dict[str, Any]:
        """As a history shows it."""
        return {key: value for key, value in asdict(self).items() if key not in ("owner", "record")}


_UPLOAD = TypeAdapter(Upload)


class Uploads:
    """The uploaded games in a folder of games."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def add(self, game_id: str, owner: str, record: GameRecord) -> None:
        """`Refusal` where there is no room for it."""
        winner = None if record.winner is None else color_name(record.winner)
        names = record.white_name, record.black_name
        data = base64.b64encode(record.to_bytes()).decode()
        upload = Upload(game_id, owner, int(time.time()), *names, winner, record.reason, len(record.moves), data)
        try:
            self._folder.mkdir(0o700, parents=True, exist_ok=True)
            if sum(1 for _ in self._folder.iterdir()) >= MOST:
                raise Refusal("full", "this server keeps no more games that are uploaded", 503)
            write_text(self._path(game_id), json.dumps(asdict(upload)) + "\n")
        except OSError:
            raise Refusal("full", "this server cannot keep the game: its disk is full", 503) from None

    def get(self, game_id: str) -> Upload | None:
        """None if there is no such game that can be read."""
        with contextlib.suppress(OSError, ValueError):
            return _UPLOAD.validate_json(self._path(game_id).read_bytes())
        return None

    def record(self, game_id: str) -> GameRecord | None:
        upload = self.get(game_id)
        return None if upload is None else GameRecord.from_bytes(base64.b64decode(upload.record))

    def delete(self, game_id: str) -> None:
        self._path(game_id).unlink(missing_ok=True)

    def paths(self) -> list[Path]:
        return list(self._folder.glob("*.json"))

    def _path(self, game_id: str) -> Path:
        return self._folder / f"{game_id}.json"
