"""Plays a tournament into an archive. What its games are is in `penumbra.arena.tournament_plan`."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penumbra.arena.archive_run import PlannedGame, Progress, play_into_archive
from penumbra.arena.game_loop import FAULTS
from penumbra.arena.match import CANNOT_START, GameWorker, Job
from penumbra.arena.pool import AnyPool, pool_of
from penumbra.arena.score import GameResult
from penumbra.arena.tournament_plan import Fixture, Tournament
from penumbra.core import GameRecord
from penumbra.games.archive import Archive, ArchivedGame, NewGame
from penumbra.games.ratings import Ratings, Result, rate

SOURCE = "tournament"
REPLAYS = 10  # games with errors before a fixture is given up


class ReplayWorker(GameWorker):
    """Plays a game again in which a player fails, with other seeds: the rule of the paper."""

    def do(self, job: Job) -> GameResult:
        for again in range(REPLAYS):
            result = super().do(dataclasses.replace(job, seed=job.seed + (again << 32)))
            if result.reason not in FAULTS:  # so it is also where a player cannot start
                return result
        raise RuntimeError(f"{REPLAYS} games in a row ended by errors, the last by {result.reason}: {result.detail}")


@dataclass
class Standing(Progress):
    """A tournament so far."""

    target: int
    results: Counter[tuple[str, str, bool | None]] = field(default_factory=Counter)  # of earlier runs too
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)  # (who lost by a fault of its own, which)

    def add(self, game: NewGame, new: int, seconds: float) -> None:
        super().add(game, new, seconds)
        record = game.record
        self.count(record.white_name, record.black_name, record.winner, game.settings)

    def count(self, white: str, black: str, winner: bool | None, settings: Mapping[str, Any]) -> None:
        """A game that is there, now or from an earlier run."""
        self.results[white, black, winner] += 1
        if settings.get("reason") in FAULTS:
            self.faults[black if winner else white, settings["reason"]] += 1

    def ratings(self, anchor: str | None = None, elo: float = 1500.0) -> Ratings:
        """ValueError while there can be none."""
        results: list[Result] = [(*key, count) for key, count in self.results.items()]
        return rate(results, anchor=anchor, anchor_elo=elo)


def pool_for(tournament: Tournament, ray: str | None = None) -> AnyPool[Job, GameResult]:
    """Workers for its games: processes on this machine, or the Ray cluster at an address, one thread each."""
    worker = ReplayWorker if tournament.on_error == "replay" else GameWorker
    return pool_of(worker, tournament.workers, tournament.pin, ray)


def run(
    tournament: Tournament,
    archive: Archive,
    pool: AnyPool[Job, GameResult] | None = None,
    report: Callable[[Standing], None] = lambda standing: None,
    minutes: float | None = None,
) -> Standing:
    """Plays what is missing; `report` hears of every game. An interrupt or a full disk ends it early, and cleanly.

    ValueError if a player cannot start: each is tried before the first game, and none loses what it does not play.
    """
    missing, standing = outset(tournament, archive)
    pool = pool or pool_for(tournament)
    return play_into_archive(
        map(_planned, missing), archive, pool, standing, report, minutes, lambda: rehearse(missing, pool)
    )


def rehearse(missing: Sequence[Fixture], pool: AnyPool[Job, GameResult]) -> None:
    """Starts everybody who has games to play; ValueError if somebody cannot."""
    players: dict[str, Fixture] = {}
    for fixture in missing:
        for who in (fixture.pairing.first, fixture.pairing.second):
            players.setdefault(who.name, fixture)
    fixtures = {id(fixture): fixture for fixture in players.values()}.values()
    for _, result, _ in pool.run(dataclasses.replace(fixture.job, rehearsal=True) for fixture in fixtures):
        if result is not None:  # else a fault of the harness, which the games will meet themselves
            _check_started(result)


def _check_started(result: GameResult) -> None:
    if result.reason == CANNOT_START:
        raise ValueError(result.detail)


def outset(tournament: Tournament, archive: Archive) -> tuple[list[Fixture], Standing]:
    """(the games that are missing, the standing by those that are there)."""
    fixtures = tournament.fixtures()
    made = {pairing.run: archive.made(pairing.run) for pairing in tournament.pairings()}
    missing = [fixture for fixture in fixtures if fixture.job.number not in made[fixture.pairing.run]]
    standing = Standing(len(fixtures), len(fixtures) - len(missing))
    for _, game in games_of(tournament, archive):
        standing.count(game.white, game.black, game.winner, game.settings)
    return missing, standing


def games_of(tournament: Tournament, archive: Archive) -> Iterator[tuple[int, ArchivedGame]]:
    """The tournament's games that are there, with their numbers in their pairings."""
    for pairing in tournament.pairings():
        for number, game in archive.games_made(pairing.run):
            if number < tournament.games:
                yield number, game


def _planned(fixture: Fixture) -> PlannedGame[Job, GameResult]:
    name = f"{fixture.pairing.first.name} v {fixture.pairing.second.name}, game {fixture.job.number + 1}"
    return PlannedGame(name, fixture.job, functools.partial(_to_archive, fixture))


def _to_archive(fixture: Fixture, result: GameResult) -> NewGame:
    _check_started(result)
    first, second = fixture.pairing.first, fixture.pairing.second
    white, black = (first, second) if result.a_is_white else (second, first)
    record = GameRecord.from_bytes(result.record)
    record.white_name, record.black_name = white.name, black.name
    used = result.used if result.a_is_white else result.used[::-1]
    # What the players are is in the run, once for all their games.
    settings = {"reason": result.reason, "detail": result.detail, "seconds": [round(s, 6) for s in used]}
    made = (fixture.pairing.run, result.number)
    return NewGame(record, SOURCE, settings, made=made, visits=result.visits)
