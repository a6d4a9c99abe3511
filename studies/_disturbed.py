"""Commands of Penumbra's that are killed, stopped and told to end, and what must be true of them all the same.

`studies.chaos` says which, and what has to be there afterwards.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penumbra.games.archive import Archive
from penumbra.games.verification import verify
from penumbra.server.memory import children

# The time of day in every process that finds this: another one every now and then.
JUMPING = """
import random, time
now, shown, state = time.monotonic, time.time, [0.0, 0.0]
def jumped():
    if now() >= state[0]:
        state[:] = now() + random.uniform(0, 0.5), random.uniform(-86400, 86400)
    return shown() + state[1]
time.time, time.time_ns = jumped, lambda: int(1e9 * jumped())
"""
ENDS = {0, 1, 130, -signal.SIGKILL, -signal.SIGTERM}  # what a disturbed run may end with; the last while it starts
SECONDS = 120  # that a run may take when nobody disturbs it any more
SECONDS_TO_LEAVE = 15.0  # for what a run has started, once the run itself has ended
JUMPS = 0.3  # share of the runs whose clock jumps
LONGEST_STOP = 3.0
PAUSE = 1.5  # seconds between disturbances at most
Contents = dict[tuple[str, int], bytes]  # each game's record, by its run and number


class Fault(Exception):
    """What must not happen."""


@dataclass
class Command:
    """`penumbra ARGUMENTS` in a session of its own, with what it prints."""

    arguments: tuple[str, ...]
    log: Path
    limit: int | None = None  # bytes past which no file may grow
    modules: Path | None = None  # a folder of Python modules that it finds before others
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        limit = self.limit
        paths = [str(path) for path in (self.modules, os.environ.get("PYTHONPATH")) if path]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penumbra", *self.arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "PENUMBRA_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)},
                preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
            )

    def workers(self) -> list[int]:
        """All that it has started; none once it has ended."""
        return descendants(self.process.pid)

    def is_running(self) -> bool:
        return self.process.poll() is None

    def end(self, seconds: float = SECONDS) -> int:
        """Waits for its end; `Fault` if there is none, or if it has printed what nobody should see."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Fault(f"{self} has not ended within {seconds:.0f} seconds") from None
        check_output(str(self), self.log)
        if status not in ENDS:
            raise Fault(f"{self} has ended with {status}: {self.log.read_text(errors='replace')[-1000:]}")
        self.expect_nobody()
        return status

    def expect_nobody(self) -> None:
        """`Fault` if a process that it has started stays behind."""
        end = time.monotonic() + SECONDS_TO_LEAVE
        while left := of_session(self.process.pid):
            if time.monotonic() > end:
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                raise Fault(f"{self} has left {len(left)} processes behind")
            time.sleep(0.1)

    def __str__(self) -> str:
        return f"penumbra {' '.join(self.arguments)}"


def check_output(who: str, log: Path) -> None:
    """`Fault` if something was printed there that nobody should see."""
    said = log.read_text(errors="replace")
    for word in ("Traceback", "Errno", "Exception ignored", "Logging error"):
        if word in said:
            raise Fault(f"{who} has printed:\n{said[max(0, said.index(word) - 500) :][:3000]}")


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    return [each for child in children(pid) for each in (child, *descendants(child))]


def of_session(number: int) -> list[int]:
    """The processes of a session; those that have ended and are not yet counted as gone are none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session, *_ = path.read_text().rpartition(")")[2].split()
            if int(session) == number and state != "Z":
                found.append(int(path.parent.name))
    return found


@dataclass
class Chaos:
    """A run of this study: where it works, what it has done, and what went wrong."""

    folder: Path
    rng: random.Random
    tally: Counter[str] = field(default_factory=Counter)
    references: dict[str, object] = field(default_factory=dict)
    count: int = 0

    def path(self, name: str) -> Path:
        self.count += 1
        return self.folder / f"{self.count}-{name}"

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, *arguments: object, limit: int | None = None, jumps: bool = False) -> Command:
        """`jumps`: the time of day does so in all its processes."""
        modules = None
        if jumps:
            modules = self.folder / "jumping"
            modules.mkdir(exist_ok=True)
            modules.joinpath("sitecustomize.py").write_text(JUMPING)
            self.tally["clocks that jump"] += 1
        return Command(tuple(map(str, arguments)), self.path("output.txt"), limit, modules)

    def start_disturbed(self, *arguments: object) -> Command:
        return self.start(*arguments, jumps=self.rng.random() < JUMPS)

    def finish(self, *arguments: object) -> None:
        """Goes on undisturbed, to the end."""
        command = self.start(*arguments)
        if command.end() != 0:
            raise Fault(f"{command} does not come to its end: {command.log.read_text()[-1000:]}")

    def disturb(self, command: Command, others: tuple[Command, ...] = (), pause: float = PAUSE) -> None:
        """Until the command ends, which in the end is seen to."""
        for _ in range(self.rng.randint(1, 5)):
            end = time.monotonic() + self.rng.uniform(0.0, pause)
            while command.is_running() and time.monotonic() < end:
                time.sleep(0.02)
            if not command.is_running():
                break
            victims = [command.process.pid, *command.workers(), *(other.process.pid for other in others)]
            self.strike(self.rng.choice(victims), command)
        if command.is_running():
            self.signal(command.process.pid, signal.SIGKILL, "kills of a run")

    def strike(self, victim: int, command: Command) -> None:
        is_run = victim == command.process.pid
        match self.rng.choice(("stop", "stop", "kill", "terminate" if is_run else "kill")):
            case "stop":
                self.signal(victim, signal.SIGSTOP, "stops")
                time.sleep(self.rng.uniform(0.1, LONGEST_STOP))
                self.signal(victim, signal.SIGCONT)
            case "kill":
                self.signal(victim, signal.SIGKILL, "kills of a run" if is_run else "kills of a worker or server")
            case _:
                self.signal(victim, signal.SIGTERM, "requests to end")

    def signal(self, victim: int, number: int, what: str = "") -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, number)
            if what:
                self.tally[what] += 1

    def reference(self, name: str, make: Callable[[], object]) -> object:
        """What a run has that nobody disturbed, made once."""
        if name not in self.references:
            self.references[name] = make()
        return self.references[name]


def contents(path: Path) -> Contents:
    """All games by run and number; `Fault` if anything is wrong with the archive."""
    with Archive.open(path) as archive:
        problems = verify(archive).problems
        if problems:
            raise Fault(f"{path}: {problems[0]}")
        found = {(run, number): game.data for run in archive.runs() for number, game in archive.games_made(run)}
        if set(found.values()) != {game.data for game in archive.games()}:
            raise Fault(f"{path}: has games that nobody has made")
    return found


def ratings(chaos: Chaos, path: Path) -> list[tuple[str, float]]:
    command = chaos.start("rate", path, "--json")
    command.end()
    return [(each["name"], round(each["elo"], 6)) for each in json.loads(command.log.read_text())["players"]]


def kept(path: Path, before: Contents) -> Contents:
    """What is there now; `Fault` if a game has gone."""
    if not path.exists() or not path.stat().st_size:
        now: Contents = {}
    else:
        with Archive.open(path, write=True):
            pass  # also an archive whose making was killed can be opened
        now = contents(path)
    if not before.items() <= now.items():
        raise Fault(f"{path}: has lost games")
    return now


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
