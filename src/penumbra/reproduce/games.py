"""The games that experiments look at and learn from: archives that are given, those of earlier runs, or new ones.

New ones are made by the mill, by one player of each built-in kind, under the names that the paper's programs have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penumbra.arena.generate import run
from penumbra.arena.population import Member, Population
from penumbra.core import GameRecord
from penumbra.games.archive import Archive
from penumbra.players.penumbra.configuration import headset
from penumbra.reproduce.request import Cost, ReproductionError, Request

USUAL = (Path("runs/games.db"), Path("runs/games2.db"), Path("runs/public.db"))
MADE = "games.db"
TO_MAKE = {"tiny": 60, "smoke": 300, "small": 20_000, "paper": 98_000}  # games, for all experiments of a scale
MILLED_A_SECOND = 2.4  # for each worker
PLAYERS = {  # of the games that are made here: kind by name
    "Random": "random",
    "Attacker": "attacker",
    "Trout": "trout",
    "AggressiveTree": "aggressive-tree",
    "FullMonte": "full-monte",
    "LaSalle": "la-salle",
    "StockyInference": "stocky-inference",
    "Oracle": "oracle",
    "DynamicEntropy": "dynamic-entropy",
    "StrangeFish": "strange-fish",
    "StrangeFish2": "strange-fish-2",
}


@dataclass(frozen=True)
class Games:
    """Some games, and in words where they come from."""

    records: Sequence[GameRecord]
    origin: str


def archives(request: Request) -> tuple[Path, ...]:
    """Those given, or those of earlier runs that are there; none: games must be made."""
    for path in request.archives:
        if not path.is_file():
            raise ReproductionError(f"{path}: there is no such archive; `penumbra generate` makes one")
    return request.archives or tuple(path for path in USUAL if path.is_file())


def games(request: Request, most: int) -> Games:
    """At most so many games, each once, always the same ones; made first if there are none."""
    paths = archives(request)
    if not paths:
        paths = (make_games(request),)
    records: dict[int, GameRecord] = {}
    for path in paths:
        with Archive.open(path) as archive:
            records |= {game.hash: game.record for game in archive.games()}
    if not records:
        raise ReproductionError(f"{', '.join(map(str, paths))}: no games")
    chosen = sorted(records)[:most]  # by their hashes, which is by chance
    return Games([records[key] for key in chosen], f"{len(chosen):,} games of {', '.join(path.name for path in paths)}")


def make_games(request: Request) -> Path:
    """Plays what is missing of this scale's games."""
    path, count = request.out / MADE, request.of(TO_MAKE)
    path.parent.mkdir(parents=True, exist_ok=True)
    members = tuple(Member(name, kind) for name, kind in PLAYERS.items())
    population = Population(members, games=count, seed=request.seed, workers=request.workers, opening_plies=4)
    request.say(f"no archive is given and none is in {USUAL[0].parent}/: {count:,} games are made into {path}")
    with Archive.open_or_create(path) as archive:
        progress = run(population, archive)
    if progress.stopped:
        raise KeyboardInterrupt
    return path


def looking(request: Request, games: int, seconds: float, steps: int = 0) -> Cost:
    """What it costs to look at so many games for so long, with those that have to be made first."""
    count = to_make(request)
    return Cost(seconds + count / MILLED_A_SECOND / request.workers, count, games, steps)


def to_make(request: Request) -> int:
    """How many games `games` would have to make."""
    path = request.out / MADE
    if archives(request):
        return 0
    if not path.is_file():
        return request.of(TO_MAKE)
    with Archive.open(path) as archive:
        return max(0, request.of(TO_MAKE) - len(archive))


def players_of(records: Sequence[GameRecord]) -> list[str]:
    """Everybody who plays in these games."""
    return sorted({name for record in records for name in (record.white_name, record.black_name)})


def recognised(players: Sequence[str], headsets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The players that each headset stands for; TroutBot is Trout."""
    found: dict[str, list[str]] = {}
    for player in players:
        name = headset("auto", player, tuple(headsets))
        if name is not None:
            found.setdefault(name, []).append(player)
    return {name: tuple(found[name]) for name in headsets if name in found}
