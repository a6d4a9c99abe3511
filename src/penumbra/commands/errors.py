"""What commands say when something is wrong, one line each on stderr, and the exit status that tells it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterable, Iterator

import typer

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def complain(problem: object) -> None:
    """One line, whatever the message was."""
    print(f"penumbra: {' '.join(str(problem).split())}", file=sys.stderr)


class Problems:
    """Problems that do not end a command: the first ones are told one by one, all are counted."""

    def __init__(self, told: int = 20) -> None:
        self.told = told
        self.count = 0

    def __call__(self, problem: object) -> None:
        self.count += 1
        if self.count <= self.told:
            complain(problem)

    def conclude(self) -> None:
        """Ends the command with an error if there were any."""
        if self.count > self.told:
            complain(f"and {self.count - self.told:,} more")
        if self.count:
            raise typer.Exit(FAILED)


def conclude_run(failures: Iterable[object], stopped: str | None) -> None:
    """The end of a run that plays into an archive; `stopped` says why it ended early."""
    problems = Problems(told=10)
    for failure in failures:
        problems(failure)
    if stopped:
        complain(f"{stopped}; what was played is kept, and a new run goes on from there")
        raise typer.Exit(INTERRUPTED if stopped == "interrupted" else FAILED)
    problems.conclude()


def hear_interrupts() -> None:
    """An interrupt is how a run is ended in good order: also of one that a shell has started in the background, where
    it would be ignored."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def when_interrupted(message: str) -> Iterator[None]:
    """Says what becomes of a run that the user interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        complain(f"interrupted; {message}")
        raise typer.Exit(INTERRUPTED) from None
