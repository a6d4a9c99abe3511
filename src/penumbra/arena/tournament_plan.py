"""A tournament, as a TOML file says:

    games = 20                # of each pairing; colours alternate
    format = "round-robin"    # everybody against everybody; "gauntlet": `hero` against everybody else
    hero = "PenumbraTree"     # of a gauntlet; left out, the first player
    seed = 1                  # a game is determined by the seed, its two players and its number
    workers = 2               # processes on this machine; left out, one for each core
    pin = true                # each process stays on cores of its own, if there are enough; left out, it does not
    seconds = 900.0           # each player's clock; left out, none: what a player may think is in its settings
    increment = 5.0           # seconds added after each turn
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
from typing import Any

from penumbra.arena.entrants import Entrant, entrant
from penumbra.arena.game_loop import Clock
from penumbra.arena.match import Job
from penumbra.arena.pool import cores
from penumbra.arena.population import known_keys, number_of, whole_number, yes_or_no
from penumbra.configs.reader import read_toml
from penumbra.players import registry

FORMATS = ("round-robin", "gauntlet")
ON_ERROR = ("lose", "replay")
_KEYS = ("games", "format", "hero", "seed", "workers", "pin", "seconds", "increment", "on_error", "player")
_PLAYER_KEYS = ("name", "kind", "settings", "path", "environment", "keep", "python")


class TournamentError(ValueError):
    """A tournament that cannot be played; one line that says where and why."""


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


def read_tournament(path: str | Path, **changes: Any) -> Tournament:
    """What a TOML file says, with `changes` instead of its own keys; `TournamentError` if something is wrong."""
    path = Path(path)
    data = read_toml(path, TournamentError)
    try:
        return _tournament({**data, **changes}, path.parent)
    except ValueError as error:
        raise TournamentError(f"{path}: {error}") from None


def _tournament(data: Mapping[str, Any], folder: Path) -> Tournament:
    known_keys(data, _KEYS)
    tables = data.get("player", [])
    if not isinstance(tables, list) or len(tables) < 2:
        raise ValueError("a tournament needs at least two players; each is a table [[player]]")
    tournament = Tournament(
        tuple(_player(table, number, folder) for number, table in enumerate(tables, 1)),
        whole_number(data, "games", 1, 2),
        _one_of(data, "format", FORMATS),
        data.get("hero", ""),
        whole_number(data, "seed", 0, 0),
        whole_number(data, "workers", 1, cores()),
        yes_or_no(data, "pin"),
        Clock(
            number_of(data, "seconds", 1.0) if "seconds" in data else None,
            number_of(data, "increment", 0.0, zero=True),
        ),
        _one_of(data, "on_error", ON_ERROR),
    )
    names = [player.name for player in tournament.players]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"two players are called {name!r}; give each a name")
    if tournament.hero and (tournament.format != "gauntlet" or tournament.hero not in names):
        raise ValueError(f"hero = {tournament.hero!r}: it is one of the players of a gauntlet")
    return tournament


def _player(table: Any, number: int, folder: Path) -> Entrant:
    if not isinstance(table, dict):
        raise ValueError("player is not a list of tables [[player]]")
    kind, path = table.get("kind"), table.get("path")
    name = table.get("name", kind or path)
    try:
        known_keys(table, _PLAYER_KEYS)
        if not isinstance(name, str) or not name:
            raise ValueError("it has no name")
        if (kind is None) == (path is None):
            raise ValueError("it has either a kind or a path")
        return _entrant(table, name, folder)
    except (ValueError, TypeError) as error:
        raise ValueError(f"player {number} ({name}): {error}") from None


def _entrant(table: Mapping[str, Any], name: str, folder: Path) -> Entrant:
    """The player, loaded once to see that it can be; files may be relative to the tournament's."""
    in_python = "python" in table
    if "kind" in table:
        key, player = "kind", _text(table, "kind")
        is_ours = (in_python and player not in registry.names()) or registry.entry(player).module is None
    else:
        key, player, is_ours = "path", _beside(folder, _text(table, "path")), False
        _check_path(player, in_python)
    own_process = in_python or not is_ours
    known_keys(
        table,
        (
            *("name", key),
            *(("settings",) if is_ours else ("keep",)),
            *(("environment",) if own_process else ()),
            *(("python",) if in_python else ()),
        ),
    )
    return entrant(
        player,
        python=_beside(folder, _text(table, "python")) if in_python else None,
        label=name,
        settings=_table(table, "settings"),
        environment=_environment(table),
        keep=yes_or_no(table, "keep"),
    )


def _check_path(player: str, in_python: bool) -> None:
    """ValueError if a path is the name of a player of ours, which might be taken for reconchess' own."""
    theirs = f"reconchess:{player}"
    has_twin = theirs in registry.names()
    if player in registry.names() and registry.entry(player).module is None and (has_twin or not in_python):
        hint = f"; reconchess' own is {theirs!r}" if has_twin else ""
        raise ValueError(f"path = {player!r}: a player of ours is given as kind = {player!r}{hint}")


def _text(table: Mapping[str, Any], key: str) -> str:
    if not isinstance(table[key], str):
        raise ValueError(f"{key} is not a text")
    return str(table[key])


def _environment(table: Mapping[str, Any]) -> dict[str, str]:
    environment = _table(table, "environment")
    if not all(isinstance(value, str) for value in environment.values()):
        raise ValueError("environment is not a table of texts")
    return environment


def _beside(folder: Path, path: str) -> str:
    """The path of a file beside the tournament's own, if there is one; else what was said."""
    beside = folder / path
    return str(beside) if beside.is_file() else path


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} is not a table")
    return value


def _one_of(table: Mapping[str, Any], key: str, words: tuple[str, ...]) -> str:
    value = table.get(key, words[0])
    if value not in words:
        raise ValueError(f"{key} = {value!r}: it is one of {', '.join(words)}")
    return str(value)
