"""The mill: a population plays itself into an archive, by several processes, until there are enough games.

Game i depends on nothing but the population and i. Workers play, one process writes: each game goes into the archive as
it comes, together with its number, so that a run which ends at any moment, by whatever, loses the games in flight alone
and the next one plays just the numbers that are missing. There are no clocks: what a player may think is in its
settings.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, cast

from penumbra.arena.game_loop import FAULTS, Clock, play
from penumbra.arena.pool import Pool, cores, ended_by_signal
from penumbra.arena.population import Pairing, Population
from penumbra.core import Game, GameRecord, set_threads
from penumbra.games.archive import Archive, ArchiveFull, NewGame
from penumbra.games.visits import pack
from penumbra.players.penumbra.player import PenumbraPlayer, searches_of
from penumbra.players.player import Player
from penumbra.rbc.actions import PASS

SOURCE = "generate"
STRETCH = 10_000  # games handed to the workers at once
PATIENCE = 20  # games in a row that may fail before the run is given up


class WithOpening:
    """A player whose first moves are made at random; it is told of them as of its own."""

    def __init__(self, player: Player, turns: int, rng: random.Random) -> None:
        self._player = player
        self._turns = turns
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self._player, name)

    def choose_move(self, actions: Sequence[int]) -> int:
        if self._turns == 0:
            return self._player.choose_move(actions)
        self._turns -= 1
        return self._rng.choice([action for action in actions if action != PASS] or list(actions))


@dataclass(frozen=True)
class Milled:
    """What a worker returns: a game's bytes, or what went wrong."""

    record: bytes
    seconds: float
    trouble: str = ""
    visits: bytes = b""  # of what was searched, packed


class MillRoom:
    """What a worker keeps between games."""

    def __init__(self, threads: int, ply_limit: int) -> None:
        set_threads(threads)
        self._full_turns = (ply_limit + 1) // 2

    def do(self, pairing: Pairing) -> Milled:
        """One game. A fault of a player is reported rather than made a loss: games are for learning from."""
        began = time.monotonic()
        rng = random.Random(pairing.seeds[2])
        sides, ours = [], []
        for side, member in enumerate((pairing.white, pairing.black)):
            player = member.make(pairing.seeds[side])
            if isinstance(player, PenumbraPlayer):
                ours.append(player)
            turns = (pairing.opening_plies + 1 - side) // 2
            sides.append(cast(Player, WithOpening(player, turns, rng)) if turns else player)
        game = Game(None, 100, self._full_turns)
        outcome = play(sides[0], sides[1], Clock(None, 0.0), game)
        if outcome.reason in FAULTS:
            faulty = pairing.black if outcome.winner else pairing.white
            return Milled(b"", 0.0, f"{faulty.name}: {outcome.reason}: {outcome.detail}")
        outcome.record.white_name, outcome.record.black_name = pairing.white.name, pairing.black.name
        visits = pack(searched for player in ours for searched in searches_of(player))
        return Milled(outcome.record.to_bytes(), time.monotonic() - began, visits=visits)

    def close(self) -> None:
        """Nothing is kept open."""


@dataclass
class Progress:
    """A run so far."""

    target: int | None  # numbers to be done in all; None: as many as time allows
    done: int  # numbers done, those of earlier runs too
    played: int = 0  # by this run
    new: int = 0  # of these, those that the archive did not know
    failures: list[str] = field(default_factory=list)
    minutes: float = 0.0
    stopped: str = ""  # why the run ended before its target: an interrupt, the disk
    seconds: dict[str, tuple[int, float]] = field(default_factory=dict)  # games and their seconds, by player

    @property
    def per_minute(self) -> float:
        return self.played / self.minutes if self.minutes else 0.0

    def line(self) -> str:
        """`1,200 of 20,000 games, 310 a minute`."""
        of = "" if self.target is None else f" of {self.target:,}"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{self.done:,}{of} games, {self.per_minute:,.0f} a minute{failed}"


def run(
    population: Population,
    archive: Archive,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Plays what is missing; `report` hears of every game. An interrupt or a full disk ends it early, and cleanly."""
    identity = population.identity()
    made = archive.made(identity)
    target = population.games
    progress = Progress(target, sum(target is None or number < target for number in made))
    missing = (number for number in (count() if target is None else range(target)) if number not in made)
    threads = max(1, cores() // population.workers)
    pool: Pool[Pairing, Milled] = Pool(functools.partial(MillRoom, threads, population.ply_limit), population.workers)
    began = time.monotonic()
    try:
        with ended_by_signal():
            for pairing, milled in _play(pool, population, missing):
                progress.minutes = (time.monotonic() - began) / 60
                if milled.trouble:
                    _note_failure(progress, f"game {pairing.number}: {milled.trouble}")
                else:
                    _keep(archive, identity, pairing, milled, progress)
                report(progress)
                if population.minutes is not None and progress.minutes >= population.minutes:
                    break
    except KeyboardInterrupt:
        progress.stopped = "interrupted"
    except ArchiveFull as error:
        progress.stopped = str(error)
    finally:
        pool.close()
    return progress


def _play(
    pool: Pool[Pairing, Milled], population: Population, missing: Iterator[int]
) -> Iterator[tuple[Pairing, Milled]]:
    """Games as they end."""
    while stretch := [population.pairing(number) for number in islice(missing, STRETCH)]:
        for index, milled, trouble in pool.run(stretch):
            yield stretch[index], milled or Milled(b"", 0.0, trouble)
        pool.close()


def _keep(archive: Archive, identity: str, pairing: Pairing, milled: Milled, progress: Progress) -> None:
    settings = {
        "white": pairing.white.plain(),
        "black": pairing.black.plain(),
        "opening_plies": pairing.opening_plies,
    }
    made = (identity, pairing.number)
    game = NewGame(GameRecord.from_bytes(milled.record), SOURCE, settings, made=made, visits=milled.visits)
    progress.new += archive.add([game])
    progress.played += 1
    progress.done += 1
    for member in (pairing.white, pairing.black):
        games, seconds = progress.seconds.get(member.name, (0, 0.0))
        progress.seconds[member.name] = games + 1, seconds + milled.seconds


def _note_failure(progress: Progress, failure: str) -> None:
    progress.failures.append(failure)
    if progress.played == 0 and len(progress.failures) >= PATIENCE:
        raise ValueError(f"the first {PATIENCE} games failed; {failure}")
