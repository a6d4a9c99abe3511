"""Any order of what may happen to an archive: what was added is in it once, whatever was killed, full or damaged."""

from __future__ import annotations

import functools
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penumbra.core import GameRecord
from penumbra.games.archive import Archive, ArchivedGame, ArchiveError, ArchiveFull, NewGame
from penumbra.games.salvage import repair
from penumbra.games.verification import verify
from penumbra.interop.game_files import read_games, write_games
from tests.support.evidence import scale
from tests.support.full_disk import full_disk
from tests.support.random_games import random_game

POOL = 30
RUN = "a run"
numbers = st.lists(st.integers(0, POOL - 1), max_size=6)


@functools.cache
def pooled(number: int) -> GameRecord:
    return random_game(number, "A" if number % 2 else "B", "C")


def new(number: int, source: str = "made") -> NewGame:
    return NewGame(pooled(number), source, {"number": number}, 1000 + number, (RUN, number))


def copied(path: Path, to: Path) -> Path:
    """The files as a kill would leave them now."""
    for end in ("", "-wal"):
        if Path(f"{path}{end}").exists():
            shutil.copyfile(f"{path}{end}", f"{to}{end}")
    return to


class Archives(RuleBasedStateMachine):
    """`model` is what must be in the archive, the source of each game by its number; `made`, the numbers of its run."""

    @initialize()
    def create(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.count = 0
        self.model: dict[int, str] = {}
        self.made: set[int] = set()
        self.archive = Archive.create(self._path())

    def _path(self) -> Path:
        self.count += 1
        return self.folder / f"{self.count}.db"

    @rule(some=numbers)
    def add(self, some: list[int]) -> None:
        expected = len(set(some) - set(self.model))
        assert self.archive.add(map(new, some)) == expected
        self._added(some)

    def _added(self, some: list[int], source: str = "made") -> None:
        self.made |= set(some)
        self.model = dict.fromkeys(some, source) | self.model

    @rule(write=st.booleans())
    def reopen(self, write: bool) -> None:
        path = self.archive.path
        self.archive.close()
        if not write:
            with Archive.open(path) as reader:
                self._look(reader)
        self.archive = Archive.open(path, write=True)

    @rule(some=numbers, at=st.integers(0, 5))
    def kill_in_the_middle(self, some: list[int], at: int) -> None:
        """Of a transaction: what is left is what was there before it."""
        to = self._path()

        def games() -> Iterator[NewGame]:
            for i, number in enumerate(some):
                if i == at:
                    copied(self.archive.path, to)
                yield new(number)

        self.archive.add(games())
        self.archive.close()
        if to.exists():
            self.archive = Archive.open(to, write=True)
        else:
            self.archive = Archive.open(self.archive.path, write=True)
            self._added(some)

    @rule(some=numbers)
    def kill_after(self, some: list[int]) -> None:
        self.archive.add(map(new, some))
        self._added(some)
        to = copied(self.archive.path, self._path())
        self.archive.close()
        self.archive = Archive.open(to, write=True)

    @rule(some=numbers)
    def fail_in_the_middle(self, some: list[int]) -> None:
        def games() -> Iterator[NewGame]:
            yield from map(new, some)
            raise KeyError

        with pytest.raises(KeyError):
            self.archive.add(games())

    @rule(some=numbers.filter(bool))
    def add_on_a_full_disk(self, some: list[int]) -> None:
        ahead = Path(f"{self.archive.path}-wal")
        try:
            with full_disk(ahead.stat().st_size if ahead.exists() else 0):
                self.archive.add(map(new, some))
        except ArchiveFull:
            return
        self._added(some)  # there was room in a file that is used again

    @rule(some=numbers, known=st.booleans())
    def merge(self, some: list[int], known: bool) -> None:
        path = self._path()
        with Archive.create(path) as other:
            other.add(new(number, "merged") for number in [*some, *(list(self.model)[:2] if known else [])])
        with Archive.open(path) as other:
            added, seen, broken = self.archive.merge(other)
            assert (added + seen, broken) == (len(other), [])
            games = [int(game.settings["number"]) for game in other.games()]
        assert added == len(set(games) - set(self.model))
        self._added(games, "merged")

    @rule(kind=st.sampled_from((".jsonl", ".jsonl.gz", "")))
    def export_and_import(self, kind: str) -> None:
        out = self.folder / f"out{self.count}{kind}"
        assert write_games((game.record for game in self.archive.games()), out) == len(self.model)
        found = [record for file in ([out] if kind else sorted(out.iterdir())) for record in read_games(file, _fail)]
        assert {record.hash for record in found} == {pooled(number).hash for number in self.model}
        assert self.archive.add_all(NewGame(record, "imported") for record in found) == 0

    @rule(seed=st.integers(0, 1000), changes=st.sampled_from((1, 1, 20)))
    def damage_a_copy(self, seed: int, changes: int) -> None:
        """Nothing that was not added is ever read from it, and repair saves only what was."""
        path = self._path()
        with Archive.create(path) as clean:
            clean.add(map(new, self.model))
        data, rng = bytearray(path.read_bytes()), random.Random(seed)
        for _ in range(changes):
            data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        path.write_bytes(data)
        original = {pooled(number).hash: pooled(number).to_bytes() for number in self.model}
        said: list[str] = []
        try:
            with Archive.open(path, report=said.append) as archive:
                found = {game.hash: game.data for game in archive.games()}
            assert found.items() <= original.items()
            assert len(found) == len(original) or said
        except ArchiveError as error:
            assert "\n" not in str(error)
        saved = repair(path, self._path())
        assert {games[0].record.hash for games in saved.games} <= set(original)
        assert len(saved.games) == len(original) or saved.lost

    @invariant()
    def holds_what_was_added(self) -> None:
        self._look(self.archive)

    def _look(self, archive: Archive) -> None:
        games: list[ArchivedGame] = list(archive.games())
        assert {int(game.settings["number"]): game.source for game in games} == self.model
        assert {game.data for game in games} == {pooled(number).to_bytes() for number in self.model}
        assert len(games) == len(archive) == len(self.model)
        assert archive.made(RUN) == self.made

    @rule()
    def check_the_file(self) -> None:
        assert verify(self.archive).problems == []

    def teardown(self) -> None:
        if hasattr(self, "archive"):
            self.archive.close()
            shutil.rmtree(self.folder)


def _fail(trouble: Exception) -> None:
    raise AssertionError(trouble)


Archives.TestCase.settings = settings(
    max_examples=scale(10, 500),
    stateful_step_count=scale(12, 40),
    deadline=None,
    derandomize=scale(True, False),
    suppress_health_check=list(HealthCheck),
)
TestArchives = Archives.TestCase
