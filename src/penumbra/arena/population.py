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
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from penumbra.arena.pool import cores
from penumbra.configs.reader import (
    ConfigurationError,
    Count,
    Name,
    Natural,
    NotNegative,
    Positive,
    at_least,
    read,
    read_toml,
    within,
)
from penumbra.configs.shipped import find
from penumbra.players import registry
from penumbra.players.player import Player


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


@dataclass(frozen=True)
class _File:
    """The keys of the file."""

    player: tuple[Mapping[str, Any], ...]
    games: Count | None = None
    minutes: Positive | None = None
    seed: Natural = 0
    workers: Count = field(default_factory=cores)
    pin: bool = False
    opening_plies: Natural = 0
    ply_limit: Annotated[int, at_least(2)] = 300


@dataclass(frozen=True)
class _Player:
    """The keys of a [[player]]."""

    kind: str
    name: Name | None = None
    weight: NotNegative = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_population(path_or_name: str | Path, **changes: Any) -> Population:
    """What a TOML file says, or one that comes with the program, with `changes` instead of its own keys;
    `ConfigurationError` if something is wrong."""
    path = find(path_or_name)
    table = read_toml(path)
    with within(path):
        return _population(read(_File, {**table, **changes}))


def _population(given: _File) -> Population:
    members = tuple(_member(table, number) for number, table in enumerate(given.player, 1))
    for i, member in enumerate(members):
        if member.name in [other.name for other in members[:i]]:
            raise ConfigurationError(f"two players are called {member.name!r}; give each a name")
    if sum(member.weight > 0 for member in members) < min(2, len(members)):
        raise ConfigurationError("at least two players need a weight above 0")
    if given.games is None and given.minutes is None:
        raise ConfigurationError("neither games nor minutes says when to stop")
    return Population(
        tuple(member for member in members if member.weight > 0),
        given.games,
        given.minutes,
        given.seed,
        given.workers,
        given.pin,
        given.opening_plies,
        given.ply_limit,
    )


def _member(table: Mapping[str, Any], number: int) -> Member:
    with within(f"player {number} ({table.get('name', table.get('kind'))})"):
        player = read(_Player, table)
        member = Member(player.name or player.kind, player.kind, player.settings, player.weight)
        member.make(0)
        if registry.is_penumbra(member.kind) and "nodes" not in member.settings:
            raise ConfigurationError("there are no clocks: settings need nodes, the evaluations for each step")
    return member
