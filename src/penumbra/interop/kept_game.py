"""A game on a server, kept on disk step by step, so that it can be gone on with after a restart.

The file has lines of JSON: first what the game is, then each thing that was observed, as soon as it is known. What the
server is asked to do is written down before it is asked. Where a program ends between the two, or the answer is lost on
its way, the file says what may have been done.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.whole_files import append_lines, read_lines

KINDS = {"turn": OpponentMoved, "sensed": Sensed, "moved": Moved}


@dataclass(frozen=True)
class Invited:
    """What a game is."""

    server: str
    username: str
    invitation: int
    game: int


@dataclass(frozen=True)
class Asked:
    """What the server was asked to do, and may have done: `{"sense": square}`, `{"move": uci}` or `{"end_turn": true}`,
    in real squares."""

    what: dict[str, Any]
    times: int


class KeptGame:
    """The file of a game. A last line that was not written whole is left out."""

    def __init__(self, path: Path, invited: Invited | None = None) -> None:
        """An existing game, or with `invited` a new one."""
        self.path = path
        self.fen: str | None = None  # the position it started from
        self.observations: list[Observation] = []
        self.asked: Asked | None = None  # no answer is known
        self.unheard: str | None = None  # a move that was made, and its result is not known
        self.over = False
        self.turn_ended = True
        if invited is not None:
            self.invited = invited
            self._write(asdict(invited))
            return
        first, *rest = (json.loads(line) for line in read_lines(path))
        self.invited = Invited(**first)
        for line in rest:
            self._take(line)

    def start(self, fen: str) -> None:
        self._add({"start": fen})

    def observe(self, observation: Observation) -> None:
        kind = next(name for name, type_ in KINDS.items() if isinstance(observation, type_))
        self._add({kind: list(observation)})

    def ask(self, what: dict[str, Any]) -> None:
        self._add({"asked": what})

    def refused(self) -> None:
        """What was asked for was not done."""
        self._add({"refused": True})

    def lose_result(self, move: str) -> None:
        """The move was made, and what came of it is not known."""
        self._add({"unheard": move})

    def end_turn(self) -> None:
        self._add({"turn_ended": True})

    def finish(self, result: str) -> None:
        self._add({"over": result})

    def _add(self, line: dict[str, Any]) -> None:
        self._write(line)
        self._take(line)

    def _write(self, line: dict[str, Any]) -> None:
        append_lines(self.path, json.dumps(line) + "\n")

    def _take(self, line: dict[str, Any]) -> None:
        ((kind, value),) = line.items()
        if kind == "asked":
            times = self.asked.times if self.asked is not None and self.asked.what == value else 0
            self.asked = Asked(value, times + 1)
            return
        self.asked = None
        match kind:
            case "start":
                self.fen = value
            case "unheard":
                self.unheard, self.turn_ended = value, False
            case "turn_ended":
                self.turn_ended = True
            case "over":
                self.over = True
            case "turn" | "sensed" | "moved":
                if kind == "moved":
                    self.turn_ended = self.turn_ended and self.unheard is not None
                    self.unheard = None
                values = [tuple(each) if isinstance(each, list) else each for each in value]
                self.observations.append(KINDS[kind](*values))
