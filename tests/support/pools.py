"""A pool without processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from penumbra.arena.generate import GeneratedGame

Job = TypeVar("Job")


class FakePool(Generic[Job]):
    """Does the jobs here, one after another, as a function says; counts those that were asked for."""

    def __init__(self, do: Callable[[Job], GeneratedGame]) -> None:
        self.do = do
        self.at_once = 1
        self.begun = 0
        self.closed = False

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, GeneratedGame | None, str]]:
        for index, job in enumerate(jobs):
            self.begun += 1
            yield index, self.do(job), ""

    def close(self) -> None:
        self.closed = True
