"""A game on disk: one file of JSON lines that only grows, from which the game goes on after a restart.

The first line is the setup; then comes one line for each step, written before anybody is told of it, with what both
clocks showed; the last says how the game ended. A line that was cut short by a crash is as if it had never been.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penumbra.server.messages import Refusal
from penumbra.whole_files import append_lines

VERSION = 1


@dataclass(frozen=True)
class SideSetup:
    """Who plays one side: a person, or the player of that name in the registry."""

    name: str  # in the game's record
    player: str | None = None  # None: a person
    seconds: float | None = None
    nodes: int | None = None


@dataclass(frozen=True)
class Setup:
    """Everything about a game that is fixed before its first step."""

    id: str
    created: int  # seconds since 1970
    white: SideSetup
    black: SideSetup
    seed: int
    seconds: float | None = None  # of the clock, None: there is none
    increment: float = 0.0

    def side(self, color: bool) -> SideSetup:
        return self.white if color else self.black

    @property
    def person(self) -> bool | None:
        """The person's colour; None where two programs play."""
        return True if self.white.player is None else False if self.black.player is None else None


@dataclass
class Story:
    """What a log tells."""

    setup: Setup
    steps: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] | None = None


class GameLog:
    """The file of one game."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, setup: Setup) -> None:
        self.append({"log": VERSION, **asdict(setup)})

    def append(self, line: dict[str, Any]) -> None:
        """It is in the operating system's hands when this returns, so that it outlives the server."""
        try:
            append_lines(self.path, json.dumps(line) + "\n")
        except OSError as error:
            raise Refusal("storage", f"the game cannot be written: {error}", 503) from None

    def read(self) -> Story:
        """The whole story; a last line without an end is cut off the file. ValueError if it is no game's log."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self.path, whole)
        return self._story(data[:whole].splitlines())

    def ending(self) -> Story:
        """The setup and the result, without the steps."""
        lines = self.path.read_bytes().splitlines()
        return self._story([*lines[:1], *lines[1:][-1:]])

    def _story(self, lines: list[bytes]) -> Story:
        first, *rest = [json.loads(line) for line in lines] or [{}]
        if first.pop("log", None) != VERSION:
            raise ValueError(f"{self.path} is not the log of a game, or of another version of Penumbra")
        first |= {color: SideSetup(**first[color]) for color in ("white", "black")}
        result = rest[-1].get("over") if rest else None
        return Story(Setup(**first), rest[: -1 if result else None], result)
