"""A game on disk: one file of JSON lines that only grows, from which the game goes on after a restart.

The first line is the setup; then comes one line for each step, written before anybody is told of it, with what both
clocks showed, one where the person begins to be helped, and one, before the first step, where somebody takes a free
seat; the last says how the game ended. Each line follows from those before it: steps count up from 0, senses and moves
take turns, and nothing follows the end. What does not follow is refused, and cut off a file that holds it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import itertools
import json
import logging
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from penumbra.core import GameRecord
from penumbra.rbc.actions import code_to_uci, square_name, view, view_code
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.player_view import COLORS, ColorName
from penumbra.rbc.walk import walk
from penumbra.server.messages import Refusal

log = logging.getLogger(__name__)

VERSION = 1
_NEW, _PRIVATE = os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600  # a log shows both sides of a game
Aid = Literal["tracker", "hint"]  # what helps a person: the exact tracker, or Penumbra's advice
Left = tuple[float, float] | None  # what White's and Black's clock show; None without clocks


@dataclass(frozen=True)
class SideSetup:
    """Who plays one side: a person, or the player of that name in the registry."""

    name: str  # in the game's record
    player: str | None = None  # None: a person
    seconds: float | None = None
    nodes: int | None = None
    owner: str | None = None  # SHA-256 of the cookie of the person, in whose history the game is


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
    secret: str | None = None  # SHA-256 of what a page must show before it may play; None: the id is enough
    retried: int | None = None  # the step of another game from which this one goes on
    rematch: str | None = None  # the id that a rematch will have, between two people; None where a program plays

    def side(self, color: bool) -> SideSetup:
        return self.white if color else self.black

    @property
    def clock(self) -> dict[str, float] | None:
        """As pages are told of it."""
        return None if self.seconds is None else {"seconds": self.seconds, "increment": self.increment}

    @property
    def persons(self) -> tuple[bool, ...]:
        """The colours that people play."""
        return tuple(color for color in (True, False) if self.side(color).player is None)

    @property
    def free(self) -> bool | None:
        """Which seat of a game between two people nobody has taken yet."""
        return next((color for color in self.persons if len(self.persons) == 2 and not self.side(color).owner), None)

    def seat_of(self, owner: str | None) -> bool | None:
        """The colour that this person plays; None for anybody else."""
        mine = (color for color in self.persons if owner is not None and self.side(color).owner == owner)
        return next(mine, None)

    def seated(self, color: bool, owner: str) -> Setup:
        """The same after this person has taken a seat."""
        side = dataclasses.replace(self.side(color), owner=owner)
        return dataclasses.replace(self, white=side) if color else dataclasses.replace(self, black=side)


@dataclass(frozen=True)
class SenseLine:
    step: int
    sense: str | None  # a square of the real board
    left: Left


@dataclass(frozen=True)
class MoveLine:
    step: int
    move: str | None  # in UCI notation
    left: Left


@dataclass(frozen=True)
class AidLine:
    """From here on the person has been helped; `step` is the one that comes next."""

    step: int
    aid: Aid


@dataclass(frozen=True)
class SeatLine:
    """Somebody takes the free seat of a game between two people."""

    seat: ColorName
    owner: str


@dataclass(frozen=True)
class Result:
    """How a game ended. After a crash nobody has won; `crashed` says whose program it was."""

    winner: ColorName | None
    reason: str  # as in a record, or CRASH
    plies: int
    crashed: ColorName | None = None

    def to_json(self) -> dict[str, Any]:
        """As pages are told it."""
        about = {"winner": self.winner, "reason": self.reason}
        return about if self.crashed is None else about | {"crashed": self.crashed}


@dataclass(frozen=True)
class EndLine:
    over: Result


StepLine = SenseLine | MoveLine
Line = StepLine | AidLine | SeatLine | EndLine
_LINE: TypeAdapter[Line] = TypeAdapter(Line)
_SETUP = TypeAdapter(Setup)


def lines_of(record: GameRecord, steps: int) -> list[Line]:
    """The first so many steps of a recorded game, without clocks. `IllegalStep` where it breaks the rules."""
    lines: list[Line] = []
    for number, step in enumerate(itertools.islice(walk(record), steps)):
        match step.observation:
            case Sensed(square):
                name = None if square is None else square_name(view(square, step.color))
                lines.append(SenseLine(number, name, None))
            case Moved(requested):
                word = code_to_uci(view_code(requested, step.color)) if requested else None
                lines.append(MoveLine(number, word, None))
    return lines


@dataclass
class Story:
    """What a log tells, and where in the file it tells it."""

    setup: Setup
    lines: list[Line] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # byte after the setup, and after each line

    @property
    def steps(self) -> list[StepLine]:
        return [line for line in self.lines if isinstance(line, StepLine)]

    @property
    def aids(self) -> list[Aid]:
        """What has helped the person, each once."""
        return list(dict.fromkeys(line.aid for line in self.lines if isinstance(line, AidLine)))

    @property
    def result(self) -> Result | None:
        last = self.lines[-1] if self.lines else None
        return last.over if isinstance(last, EndLine) else None


class GameLog:
    """The file of one game, open and locked while the game is in memory.

    What cannot be written, since the disk is full, waits in memory and is written before anything else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault = ""  # why the last lines are not in the file; "" if they are
        self._file: int | None = None
        self._new = False  # whether it was made here
        self._size = 0  # of the file, in whole lines; beyond it stands at most a line cut short
        self._waiting: list[bytes] = []
        self._step = 0  # that comes next
        self._over = False

    @property
    def kept(self) -> bool:
        """Whether the whole game is in the operating system's hands, so that it outlives the server."""
        return not self._waiting

    def create(self, setup: Setup) -> None:
        self._new = True
        self._waiting.append(_text({"log": VERSION, **asdict(setup)}))
        self.flush()

    def append(self, line: Line) -> None:
        """Writes a line, or lets it wait if it cannot be written. ValueError if it does not follow."""
        if not _follows(line, self._step, self._over):
            raise ValueError(f"{self.path}: {line} does not follow step {self._step - 1}")
        self._waiting.append(_text(asdict(line)))
        self._advance(line)
        self.flush()

    def flush(self) -> bool:
        """Writes what waits, as far as that is possible; whether the file is whole."""
        try:
            while self._waiting:
                self._write(self._waiting[0])
                del self._waiting[0]
        except OSError as error:
            if not self.fault:
                log.error("%s: cannot be written: %s", self.path, error.strerror or error)
            self.fault = error.strerror or str(error)
        else:
            self.fault = ""
        return self.kept

    def open(self) -> Story:
        """Locks the file and reads it; what follows its last whole line is cut off.

        ValueError if it is no game's log, `Refusal` where another server has it open.
        """
        self._file = self._opened(os.O_RDWR)
        story = read(self.path)
        self.cut(story, len(story.lines))
        return story

    def cut(self, story: Story, lines: int) -> None:
        """Only so many lines of the story stay; if whole lines go, a copy of the file stays beside it."""
        assert self._file is not None
        self._size, self._step, self._over = story.ends[lines], 0, False
        for line in story.lines[:lines]:
            self._advance(line)
        lost = self.path.read_bytes()[self._size :]
        if b"\n" in lost:
            copy = self.path.with_suffix(".damaged")
            log.warning("%s: %d bytes at its end do not follow and are cut off; see %s", self.path, len(lost), copy)
            with contextlib.suppress(OSError), os.fdopen(os.open(copy, _NEW, _PRIVATE), "wb") as file:
                file.write(self.path.read_bytes())
        if lost:
            with contextlib.suppress(OSError):  # the next line is written over it
                os.ftruncate(self._file, self._size)

    def close(self) -> None:
        """Another may open it now."""
        if not self.flush():
            log.error("%s: the last %d lines are lost: %s", self.path, len(self._waiting), self.fault)
        if self._file is not None:
            if self._new and not self._size:  # not even the setup is in it
                self.path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def _advance(self, line: Line) -> None:
        self._over = isinstance(line, EndLine)
        self._step += isinstance(line, StepLine)

    def _write(self, data: bytes) -> None:
        """The whole line or none of it: half a line is cut off before another is written."""
        if self._file is None:
            self._file = self._opened(_NEW)
        if os.fstat(self._file).st_size != self._size:
            os.ftruncate(self._file, self._size)
        if os.pwrite(self._file, data, self._size) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(data)

    def _opened(self, how: int) -> int:
        file = os.open(self.path, how, _PRIVATE)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise Refusal("in use", "this game is open in another server", 409) from None
        except OSError as error:  # a file system without locks
            log.warning("%s: cannot be locked: %s", self.path, error.strerror or error)
        return file


def read(path: Path) -> Story:
    """The story up to the first line that is not whole or does not follow. ValueError if it is no game's log."""
    first, *rest = path.read_bytes().splitlines(keepends=True) or [b""]
    story, step = Story(_setup(path, first), ends=[len(first)]), 0
    for text in rest:
        try:
            line = _LINE.validate_json(text, strict=True)
        except ValueError:
            break
        if not (text.endswith(b"\n") and _follows(line, step, story.result is not None)):
            break
        step += isinstance(line, StepLine)
        story.lines.append(line)
        story.ends.append(story.ends[-1] + len(text))
    return story


def ending(path: Path) -> Story:
    """Who plays, what helped the person, and the result, without the steps. ValueError if it is no game's log."""
    first, *rest = path.read_bytes().splitlines() or [b""]
    story = Story(_setup(path, first + b"\n"))
    story.lines += [_LINE.validate_json(text, strict=True) for text in rest if b'"aid"' in text or b'"seat"' in text]
    for line in story.lines:
        if isinstance(line, SeatLine):
            story.setup = story.setup.seated(COLORS[line.seat], line.owner)
    if rest and isinstance(line := _LINE.validate_json(rest[-1], strict=True), EndLine):
        story.lines.append(line)
    return story


def _setup(path: Path, text: bytes) -> Setup:
    about = json.loads(text) if text.endswith(b"\n") else None
    if not isinstance(about, dict) or about.pop("log", None) != VERSION:
        raise ValueError(f"{path} is not the log of a game, or of another version of Penumbra")
    if owner := about.pop("owner", None):  # where it stood while one person alone could play
        about["black" if about["white"]["player"] else "white"]["owner"] = owner
    setup = _SETUP.validate_python(about)
    if setup.id != path.stem:
        raise ValueError(f"{path} is the log of game {setup.id}")
    return setup


def _follows(line: Line, step: int, over: bool) -> bool:
    """Whether it may be the next line, where `step` is the next step."""
    if over or isinstance(line, EndLine):
        return not over
    if isinstance(line, AidLine):
        return line.step == step
    if isinstance(line, SeatLine):
        return step == 0
    return line.step == step and isinstance(line, SenseLine if step % 2 == 0 else MoveLine)


def _text(line: dict[str, Any]) -> bytes:
    return (json.dumps(line) + "\n").encode()
