"""Runs that are killed, stopped and left without room: `PYTHONPATH=src python -m studies.chaos --minutes 10`.

Tournaments, generation and matches are played while their processes are killed (SIGKILL), stopped for seconds
(SIGSTOP), told to end (SIGTERM), put on a disk that fills and, where they have one, deprived of their inference
server. After each the same command goes on undisturbed, and what is then there must be what a run has that nobody
disturbed: every game once, the same moves, the same ratings; and nobody may have printed a stack trace. A small disk is
mounted where that is allowed; elsewhere files may not grow past a limit. The seed repeats the choices, not their times.

A further scenario is a function in SCENARIOS; the page's server has none yet.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from penumbra.games.archive import Archive, ArchiveError
from penumbra.games.verification import verify
from penumbra.interop.history import read_record

TOURNAMENT = """
games = 4
seed = 4
workers = 2
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Hasty"
kind = "attacker"
[[player]]
name = "Fish"
kind = "trout"
settings = { depth = 1, nodes = 200 }
[[player]]
name = "Hunter"
kind = "hunter"
[[player]]
name = "Deep"
kind = "penumbra:network"
settings = { evaluator = "heuristic", nodes = 20, cap = 1000, settings = { table_entries = 1024, n_particles = 8 } }
"""
POPULATION = """
games = 120
seed = 11
workers = 2
opening_plies = 6
ply_limit = 60
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Trout"
kind = "trout"
settings = { depth = 1, nodes = 300 }
[[player]]
name = "Hunter"
kind = "hunter"
"""
SERVED = """
games = 400
seed = 5
workers = 2
opening_plies = 4
ply_limit = 40
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Net"
kind = "penumbra:network"
settings = { device = "unix:SOCKET", nodes = 1, cap = 1000 }
"""
MATCH = ("hunter", "attacker", "--games", "12", "--clock", "none", "--workers", "2")
ENDS = {0, 1, 130, -signal.SIGKILL, -signal.SIGTERM}  # what a disturbed run may end with; the last while it starts
SECONDS = 120  # that a run may take when nobody disturbs it any more
LONGEST_STOP = 3.0
PAUSE = 1.5  # seconds between disturbances at most
SMALL_DISK = (250, 700)  # kilobytes
Contents = dict[tuple[str, int], bytes]  # each game's record, by its run and number


class Fault(Exception):
    """What must not happen."""


@dataclass
class Command:
    """`penumbra ARGUMENTS` in a session of its own, with what it prints."""

    arguments: tuple[str, ...]
    log: Path
    limit: int | None = None  # bytes past which no file may grow
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        limit = self.limit
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penumbra", *self.arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "PENUMBRA_THREADS": "1"},
                preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
            )

    def workers(self) -> list[int]:
        """Its children; none once it has ended."""
        pid = self.process.pid
        try:
            return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            return []

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
        said = self.log.read_text(errors="replace")
        for word in ("Traceback", "Errno", "Exception ignored", "Logging error"):
            if word in said:
                raise Fault(f"{self} has printed:\n{said[max(0, said.index(word) - 500) :][:3000]}")
        if status not in ENDS:
            raise Fault(f"{self} has ended with {status}: {said[-1000:]}")
        return status

    def __str__(self) -> str:
        return f"penumbra {' '.join(self.arguments)}"


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

    def start(self, *arguments: object, limit: int | None = None) -> Command:
        return Command(tuple(map(str, arguments)), self.path("output.txt"), limit)

    def finish(self, *arguments: object) -> None:
        """Goes on undisturbed, to the end."""
        command = self.start(*arguments)
        if command.end() != 0:
            raise Fault(f"{command} does not come to its end: {command.log.read_text()[-1000:]}")

    def disturb(self, command: Command, others: tuple[Command, ...] = ()) -> None:
        """Until the command ends, which in the end is seen to."""
        for _ in range(self.rng.randint(1, 5)):
            end = time.monotonic() + self.rng.uniform(0.0, PAUSE)
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


def resumable(chaos: Chaos, name: str, arguments: tuple[object, ...], rated: bool) -> None:
    """A run into an archive is disturbed again and again, and then goes on to its end."""

    def whole() -> object:
        path = chaos.path(f"{name}.db")
        chaos.finish(*arguments, "--archive", path)
        return contents(path), ratings(chaos, path) if rated else None

    expected = chaos.reference(name, whole)
    path = chaos.path(f"{name}.db")
    before: Contents = {}
    for _ in range(chaos.rng.randint(1, 4)):
        command = chaos.start(*arguments, "--archive", path)
        chaos.disturb(command)
        command.end()
        before = kept(path, before)
    chaos.finish(*arguments, "--archive", path)
    if (contents(path), ratings(chaos, path) if rated else None) != expected:
        raise Fault(f"{path}: is not what an undisturbed run makes")


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


# -- scenarios


def tournament(chaos: Chaos) -> None:
    resumable(chaos, "tournament", ("tournament", chaos.file("tournament.toml", TOURNAMENT)), rated=True)


def generation(chaos: Chaos) -> None:
    resumable(chaos, "generation", ("generate", chaos.file("population.toml", POPULATION)), rated=False)


def match(chaos: Chaos) -> None:
    """It does not go on, but whatever is in its folder is whole, and is what it would have been."""

    def whole() -> object:
        out = chaos.path("match")
        chaos.finish("match", *MATCH, "--out", out)
        return {path.name: read_record(path).to_bytes() for path in out.glob("[0-9]*.json")}

    expected = chaos.reference("match", whole)
    assert isinstance(expected, dict)
    out = chaos.path("match")
    command = chaos.start("match", *MATCH, "--out", out)
    chaos.disturb(command)
    status = command.end()
    found = {path.name: read_record(path).to_bytes() for path in out.glob("[0-9]*.json")}
    if not found.items() <= expected.items():
        raise Fault(f"{out}: has games that are not those of an undisturbed match")
    if status == 0:
        unsettled = json.loads((out / "match.json").read_text())["unsettled"]
        if len(found) + unsettled != len(expected):
            raise Fault(f"{out}: has {len(found)} games, {unsettled} are not settled")


def full_disk(chaos: Chaos) -> None:
    """A tournament and its page on a disk that fills, and that has room again."""

    def whole() -> object:
        path = chaos.path("tournament.db")
        chaos.finish("tournament", file, "--archive", path)
        return contents(path), ratings(chaos, path)

    file = chaos.file("tournament.toml", TOURNAMENT)
    expected = chaos.reference("tournament", whole)
    kilobytes = chaos.rng.randint(*SMALL_DISK)
    with small_disk(chaos.path("disk"), kilobytes) as (folder, limit, grow):
        path, page = folder / "games.db", folder / "page.html"
        arguments = ("tournament", file, "--archive", path, "--report", page)
        status = chaos.start(*arguments, limit=limit).end()
        chaos.tally["full disks" if status else "disks that were large enough"] += 1
        if page.exists() and not page.read_text().endswith("</html>\n"):
            raise Fault(f"{page}: is cut")
        grow()
        before = kept(path, {})
        chaos.finish(*arguments)
        if not before.items() <= contents(path).items() or (contents(path), ratings(chaos, path)) != expected:
            raise Fault(f"{path}: is not what an undisturbed run makes")


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[tuple[Path, int | None, Callable[[], object]]]:
    """(a folder on a disk of its own, the limit of each file's size where there is none, what gives more room)."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield folder, 1024 * kilobytes // 4, lambda: None
        return
    try:
        more = ["mount", "-o", "remount,size=64m", str(folder)]
        yield folder, None, lambda: subprocess.run(more, check=True)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def inference(chaos: Chaos) -> None:
    """Generation whose inference server is killed and stopped; another one goes on with it."""
    socket = chaos.folder / "inference"
    file = chaos.file("served.toml", SERVED.replace("SOCKET", str(socket)))

    def whole() -> object:
        path = chaos.path("served.db")
        with inference_server(chaos, socket):
            chaos.finish("generate", file, "--archive", path)
        return contents(path)

    expected = chaos.reference("inference", whole)
    path = chaos.path("served.db")
    before: Contents = {}
    for is_left_alone in (True, False):
        with inference_server(chaos, socket) as server:
            command = chaos.start("generate", file, "--archive", path)
            if is_left_alone:  # the server is not, and the run has to notice
                wait_for_games(path, command)
                chaos.signal(server.process.pid, signal.SIGKILL, "kills of a worker or server")
            else:
                chaos.disturb(command, (server,))
            command.end()
            before = kept(path, before)
    with inference_server(chaos, socket):
        chaos.finish("generate", file, "--archive", path)
    if contents(path) != expected:
        raise Fault(f"{path}: is not what an undisturbed run makes")


def wait_for_games(path: Path, command: Command) -> None:
    """Until there are some, or the command has ended."""
    while command.is_running():
        with contextlib.suppress(ArchiveError), Archive.open(path) as archive:
            if len(archive):
                return
        time.sleep(0.05)


@contextlib.contextmanager
def inference_server(chaos: Chaos, socket: Path) -> Iterator[Command]:
    server = chaos.start("infer", "--address", socket, "--device", "cpu", "--threads", "1")
    try:
        end = time.monotonic() + SECONDS
        while not answers(socket):
            if not server.is_running() or time.monotonic() > end:
                raise Fault(f"{server} does not answer: {server.log.read_text()[-1000:]}")
            time.sleep(0.1)
        yield server
    finally:
        chaos.signal(server.process.pid, signal.SIGCONT)
        chaos.signal(server.process.pid, signal.SIGTERM)
        server.end()


def answers(socket: Path) -> bool:
    from penumbra.network.inference_server import headsets_at
    from penumbra.network.weights import WeightsError

    try:
        return bool(headsets_at(str(socket)))
    except WeightsError:
        return False


SCENARIOS: dict[str, Callable[[Chaos], None]] = {
    "tournament": tournament,
    "generation": generation,
    "match": match,
    "full disk": full_disk,
    "inference": inference,
}


def run(chaos: Chaos, minutes: float, only: str | None = None) -> list[str]:
    """One scenario after the other until the time is up; what went wrong."""
    faults: list[str] = []
    end = time.monotonic() + 60 * minutes
    names = [only] if only else list(SCENARIOS)
    while True:
        for name in names:
            try:
                SCENARIOS[name](chaos)
            except Fault as fault:
                faults.append(f"{name}: {fault}")
                print(faults[-1], flush=True)
            chaos.tally[name] += 1
            if time.monotonic() >= end:
                return faults


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; a scenario that has begun is ended")
    parser.add_argument("--seed", type=int, default=0, help="of what is done to whom")
    parser.add_argument("--only", choices=list(SCENARIOS), help="one scenario alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chaos = Chaos(Path(folder), random.Random(given.seed))
        faults = run(chaos, given.minutes, given.only)
    print(", ".join(f"{what}: {count}" for what, count in sorted(chaos.tally.items())))
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
