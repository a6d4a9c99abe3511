"""A tournament, as a TOML file says:

    games = 20                # of each pairing; colours alternate
    format = "round-robin"    # everybody against everybody; "gauntlet": `hero` against everybody else
    hero = "PenumbraTree"     # of a gauntlet; left out, the first player
    seed = 1                  # a game is determined by the seed, its two players and its number
    workers = 2               # processes on this machine; left out, one for each core
    pin = true                # each process stays on cores of its own, if there are enough; left out, it does not
    seconds = 900.0           # each player's clock; left out, none: what a player may think is in its settings
    increment = 5.0           # seconds added after each turn
    opening_plies = 4         # moves at random that a game begins with, the same for every two games of a pairing
    on_error = "lose"         # a player that crashes, hangs or cheats loses; "replay": that game is played again

    [[player]]
    name = "PenumbraTree"
    kind = "penumbra:tree"    # a name that `penumbra players` lists
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from penumbra.arena.entrants import Entrant, entrant
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

MOST_GAMES = 1_000_000  # of a tournament: its plan is held in memory


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
    pin: bool = False
    clock: Clock = field(default_factory=lambda: Clock(None))
    on_error: str = "lose"
    opening_plies: int = 0

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
            **({"opening_plies": self.opening_plies} if self.opening_plies else {}),
        }
        return Pairing(first, second, json.dumps(run, sort_keys=True))

    def _fixture(self, pairing: Pairing, number: int) -> Fixture:
        rng = random.Random(f"{self.seed}:{pairing.first.name}:{pairing.second.name}:{number}")
        seed, opening = rng.getrandbits(30), (self.opening_plies, self.seed + number // 2)
        return Fixture(pairing, Job(number, number % 2 == 0, pairing.first, pairing.second, self.clock, seed, opening))


@dataclass(frozen=True)
class _File:
    """The keys of the file."""

    player: tuple[Mapping[str, Any], ...]
    games: Count = 2
    format: Literal["round-robin", "gauntlet"] = "round-robin"
    hero: str = ""
    seed: Natural = 0
    workers: Count = field(default_factory=cores)
    pin: bool = False
    seconds: Positive | None = None
    increment: NotNegative = 0.0
    on_error: Literal["lose", "replay"] = "lose"
    opening_plies: Natural = 0


@dataclass(frozen=True)
class _Player:
    """The keys of a [[player]]."""

    name: Name | None = None
    kind: Name | None = None
    path: Name | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False
    python: Name | None = None


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
    tournament = Tournament(
        players,
        given.games,
        given.format,
        given.hero,
        given.seed,
        given.workers,
        given.pin,
        Clock(given.seconds, given.increment),
        given.on_error,
        given.opening_plies,
    )
    if (asked := given.games * len(tournament.pairings())) > MOST_GAMES:
        raise ConfigurationError(f"games = {given.games}: that makes {asked:,}, and {MOST_GAMES:,} are the most")
    return tournament


def _player(table: Mapping[str, Any], number: int, folder: Path) -> Entrant:
    with within(f"player {number} ({table.get('name', table.get('kind', table.get('path')))})"):
        given = read(_Player, table)
        if (given.kind is None) == (given.path is None):
            raise ConfigurationError("it has either a kind or a path")
        return _entrant(given, table, folder)


def _entrant(given: _Player, table: Mapping[str, Any], folder: Path) -> Entrant:
    """The player, loaded once to see that it can be; files may be relative to the tournament's."""
    if given.kind is not None:
        key, player = "kind", given.kind
        is_ours = (given.python is not None and player not in registry.names()) or registry.entry(player).module is None
    else:
        key, player, is_ours = "path", _beside(folder, str(given.path)), False
        _check_path(player, given.python is not None)
    keys = ["name", key, "settings" if is_ours else "keep"]
    if given.python is not None or not is_ours:
        keys += ["environment", "python"]
    for unknown in table.keys() - set(keys):
        raise ConfigurationError(f"there is no {unknown!r}; there are {', '.join(keys)}")
    return entrant(
        player,
        python=None if given.python is None else _beside(folder, given.python),
        label=given.name or player,
        settings=given.settings,
        environment=given.environment,
        keep=given.keep,
    )


def _check_path(player: str, in_python: bool) -> None:
    """ConfigurationError if a path is the name of a player of ours, which might be taken for reconchess' own."""
    theirs = f"reconchess:{player}"
    has_twin = theirs in registry.names()
    if player in registry.names() and registry.entry(player).module is None and (has_twin or not in_python):
        hint = f"; reconchess' own is {theirs!r}" if has_twin else ""
        raise ConfigurationError(f"path = {player!r}: a player of ours is given as kind = {player!r}{hint}")


def _beside(folder: Path, path: str) -> str:
    """The path of a file beside the tournament's own, if there is one; else what was said."""
    beside = folder / path
    return str(beside) if beside.is_file() else path
