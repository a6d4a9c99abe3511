"""Queries of the analysis protocol: one line of JSON each, checked whole before anything is done (docs/protocol.md).

A query says in one of three ways what is known: a game as reconchess writes it, the observations of a game that may be
going on, or positions that are possible. `analysis_protocol.schema.json` says the same for other languages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from penumbra.configs.reader import ConfigurationError, Count, Natural, Positive, read, within
from penumbra.core import START_FEN
from penumbra.players.penumbra.configuration import Configuration, from_table, to_table
from penumbra.players.penumbra.configuration import Preset as PresetName
from penumbra.rbc.actions import parse_square, sense_window, uci_to_code, view, view_code
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed

Id = str | int
CONTENTS = ".PNBRQKpnbrqk"


class QueryError(ValueError):
    """A line that is no query; `id` is that of the query where it has one."""

    def __init__(self, reason: str, id: Id | None = None) -> None:
        super().__init__(reason)
        self.id = id


@dataclass(frozen=True)
class Cancel:
    """Ends another query."""

    id: Id
    cancel: Id


@dataclass(frozen=True)
class Version:
    """Asks who answers."""

    id: Id
    action: Literal["version"]


@dataclass(frozen=True)
class Query:
    """Asks for decisions."""

    id: Id
    player: Literal["white", "black"]
    game: Mapping[str, Any] | None = None
    observations: tuple[Mapping[str, Any], ...] = ()
    start: str | None = None  # with observations: the position that both players know
    fens: tuple[str, ...] | None = None
    to_move: bool = False  # with positions: the sense of this turn is over
    opponent: str | None = None
    turns: Count | tuple[Count, ...] | None = None  # one, or the first and the last
    nodes: Count | None = None
    seconds: Positive | None = None
    seed: Natural | None = None
    preset: PresetName | None = None
    cap: Count | None = None
    settings: Mapping[str, Any] | None = None
    details: bool = False

    @property
    def color(self) -> bool:
        return self.player == "white"

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last turn."""
        if self.turns is None:
            return None
        return (self.turns, self.turns) if isinstance(self.turns, int) else (self.turns[0], self.turns[-1])

    def configuration(self, base: Configuration) -> Configuration:
        """How Penumbra is to think: as `base` says, but for what the query says."""
        if self.nodes is not None or self.seconds is not None:
            base = replace(base, nodes=None, seconds=None)
        names = ("nodes", "seconds", "seed", "preset", "cap", "settings")
        return from_table(to_table(base) | {name: v for name in names if (v := getattr(self, name)) is not None})

    def observed(self) -> list[Observation]:
        """The observations in the player's own view."""
        observed = []
        for number, event in enumerate(self.observations, 1):
            with within(f"observation {number}"):
                observed.append(observation_of(event, self.color))
        return observed

    def check(self) -> None:
        """What the types do not say; `ConfigurationError` where something is wrong."""
        given = [name for name in ("game", "fens", "observations") if getattr(self, name)]
        if len(given) > 1:
            raise ConfigurationError(f"{' and '.join(given)} exclude each other")
        for name, needs in (("start", "observations"), ("to_move", "fens")):
            if getattr(self, name) and given and given != [needs]:
                raise ConfigurationError(f"{name} goes with {needs} alone")
        if self.game and self.opponent is not None:
            raise ConfigurationError("opponent: a game names its players itself")
        if self.fens and self.turns:
            raise ConfigurationError("turns: positions have no history, and so no turns")
        span = self.span
        if span is not None and (span[0] > span[1] or (isinstance(self.turns, tuple) and len(self.turns) > 2)):
            raise ConfigurationError("turns: it is one turn, or a list of the first and the last")
        self.observed()
        self.configuration(Configuration())


def parse(line: bytes | str) -> Query | Cancel | Version:
    """What a line asks for; `QueryError` with the reason if it is no query."""
    try:
        data = json.loads(line)
    except RecursionError:
        raise QueryError("nested too deeply") from None
    except ValueError as error:  # no UTF-8, no JSON, or a number of thousands of digits
        raise QueryError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise QueryError("not an object")
    id = data.get("id")
    known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    kind: Any = Cancel if "cancel" in data else Version if "action" in data else Query
    if data.get("observations") == []:
        del data["observations"]  # the game has just begun
    try:
        query: Query | Cancel | Version = read(kind, data)
        if isinstance(query, Query):
            query.check()
    except ValueError as error:
        raise QueryError(" ".join(str(error).splitlines()), known) from None
    return query


# -- observations


@dataclass(frozen=True)
class _Turn:
    type: Literal["turn"]
    capture: str | None = None


@dataclass(frozen=True)
class _Sensed:
    type: Literal["sensed"]
    square: str | None
    seen: Mapping[str, str | None]


@dataclass(frozen=True)
class _Moved:
    type: Literal["moved"]
    requested: str | None
    taken: str | None
    capture: str | None = None
    ended: bool = False


_EVENTS: Mapping[Any, Any] = {"turn": _Turn, "sensed": _Sensed, "moved": _Moved}


def observation_of(event: Mapping[str, Any], color: bool) -> Observation:
    """An event in real squares, as the page's protocol and `rbc.player_view` have them, as what `color` observed."""
    kind = _EVENTS.get(event.get("type"))
    if kind is None:
        raise ConfigurationError(f"type = {event.get('type')!r}: it is one of {', '.join(_EVENTS)}")
    match read(kind, event):
        case _Turn(_, capture):
            return OpponentMoved(_square(capture, color))
        case _Sensed(_, name, seen):
            return _sensed(_square(name, color), seen, color)
        case _Moved(_, requested, taken, capture, ended):
            return Moved(_code(requested, color), _code(taken, color), _square(capture, color), ended)
    raise AssertionError(kind)


def _sensed(square: int | None, seen: Mapping[str, str | None], color: bool) -> Sensed:
    """Squares that are not named showed nothing."""
    shown = {_square(name, color): piece for name, piece in seen.items()}
    window = () if square is None else sense_window(square, color)
    for name in seen:
        if _square(name, color) not in window:
            raise ConfigurationError(f"seen: {name} is not among the squares that this sense shows")
    return Sensed(square, tuple(_content(shown.get(s), color) for s in window))


def _content(piece: str | None, color: bool) -> int:
    if piece is None:
        return 0
    if len(piece) != 1 or piece not in CONTENTS[1:]:
        raise ConfigurationError(
            f"seen: {piece!r} is no piece; pieces are P N B R Q K of White and p n b r q k of Black"
        )
    return CONTENTS.index(piece if color else piece.swapcase())


def _square(name: str | None, color: bool) -> int | None:
    return None if name is None else view(parse_square(name), color)


def _code(word: str | None, color: bool) -> int:
    return 0 if word is None else view_code(uci_to_code(word), color)


def start_of(query: Query) -> str:
    """The position from which its observations go on."""
    return query.start or START_FEN
