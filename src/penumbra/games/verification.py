"""Every game of an archive, looked at: its bytes, what is said about it, its moves and result, if wished its sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from penumbra.core import GameRecord, set_threads
from penumbra.games.archive import Archive, ArchivedGame, find_problem
from penumbra.games.database import ArchiveDamaged
from penumbra.games.tracking import Track, track
from penumbra.games.visits import unpack

STRETCH = 10_000  # games handed to the workers at once


@dataclass
class Findings:
    """What came of it. `tracks` are the sets' histories, where games were tracked."""

    games: int = 0
    problems: list[str] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)


class Pool(Protocol):
    """Workers that track games, each with a `TrackingWorker`."""

    def run(self, jobs: Sequence[bytes]) -> Iterator[tuple[int, Track | str | None, str]]: ...
    def close(self) -> None: ...


class TrackingWorker:
    """What a worker keeps between games."""

    def __init__(self, threads: int, cap: int, until_cut: bool) -> None:
        set_threads(threads)
        self._cap = cap
        self._until_cut = until_cut

    def do(self, data: bytes) -> Track | str:
        """The sets of the game in a record's bytes, or what is wrong with them."""
        try:
            return track(GameRecord.from_bytes(data), self._cap, self._until_cut)
        except ValueError as error:
            return str(error)

    def close(self) -> None:
        """Nothing is kept open."""


def file_problems(archive: Archive) -> list[str]:
    """What is wrong apart from the games: the file itself, or what was searched in them."""
    damage = archive.damage()
    if damage:
        return [str(ArchiveDamaged(archive.path, damage))]
    found = []
    for key, visits in archive.stored_visits():
        try:
            unpack(visits)
        except ValueError as error:
            found.append(f"the searches of the game with the hash {key}: {error}")
    return found


def verify(archive: Archive, report: Callable[[], None] = lambda: None) -> Findings:
    """Replays every game; `report` hears of each."""
    findings = Findings(problems=file_problems(archive))
    for game in _stored_games(archive, findings):
        _judge(findings, game, find_problem(game))
        report()
    return findings


def verify_tracking(archive: Archive, pool: Pool, report: Callable[[], None] = lambda: None) -> Findings:
    """The same, and follows both players' sets through each game: the truth must be in every complete one."""
    findings = Findings(problems=file_problems(archive))
    try:
        for game, answer in _tracked(pool, _stored_games(archive, findings)):
            problem = find_problem(game)
            if isinstance(answer, Track):
                findings.tracks.append(answer)
            _judge(findings, game, problem or (answer if isinstance(answer, str) else ""))
            report()
    finally:
        pool.close()
    return findings


def _stored_games(archive: Archive, findings: Findings) -> Iterator[ArchivedGame]:
    """As far as they can be read."""
    try:
        yield from archive.stored_games()
    except ArchiveDamaged as error:
        if not findings.problems:
            findings.problems.append(str(error))


def _tracked(pool: Pool, games: Iterator[ArchivedGame]) -> Iterator[tuple[ArchivedGame, Track | str]]:
    while stretch := list(islice(games, STRETCH)):
        for index, answer, trouble in pool.run([game.data for game in stretch]):
            yield stretch[index], trouble if answer is None else answer
        pool.close()


def _judge(findings: Findings, game: ArchivedGame, problem: str) -> None:
    findings.games += 1
    if problem:
        findings.problems.append(f"{game.name}: {problem}")


def quantiles(values: Sequence[int]) -> str:
    """`least 1, a quarter up to 5, half 20, three quarters 80, 90 % 300, most 4,000`."""
    if not values:
        return "none"
    ordered = sorted(values)
    quarter, half, more, most = (ordered[int(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75, 0.9))
    return (
        f"least {ordered[0]:,}, a quarter up to {quarter:,}, half {half:,}, three quarters {more:,}, "
        f"90 % {most:,}, most {ordered[-1]:,}"
    )
