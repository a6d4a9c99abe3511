"""Plays a tournament into an archive: what is missing and nothing twice, whatever happened before.

Workers play, one process writes: each game goes into the archive as it comes, together with its pairing and number, so
that a run which ends at any moment, by whatever, loses the games in flight alone. A game that the harness could not
play (a worker died over it twice) is told of and stays missing until the next run.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penumbra.arena.game_loop import FAULTS
from penumbra.arena.match import GameRoom, Job
from penumbra.arena.pool import Pool, cores, ended_by_signal
from penumbra.arena.score import GameResult
from penumbra.arena.tournament_plan import Fixture, Tournament
from penumbra.core import GameRecord
from penumbra.games.archive import Archive, ArchivedGame, ArchiveFull, NewGame
from penumbra.games.ratings import Ratings, Result, rate

SOURCE = "tournament"
REPLAYS = 10  # games with errors before a fixture is given up
PATIENCE = 20  # games in a row that may fail before anything was played


class Players(Protocol):
    """Whoever plays the jobs: processes on this machine, or a cluster."""

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, GameResult | None, str]]:
        """(index of the job, its result, "") as they come in; None and what happened where it failed."""

    def close(self) -> None: ...


class ReplayRoom(GameRoom):
    """Plays a game again in which a player fails, with other seeds: the rule of the paper."""

    def do(self, job: Job) -> GameResult:
        for again in range(REPLAYS):
            result = super().do(dataclasses.replace(job, seed=job.seed + (again << 32)))
            if result.reason not in FAULTS:
                return result
        raise RuntimeError(f"{REPLAYS} games in a row ended by errors, the last by {result.reason}: {result.detail}")


@dataclass
class Standing:
    """A tournament so far."""

    target: int
    done: int = 0  # games, those of earlier runs too
    played: int = 0  # by this run
    results: Counter[tuple[str, str, bool | None]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    minutes: float = 0.0
    stopped: str = ""  # why the run ended before its target

    @property
    def per_minute(self) -> float:
        return self.played / self.minutes if self.minutes else 0.0

    def line(self) -> str:
        """`120 of 450 games, 31 a minute`."""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{self.done:,} of {self.target:,} games, {self.per_minute:,.0f} a minute{failed}"

    def ratings(self, anchor: str | None = None, elo: float = 1500.0) -> Ratings:
        """ValueError while there can be none."""
        results: list[Result] = [(*key, count) for key, count in self.results.items()]
        return rate(results, anchor=anchor, anchor_elo=elo)


def local_players(tournament: Tournament, logs: str | None = None) -> Players:
    """Processes on this machine, kept between games."""
    threads = max(1, cores() // tournament.workers)
    pool: Pool[Job, GameResult] = Pool(functools.partial(room(tournament), threads, logs), tournament.workers)
    return pool


def room(tournament: Tournament) -> type[GameRoom]:
    return ReplayRoom if tournament.on_error == "replay" else GameRoom


def run(
    tournament: Tournament,
    archive: Archive,
    players: Players | None = None,
    report: Callable[[Standing], None] = lambda standing: None,
) -> Standing:
    """Plays what is missing; `report` hears of every game. An interrupt or a full disk ends it early, and cleanly."""
    missing, standing = outset(tournament, archive)
    players = players or local_players(tournament)
    began = time.monotonic()
    try:
        with ended_by_signal():
            for index, result, trouble in players.run([fixture.job for fixture in missing]):
                standing.minutes = (time.monotonic() - began) / 60
                if result is None:
                    _note_failure(standing, missing[index], trouble)
                else:
                    _keep(archive, missing[index], result, standing)
                report(standing)
    except KeyboardInterrupt:
        standing.stopped = "interrupted"
    except ArchiveFull as error:
        standing.stopped = str(error)
    finally:
        players.close()
    return standing


def outset(tournament: Tournament, archive: Archive) -> tuple[list[Fixture], Standing]:
    """(the games that are missing, the standing by those that are there)."""
    fixtures = tournament.fixtures()
    made = {pairing.run: archive.made(pairing.run) for pairing in tournament.pairings()}
    missing = [fixture for fixture in fixtures if fixture.job.number not in made[fixture.pairing.run]]
    standing = Standing(len(fixtures), len(fixtures) - len(missing))
    for _, game in games_of(tournament, archive):
        standing.results[game.white, game.black, game.winner] += 1
    return missing, standing


def games_of(tournament: Tournament, archive: Archive) -> Iterator[tuple[int, ArchivedGame]]:
    """The tournament's games that are there, with their numbers in their pairings."""
    for pairing in tournament.pairings():
        for number, game in archive.games_made(pairing.run):
            if number < tournament.games:
                yield number, game


def _keep(archive: Archive, fixture: Fixture, result: GameResult, standing: Standing) -> None:
    first, second = fixture.pairing.first, fixture.pairing.second
    white, black = (first, second) if result.a_is_white else (second, first)
    record = GameRecord.from_bytes(result.record)
    record.white_name, record.black_name = white.name, black.name
    used = result.used if result.a_is_white else result.used[::-1]
    # What the players are is in the run, once for all their games.
    settings = {"reason": result.reason, "detail": result.detail, "seconds": [round(s, 4) for s in used]}
    made = (fixture.pairing.run, result.number)
    archive.add([NewGame(record, SOURCE, settings, made=made, visits=result.visits)])
    standing.results[white.name, black.name, record.winner] += 1
    standing.played += 1
    standing.done += 1


def _note_failure(standing: Standing, fixture: Fixture, trouble: str) -> None:
    who = f"{fixture.pairing.first.name} v {fixture.pairing.second.name}, game {fixture.job.number + 1}"
    standing.failures.append(f"{who}: {trouble}")
    if standing.played == 0 and len(standing.failures) >= PATIENCE:
        raise ValueError(f"the first {PATIENCE} games failed; {standing.failures[-1]}")
