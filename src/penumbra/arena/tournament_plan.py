"""A tournament, as a TOML file says:

    games = 20                # of each pairing; colours alternate
    format = "round-robin"    # everybody against everybody; "gauntlet": `hero` against everybody else
    hero = "PenumbraTree"     # of a gauntlet; left out, the first player
    seed = 1                  # a game is determined by the seed, its two players and its number
    workers = 2               # processes on this machine; left out, one for each core
    seconds = 900.0           # each player's clock; left out, none: what a player may think is in its settings
    increment = 5.0           # seconds added after each turn
    on_error = "lose"         # a player that crashes, hangs or cheats loses; "replay": that game is played again

    [[player]]
    name = "PenumbraTree"
    kind = "penumbra:tree"    # Penumbra, or one of penumbra.players.opponents.kinds
    settings = { nodes = 500, settings = { c = 2.0 } }

    [[player]]
    name = "TroutBot"
    path = "reconchess.bots.trout_bot"  # a reconchess player, by module or by file
    environment = { STOCKFISH_EXECUTABLE = "/usr/games/stockfish" }
    keep = true               # one process for many games; left out, one for each

    [[player]]
    name = "LastYear"
    kind = "penumbra"         # or path, as above
    python = "/opt/old/bin/python"  # another Python, whose installation of Penumbra plays; environment may be given too

Everything is checked before the first game. A pairing stands for itself: players may come and go in the file, and the
games of those who stay are not played again.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from penumbra.arena.entrants import Entrant, loaded, loaded_in_python
from penumbra.arena.game_loop import Clock
from penumbra.arena.match import Job
from penumbra.arena.pool import cores
from penumbra.configs.reader import (
    ConfigurationError,
    Count,
    Name,
    Natural,
    NotNegative,
    Positive,
    read,
    read_toml,
    within,
)
from penumbra.configs.shipped import find
from penumbra.players import registry


@dataclass(frozen=True)
class Pairing:
    """Two players who meet. `run` is what determines their games, as JSON."""

    first: Entrant
    second: Entrant
    run: str


@dataclass(frozen=True)
class Fixture:
    """One game to be played: the pairing's number `job.number`, in which A is the first player."""

    pairing: Pairing
    job: Job


@dataclass(frozen=True)
class Tournament:
    """Who plays whom, how often and how."""

    players: tuple[Entrant, ...]
    games: int
    format: str = "round-robin"
    hero: str = ""
    seed: int = 0
    workers: int = 1
    clock: Clock = field(default_factory=lambda: Clock(None))
    on_error: str = "lose"

    def pairings(self) -> list[Pairing]:
        """Everybody who meets, in the order of the file."""
        pairs = itertools.combinations(self.players, 2)
        if self.format == "gauntlet":
            hero = self.hero or self.players[0].name
            return [self._pairing(a, b) for a, b in pairs if hero in (a.name, b.name)]
        return [self._pairing(a, b) for a, b in pairs]

    def fixtures(self) -> list[Fixture]:
        """All games, round by round, so that everybody has played about as much at any time."""
        pairings = self.pairings()
        return [self._fixture(pairing, number) for number in range(self.games) for pairing in pairings]

    def _pairing(self, first: Entrant, second: Entrant) -> Pairing:
        run = {
            "tournament": self.seed,
            "clock": [self.clock.seconds, self.clock.increment],
            "players": [first.plain(), second.plain()],
        }
        return Pairing(first, second, json.dumps(run, sort_keys=True))

    def _fixture(self, pairing: Pairing, number: int) -> Fixture:
        rng = random.Random(f"{self.seed}:{pairing.first.name}:{pairing.second.name}:{number}")
        seed = rng.getrandbits(30)
        return Fixture(pairing, Job(number, number % 2 == 0, pairing.first, pairing.second, self.clock, seed))


@dataclass(frozen=True)
class _File:
    """The keys of the file."""

    player: tuple[Mapping[str, Any], ...]
    games: Count = 2
    format: Literal["round-robin", "gauntlet"] = "round-robin"
    hero: str = ""
    seed: Natural = 0
    workers: Count = field(default_factory=cores)
    seconds: Positive | None = None
    increment: NotNegative = 0.0
    on_error: Literal["lose", "replay"] = "lose"


@dataclass(frozen=True)
class _BuiltIn:
    """The keys of a [[player]] with a kind."""

    kind: str
    name: Name | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Reconchess:
    """The keys of a [[player]] with a path."""

    path: str
    name: Name | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False


@dataclass(frozen=True)
class _BuiltInElsewhere(_BuiltIn):
    """The same with a Python of its own."""

    environment: Mapping[str, str] = field(default_factory=dict)
    python: str = ""


@dataclass(frozen=True)
class _ReconchessElsewhere(_Reconchess):
    """The same with a Python of its own."""

    python: str = ""


def read_tournament(path_or_name: str | Path, **changes: Any) -> Tournament:
    """What a TOML file says, or one that comes with the program, with `changes` instead of its own keys;
    `ConfigurationError` if something is wrong."""
    path = find(path_or_name)
    table = read_toml(path)
    with within(path):
        return _tournament(read(_File, {**table, **changes}), path.parent)


def _tournament(given: _File, folder: Path) -> Tournament:
    if len(given.player) < 2:
        raise ConfigurationError("a tournament needs at least two players; each is a table [[player]]")
    players = tuple(_player(table, number, folder) for number, table in enumerate(given.player, 1))
    names = [player.name for player in players]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ConfigurationError(f"two players are called {name!r}; give each a name")
    if given.hero and (given.format != "gauntlet" or given.hero not in names):
        raise ConfigurationError(f"hero = {given.hero!r}: it is one of the players of a gauntlet")
    return Tournament(
        players,
        given.games,
        given.format,
        given.hero,
        given.seed,
        given.workers,
        Clock(given.seconds, given.increment),
        given.on_error,
    )


def _player(table: Mapping[str, Any], number: int, folder: Path) -> Entrant:
    with within(f"player {number} ({table.get('name', table.get('kind', table.get('path')))})"):
        if ("kind" in table) == ("path" in table):
            raise ConfigurationError("it has either a kind or a path")
        if "kind" in table:
            return _built_in(table, folder)
        return _reconchess(table, folder)


def _built_in(table: Mapping[str, Any], folder: Path) -> Entrant:
    """Made once to see that it can be; in another Python, whose path may be relative to the tournament's, loaded."""
    if "python" in table:
        there = read(_BuiltInElsewhere, table)
        python = _beside(folder, there.python)
        name = there.name or there.kind
        return loaded_in_python(there.kind, python, there.settings, there.environment, name, is_kind=True)
    here = read(_BuiltIn, table)
    registry.make_with_settings(here.kind, 0, here.settings)
    return Entrant(here.name or here.kind, kind=here.kind, settings=here.settings)


def _reconchess(table: Mapping[str, Any], folder: Path) -> Entrant:
    """Loaded once to see that it can be; a file's path may be relative to the tournament's."""
    given = read(_ReconchessElsewhere if "python" in table else _Reconchess, table)
    path, name = _beside(folder, given.path), given.name or given.path
    if isinstance(given, _ReconchessElsewhere):
        who = loaded_in_python(path, _beside(folder, given.python), {}, given.environment, name)
        return replace(who, keep=who.keep or given.keep)
    return replace(loaded(path, given.environment), name=name, keep=given.keep)


def _beside(folder: Path, path: str) -> str:
    """The path of a file beside the tournament's own, if there is one; else what was said."""
    beside = folder / path
    return str(beside) if beside.is_file() else path
