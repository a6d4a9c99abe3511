"""Games are played into an archive: what is missing and nothing twice, whatever happened before.

Workers play, one process writes: each game goes into the archive as it comes, together with its run and number, so that
a run which ends at any moment, by whatever, loses the games in flight alone. A game that failed is told of and stays
missing until the next run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from penumbra.arena.pool import AnyPool, ended_by_signal
from penumbra.games.archive import Archive, ArchiveFull, NewGame

PATIENCE = 20  # games that may fail in a row


class Timed(Protocol):
    @property
    def seconds(self) -> float:
        """What a game took."""


Job = TypeVar("Job")
Answer = TypeVar("Answer", bound=Timed)


class GameFailed(Exception):
    """A game that was played is not to be kept."""


class RunStopped(Exception):
    """Nothing comes of playing on."""


@dataclass(frozen=True)
class PlannedGame(Generic[Job, Answer]):
    """A game to be played: what messages call it, the job for a worker, and what is kept of the worker's answer."""

    name: str
    job: Job
    to_archive: Callable[[Answer], NewGame]  # raises GameFailed


@dataclass
class Progress:
    """A run so far."""

    target: int | None  # games to be there in all; None: as many as time allows
    done: int = 0  # games that are there, those of earlier runs too
    played: int = 0  # by this run
    new: int = 0  # of these, those that the archive did not know
    failures: list[str] = field(default_factory=list)
    in_a_row: int = 0  # games that failed since one was played
    minutes: float = 0.0
    stopped: str = ""  # why the run ended before its target: an interrupt, the disk, failures
    seconds: dict[str, tuple[int, float]] = field(default_factory=dict)  # by player: games of this run, their seconds

    @property
    def per_minute(self) -> float:
        return self.played / self.minutes if self.minutes else 0.0

    def line(self) -> str:
        """`1,200 of 20,000 games, 310 a minute`."""
        of = "" if self.target is None else f" of {self.target:,}"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{self.done:,}{of} games, {self.per_minute:,.0f} a minute{failed}"

    def add(self, game: NewGame, new: int, seconds: float) -> None:
        """Counts a game that was kept; `new` is 0 if the archive knew it."""
        self.in_a_row = 0
        self.new += new
        self.played += 1
        self.done += 1
        for name in (game.record.white_name, game.record.black_name):
            games, total = self.seconds.get(name, (0, 0.0))
            self.seconds[name] = games + 1, total + seconds

    def fail(self, failure: str) -> None:
        """Counts a game that failed; ValueError or `RunStopped` if it looks as if all will."""
        self.failures.append(failure)
        self.in_a_row += 1
        if self.in_a_row >= PATIENCE and self.played == 0:
            raise ValueError(f"the first {PATIENCE} games failed; {failure}")
        if self.in_a_row >= PATIENCE:
            raise RunStopped(f"{PATIENCE} games in a row failed; {failure}")


P = TypeVar("P", bound=Progress)
T = TypeVar("T")


def play_into_archive(
    games: Iterable[PlannedGame[Job, Answer]],
    archive: Archive,
    pool: AnyPool[Job, Answer],
    progress: P,
    report: Callable[[P], None],
    minutes: float | None = None,
    prepare: Callable[[], None] = lambda: None,
) -> P:
    """Plays the games, for at most so many minutes; `report` hears of every one. First of all comes `prepare`.

    An interrupt, a full disk or too many failures in a row end the run early, and cleanly. The pool is closed in the
    end.
    """
    playing: dict[int, PlannedGame[Job, Answer]] = {}

    def jobs() -> Iterator[Job]:
        for index, game in enumerate(games):
            playing[index] = game
            yield game.job

    began = time.monotonic()
    try:
        with ended_by_signal():
            prepare()
            for index, answer, trouble in pool.run(jobs()):
                progress.minutes = (time.monotonic() - began) / 60
                _conclude(playing.pop(index), answer, trouble, archive, progress)
                report(progress)
                if minutes is not None and progress.minutes >= minutes:
                    break
    except KeyboardInterrupt:
        progress.stopped = "interrupted"
    except (ArchiveFull, RunStopped) as error:
        progress.stopped = str(error)
    finally:
        pool.close()
    return progress


def _conclude(
    game: PlannedGame[Job, Answer], answer: Answer | None, trouble: str, archive: Archive, progress: Progress
) -> None:
    """Keeps a game, or notes why it is not kept."""
    try:
        if answer is None:
            raise GameFailed(trouble)
        new_game = game.to_archive(answer)
    except GameFailed as failure:
        progress.fail(f"{game.name}: {failure}")
        return
    progress.add(new_game, archive.add([new_game]), answer.seconds)


def at_intervals(seconds: float, report: Callable[[T], None]) -> Callable[[T], None]:
    """Reports no more often than every so many seconds, from now on."""
    last = time.monotonic()

    def report_if_time(progress: T) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            report(progress)

    return report_if_time
