"""Generation: a population plays itself into an archive, by several processes, until there are enough games.

Game i depends on nothing but the population and i. There are no clocks: what a player may think is in its settings.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from penumbra.arena.archive_run import GameFailed, PlannedGame, Progress, play_into_archive
from penumbra.arena.game_loop import FAULTS, NO_CLOCK, CannotStart, play
from penumbra.arena.opening import with_opening
from penumbra.arena.pool import AnyPool, pool_of
from penumbra.arena.population import Pairing, Population
from penumbra.core import Game, GameRecord, set_threads
from penumbra.games.archive import Archive, NewGame
from penumbra.games.visits import pack
from penumbra.players.penumbra.player import PenumbraPlayer, searches_of

SOURCE = "generate"


@dataclass(frozen=True)
class GeneratedGame:
    """What a worker returns: a game's bytes, or what went wrong."""

    record: bytes
    seconds: float
    trouble: str = ""
    visits: bytes = b""  # of what was searched, packed


class GenerationWorker:
    """What a worker process keeps between games."""

    def __init__(self, threads: int, ply_limit: int) -> None:
        set_threads(threads)
        logging.getLogger("penumbra").addHandler(logging.NullHandler())  # what matters is in the answers
        self._full_turns = (ply_limit + 1) // 2

    def do(self, pairing: Pairing) -> GeneratedGame:
        """One game. A fault of a player is reported rather than made a loss: games are for learning from."""
        began = time.monotonic()
        players = pairing.white.make(pairing.seeds[0]), pairing.black.make(pairing.seeds[1])
        sides = with_opening(*players, pairing.opening_plies, pairing.seeds[2])
        try:
            outcome = play(*sides, NO_CLOCK, Game(None, 100, self._full_turns))
        except CannotStart as error:
            faulty = pairing.white if error.color else pairing.black
            return GeneratedGame(b"", 0.0, f"{faulty.name}: {error.reason}: {error.detail}")
        if outcome.reason in FAULTS:
            faulty = pairing.black if outcome.winner else pairing.white
            return GeneratedGame(b"", 0.0, f"{faulty.name}: {outcome.reason}: {outcome.detail}")
        ours = [player for player in players if isinstance(player, PenumbraPlayer)]
        failed = next((player for player in ours if player.faults), None)
        if failed is not None:
            return GeneratedGame(b"", 0.0, f"{failed.name}: {failed.faults[0]}")
        outcome.record.white_name, outcome.record.black_name = pairing.white.name, pairing.black.name
        visits = pack(searched for player in ours for searched in searches_of(player))
        return GeneratedGame(outcome.record.to_bytes(), time.monotonic() - began, visits=visits)

    def close(self) -> None:
        """Nothing is kept open."""


def pool_for(population: Population, ray: str | None = None) -> AnyPool[Pairing, GeneratedGame]:
    """Workers for its games: processes on this machine, or the Ray cluster at an address, one thread each."""
    worker = functools.partial(GenerationWorker, ply_limit=population.ply_limit)
    return pool_of(worker, population.workers, population.pin, ray)


def run(
    population: Population,
    archive: Archive,
    pool: AnyPool[Pairing, GeneratedGame] | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Plays what is missing; `report` hears of every game. An interrupt or a full disk ends it early, and cleanly."""
    identity, target = population.identity(), population.games
    made = archive.made(identity)
    missing = (number for number in (count() if target is None else range(target)) if number not in made)
    return play_into_archive(
        (_planned(identity, population.pairing(number)) for number in missing),
        archive,
        pool or pool_for(population),
        Progress(target, sum(target is None or number < target for number in made)),
        report,
        population.minutes,
    )


def _planned(identity: str, pairing: Pairing) -> PlannedGame[Pairing, GeneratedGame]:
    return PlannedGame(f"game {pairing.number}", pairing, functools.partial(_to_archive, identity, pairing))


def _to_archive(identity: str, pairing: Pairing, game: GeneratedGame) -> NewGame:
    if game.trouble:
        raise GameFailed(game.trouble)
    settings = {
        "white": pairing.white.plain(),
        "black": pairing.black.plain(),
        "opening_plies": pairing.opening_plies,
    }
    made = (identity, pairing.number)
    return NewGame(GameRecord.from_bytes(game.record), SOURCE, settings, made=made, visits=game.visits)
