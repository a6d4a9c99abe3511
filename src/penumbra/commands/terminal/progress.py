"""How far a long command has come: a bar on a terminal, and elsewhere a line now and then."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from penumbra.arena.archive_run import at_intervals

LINE_EVERY = 10.0  # seconds


class Bar:
    """What a command reports to; `is_drawn` says whether there is a terminal to draw on."""

    def __init__(self, drawn: Progress | None, every: float | None) -> None:
        self.is_drawn = drawn is not None
        self._drawn = drawn
        self._print = None if every is None else at_intervals(every, lambda note: print(note, flush=True))

    def show(self, done: float, note: str = "", total: float | None = None) -> None:
        """So much of the total is done; `note` says more, and is the line printed where there is no terminal."""
        if self._drawn is not None:
            self._drawn.update(self._drawn.task_ids[0], completed=done, note=note, total=total)
        elif self._print is not None:
            self._print(note)

    def advance(self, done: float) -> None:
        """So much more is done."""
        if self._drawn is not None:
            self._drawn.advance(self._drawn.task_ids[0], done)

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._drawn is not None:
            self._drawn.console.print(text, markup=False, highlight=False)
        else:
            print(text, flush=True)


@contextlib.contextmanager
def progress(what: str, total: float | None, every: float | None = None) -> Iterator[Bar]:
    """A bar on stderr if that is a terminal; elsewhere a note on stdout each `every` seconds, or nothing at all."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar(None, every)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as drawn:
        drawn.add_task(what, total=total, note="")
        yield Bar(drawn, None)
