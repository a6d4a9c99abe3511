"""What the browser may say: the requests and messages of the protocol, each checked before anything is done with it.

Squares are names of the real board, moves are UCI words, and both colours are spelt out. docs/server.md describes what
the server answers.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.actions import SQUARE_NAMES, uci_to_code
from penumbra.rbc.player_view import ColorName


class Refusal(ValueError):
    """A request that cannot be granted: one line for the user, and a word for the page."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    def to_json(self) -> dict[str, Any]:
        return {"type": "error", "code": self.code, "message": str(self)}


MOST_SECONDS, MOST_NODES = 60, 1_000_000  # that a program may think about a step
Number = Annotated[int, Field(ge=0, lt=100_000)]  # of a step of a game


class Checked(BaseModel):
    """What a client says: every field of the right kind, and none besides."""

    model_config = ConfigDict(extra="forbid", strict=True)


def is_square(value: str | None) -> str | None:
    """A validator."""
    if value is not None and value not in SQUARE_NAMES:
        raise ValueError("is not a square; squares are a1 to h8")
    return value


# -- messages on a game's socket


class Sense(Checked):
    type: Literal["sense"]
    step: Number
    square: str | None  # None senses nothing

    _square = field_validator("square")(is_square)


class Move(Checked):
    type: Literal["move"]
    step: Number
    move: str | None  # None passes

    @field_validator("move")
    @classmethod
    def _is_move(cls, value: str | None) -> str | None:
        if value is not None and (value == "pass" or not _is_uci(value)):
            raise ValueError("is not a move; moves look like e2e4 or e7e8q, and null passes")
        return value


class Resign(Checked):
    type: Literal["resign"]


class Assist(Checked):
    """Ask for, or no longer for, what the exact tracker knows."""

    type: Literal["assist"]
    on: bool


class Hint(Checked):
    """Ask for advice about the step that comes next."""

    type: Literal["hint"]
    step: Number


class Pace(Checked):
    """How a watched game goes on: by itself with a pause after each step, or only step by step."""

    type: Literal["pace"]
    paused: bool
    seconds: Annotated[float, Field(ge=0, le=60, strict=False)] = 0.5


class Step(Checked):
    """One step of a paused game."""

    type: Literal["step"]


Message = Sense | Move | Resign | Assist | Hint | Pace | Step
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="type")])


def parse_message(text: str) -> Message:
    """The message in a text; `Refusal` says what is wrong with it."""
    try:
        return _MESSAGE.validate_json(text)
    except ValidationError as error:
        raise Refusal("malformed", first_fault(error, tags=1)) from None


# -- requests


class Strength(Checked):
    """How Penumbra thinks about each step; other players have a strength of their own."""

    seconds: Annotated[float, Field(gt=0, le=MOST_SECONDS, strict=False)] | None = None
    nodes: Annotated[int, Field(ge=1, le=MOST_NODES)] | None = None

    def of(self, base: Configuration) -> dict[str, Any]:
        """The changes to a configuration; left out, the configuration's own."""
        if self.seconds is None and self.nodes is None:
            return {"seconds": base.seconds, "nodes": base.nodes}
        return {"seconds": self.seconds, "nodes": self.nodes}


class Side(Checked):
    """A player that is a program."""

    player: Annotated[str, Field(min_length=1, max_length=64)]
    strength: Strength = Strength()


class Clock(Checked):
    """Seconds for each player's whole game, and seconds added after each of its turns."""

    seconds: Annotated[float, Field(gt=0, le=86_400, strict=False)]
    increment: Annotated[float, Field(ge=0, le=600, strict=False)] = 0.0


class NewPlay(Checked):
    """A person against a program."""

    mode: Literal["play"]
    opponent: Side
    color: Literal["white", "black", "random"] = "random"
    clock: Clock | None = None


class NewFriend(Checked):
    """Two persons: whoever asks, and whoever is given the game's address."""

    mode: Literal["friend"]
    color: Literal["white", "black", "random"] = "random"
    clock: Clock | None = None


class NewWatch(Checked):
    """Two programs."""

    mode: Literal["watch"]
    white: Side
    black: Side
    clock: Clock | None = None
    paused: bool = False
    seconds: Annotated[float, Field(ge=0, le=60, strict=False)] = 0.5


LessonAction = Annotated[Sense | Move, Field(discriminator="type")]  # as in a game


class LessonWish(Checked):
    """What has been done in a task of a lesson so far."""

    task: Annotated[int, Field(ge=0, lt=100)]
    actions: Annotated[list[LessonAction], Field(max_length=20)]


class AboutGame(Checked):
    """A wish about a game: as reconchess writes it, or the id of one that is kept here."""

    game: dict[str, Any] | Annotated[str, Field(max_length=64)]

    @property
    def kept(self) -> str | None:
        """The id of a game that is kept here."""
        return self.game if isinstance(self.game, str) else None

    def file(self) -> bytes:
        """The game as a file; `Refusal` where it holds what no file can."""
        try:
            return json.dumps(self.game).encode()
        except (ValueError, RecursionError):
            raise Refusal("bad game", "the game holds what no game can hold") from None


class Retry(AboutGame):
    """A person goes on from a step of a game, in the place of whoever acted then."""

    step: Number
    opponent: Side


class Analyse(AboutGame):
    """What Penumbra makes of a turn, or of every turn, of a game."""

    turn: Annotated[int, Field(ge=1, le=10_000)] | None = None
    player: ColorName | None = None
    preset: Annotated[str, Field(max_length=64)] = "penumbra"
    strength: Strength = Strength()


NewGame = NewPlay | NewFriend | NewWatch
_NEW_GAME: TypeAdapter[NewGame] = TypeAdapter(Annotated[NewGame, Field(discriminator="mode")])
_ANALYSE = TypeAdapter(Analyse)
_RETRY = TypeAdapter(Retry)
_LESSON = TypeAdapter(LessonWish)


def parse_new_game(body: bytes) -> NewGame:
    try:
        return _NEW_GAME.validate_json(body)
    except ValidationError as error:
        raise Refusal("malformed", first_fault(error, tags=1)) from None


def parse_analyse(body: bytes) -> Analyse:
    try:
        return _ANALYSE.validate_json(body)
    except ValidationError as error:
        raise Refusal("malformed", first_fault(error, tags=0)) from None


def parse_retry(body: bytes) -> Retry:
    try:
        return _RETRY.validate_json(body)
    except ValidationError as error:
        raise Refusal("malformed", first_fault(error, tags=0)) from None


def parse_lesson(body: bytes) -> LessonWish:
    try:
        return _LESSON.validate_json(body)
    except ValidationError as error:
        raise Refusal("malformed", first_fault(error, tags=0)) from None


def first_fault(error: ValidationError, tags: int) -> str:
    """The first thing that is wrong, on one line, without the value itself; the first `tags` words only name a kind."""
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"][tags:])
    what = fault["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


def _is_uci(word: str) -> bool:
    try:
        return uci_to_code(word) != 0
    except ValueError:
        return False
