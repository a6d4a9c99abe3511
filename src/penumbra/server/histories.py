"""Whose games are whose: a file for each person, named by the SHA-256 of an anonymous cookie, with its games.

The cookie is all that a person has, and nothing else is known of anybody. A game's own log names its owner too: an id
that stands in another person's file is not shown there.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penumbra.rbc.player_view import color_name
from penumbra.server.game_log import SideSetup, Story
from penumbra.whole_files import append_lines, read_lines, write_text

log = logging.getLogger(__name__)

FOLDER = "people"
MOST = 1_000  # games in a person's history; beyond them the oldest are no longer listed
_OWNER = re.compile(r"[0-9a-f]{64}")


class Histories:
    """The histories kept in a folder of games."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def games(self, owner: str) -> list[str]:
        """The ids of a person's games, the oldest first."""
        try:
            return read_lines(self._path(owner))[-MOST:]
        except OSError:
            return []

    def add(self, owner: str, game_id: str) -> None:
        """One more game. Where it cannot be written, the game is played and is missing from the history."""
        try:
            self._folder.mkdir(0o700, parents=True, exist_ok=True)
            append_lines(self._path(owner), f"{game_id}\n")
        except OSError as error:
            log.warning("a game is missing from its history: %s", error)

    def remove(self, owner: str, game_ids: Sequence[str]) -> None:
        """Those games are listed no more; without games nothing is kept of a person."""
        left = [game_id for game_id in self.games(owner) if game_id not in game_ids]
        with contextlib.suppress(OSError):
            if left:
                write_text(self._path(owner), "".join(f"{game_id}\n" for game_id in left))
            else:
                self._path(owner).unlink(missing_ok=True)

    def _path(self, owner: str) -> Path:
        if not _OWNER.fullmatch(owner):
            raise ValueError("an owner is a SHA-256")
        return self._folder / owner


def listed(story: Story, owner: str) -> dict[str, Any] | None:
    """A game as this person's history shows it; None if it is somebody else's.

    Nothing in it depends on what is hidden while the game is played.
    """
    setup = story.setup
    color = setup.seat_of(owner)
    if color is None:
        return None
    result = None if story.result is None else story.result.to_json() | {"plies": story.result.plies}
    return {
        "id": setup.id,
        "time": setup.created,
        "color": color_name(color),
        "opponent": _about(setup.side(not color)),
        "clock": setup.clock,
        "aids": story.aids,
        "retried": setup.retried,
        "result": result,
    }


def _about(side: SideSetup) -> dict[str, Any]:
    return {"name": side.name, "player": side.player, "seconds": side.seconds, "nodes": side.nodes}
