"""A population that plays itself, as a TOML file says:

    games = 20000          # how many there shall be; left out, as many as `minutes` allow
    minutes = 60           # how long a run lasts at most; left out, until the games are done
    seed = 1               # game i is determined by the seed, i and the players below
    workers = 2            # processes; left out, one for each core
    pin = true             # each process stays on cores of its own, if there are enough; left out, it does not
    opening_plies = 4      # each game begins with none to so many moves at random
    ply_limit = 300        # where a game is a draw

    [[player]]
    name = "Trout"         # in the games' records; left out, the kind
    kind = "trout"         # a name that `penumbra players` lists
    weight = 1.0           # how often it plays, beside the others
    settings = { nodes = 500 }  # of the kind; Penumbra's (penumbra.players.penumbra.configuration) need nodes

Everything is checked before the first game.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penumbra.arena.pool import cores
from penumbra.configs.reader import read_toml
from penumbra.players import registry
from penumbra.players.player import Player


class PopulationError(ValueError):
    """A population that cannot play; one line that says where and why."""


@dataclass(frozen=True)
class Member:
    """One of the players."""

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0

    def make(self, seed: int) -> Player:
        """The player, new; ValueError if there is no such kind or setting."""
        return registry.make_with_settings(self.kind, seed, self.settings)

    def plain(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "settings": dict(self.settings)}


@dataclass(frozen=True)
class Pairing:
    """One game to be played. Seeds are White's, Black's and that of the opening."""

    number: int
    white: Member
    black: Member
    opening_plies: int
    seeds: tuple[int, int, int]


@dataclass(frozen=True)
class Population:
    """Who plays, how much and how."""

    members: tuple[Member, ...]
    games: int | None = None
    minutes: float | None = None
    seed: int = 0
    workers: int = 1
    pin: bool = False
    opening_plies: int = 0
    ply_limit: int = 300

    def pairing(self, number: int) -> Pairing:
        """Game `number`: two different players, drawn by their weights."""
        rng = random.Random(f"{self.seed}:{number}")
        white = rng.choices(self.members, [member.weight for member in self.members])[0]
        others = [member for member in self.members if member is not white] or [white]
        black = rng.choices(others, [member.weight for member in others])[0]
        if rng.random() < 0.5:
            white, black = black, white
        seeds = (rng.getrandbits(31), rng.getrandbits(31), rng.getrandbits(31))
        return Pairing(number, white, black, rng.randint(0, self.opening_plies), seeds)

    def identity(self) -> str:
        """Everything that determines the games, as JSON: a run with the same goes on where the last one stopped."""
        return json.dumps(
            {
                "seed": self.seed,
                "opening_plies": self.opening_plies,
                "ply_limit": self.ply_limit,
                "players": [{**member.plain(), "weight": member.weight} for member in self.members],
            },
            sort_keys=True,
        )


def read_population(path: str | Path, **changes: Any) -> Population:
    """What a TOML file says, with `changes` instead of its own keys; `PopulationError` if something is wrong."""
    path = Path(path)
    data = read_toml(path, PopulationError)
    try:
        return _population({**data, **changes})
    except ValueError as error:
        raise PopulationError(f"{path}: {error}") from None


def _population(data: dict[str, Any]) -> Population:
    known_keys(data, ("games", "minutes", "seed", "workers", "pin", "opening_plies", "ply_limit", "player"))
    players = data.get("player", [])
    if not isinstance(players, list) or not players:
        raise ValueError("there are no players; each is a table [[player]]")
    members = tuple(_member(table, number) for number, table in enumerate(players, 1))
    for i, member in enumerate(members):
        if member.name in [other.name for other in members[:i]]:
            raise ValueError(f"two players are called {member.name!r}; give each a name")
    if sum(member.weight > 0 for member in members) < min(2, len(members)):
        raise ValueError("at least two players need a weight above 0")
    games = whole_number(data, "games", 1) if "games" in data else None
    minutes = number_of(data, "minutes", 1.0) if "minutes" in data else None
    if games is None and minutes is None:
        raise ValueError("neither games nor minutes says when to stop")
    return Population(
        tuple(member for member in members if member.weight > 0),
        games,
        minutes,
        whole_number(data, "seed", 0, 0),
        whole_number(data, "workers", 1, cores()),
        yes_or_no(data, "pin"),
        whole_number(data, "opening_plies", 0, 0),
        whole_number(data, "ply_limit", 2, 300),
    )


def _member(table: Any, number: int) -> Member:
    if not isinstance(table, dict):
        raise ValueError("player is not a list of tables [[player]]")
    kind = table.get("kind")
    if not isinstance(kind, str):
        raise ValueError(f"player {number} has no kind")
    name = table.get("name", kind)
    where = f"player {number} ({name})"
    settings = table.get("settings", {})
    try:
        known_keys(table, ("name", "kind", "weight", "settings"))
        if not isinstance(name, str) or not name:
            raise ValueError("name is not a text")
        if not isinstance(settings, dict):
            raise ValueError("settings is not a table")
        member = Member(name, kind, settings, number_of(table, "weight", 1.0, zero=True))
        member.make(0)
        if registry.is_penumbra(kind) and "nodes" not in settings:
            raise ValueError("there are no clocks: settings need nodes, the evaluations for each step")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None
    return member


def known_keys(table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """ValueError if a table has others."""
    for key in table:
        if key not in keys:
            raise ValueError(f"there is no {key!r}; there are {', '.join(keys)}")


def whole_number(table: Mapping[str, Any], key: str, least: int, otherwise: int = 0) -> int:
    """A key's value; ValueError if it is not a whole number from `least`."""
    value = table.get(key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{key} = {value!r}: it must be a whole number from {least}")
    return value


def number_of(table: Mapping[str, Any], key: str, otherwise: float, zero: bool = False) -> float:
    """A key's value; ValueError if it is not a number above 0, or 0 where that may be."""
    value = table.get(key, otherwise)
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{key} = {value!r}: it must be a number {'from' if zero else 'above'} 0")
    return float(value)


def yes_or_no(table: Mapping[str, Any], key: str) -> bool:
    """A key's value, false if it is left out; ValueError if it is neither true nor false."""
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key} is not true or false")
    return value
