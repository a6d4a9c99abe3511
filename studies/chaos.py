"""Runs that are killed, stopped and left without room: `PYTHONPATH=src python -m studies.chaos --minutes 10`.

Tournaments, generation, matches, improvement and a server with guests are run while their processes are killed
(SIGKILL), stopped for seconds (SIGSTOP), told to end (SIGTERM), put on a disk that fills, deprived of their inference
server or of workers of their Ray cluster, and while the time of day jumps by up to a day. After each the same command
goes on undisturbed, and what is then there must be what a run has that nobody disturbed: every game once, the same
moves, the same ratings; of what has no such twin, nothing that was there before may be gone. Nobody may have printed a
stack trace, and no process may stay behind. A small disk is mounted where that is allowed; elsewhere files may not grow
past a limit. The seed repeats the choices, not their times.

A further scenario is a function in SCENARIOS. Without Ray, or without torch, those that need it are left out, and are
counted as left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from penumbra.extras import is_installed
from penumbra.games.archive import Archive, ArchiveError
from penumbra.games.verification import verify
from penumbra.interop.history import read_record
from penumbra.whole_files import read_lines
from studies._disturbed import (
    PAUSE,
    SECONDS,
    Chaos,
    Command,
    Contents,
    Fault,
    check_output,
    contents,
    free_port,
    kept,
    ratings,
)
from studies._guests import Guest, at_play
from studies._ray_cluster import Node, ray_cluster

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
IMPROVED = """
games = 100000
opening_plies = 2
ply_limit = 20
[[player]]
name = "Penumbra"
kind = "penumbra:network"
settings = { policy = "Penumbra", nodes = 1, cap = 1000, device = "DEVICE", settings = { b = 1 } }
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Hasty"
kind = "attacker"
"""
IMPROVEMENT = ("--workers", "1", "--opponent", "Wild", "--at-once", "8", "--steps", "200", "--cap", "100")
MATCH = ("hunter", "attacker", "--games", "12", "--clock", "none", "--workers", "2")
IMPROVING = 0.1  # minutes of improvement that nobody disturbs
GUESTS = ("random", "attacker", "hunter")  # whom each plays against
SMALL_DISK = (250, 700)  # kilobytes


class LeftOut(Exception):
    """A scenario needs what is not installed."""


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
        command = chaos.start_disturbed(*arguments, "--archive", path)
        chaos.disturb(command)
        command.end()
        before = kept(path, before)
    chaos.finish(*arguments, "--archive", path)
    if (contents(path), ratings(chaos, path) if rated else None) != expected:
        raise Fault(f"{path}: is not what an undisturbed run makes")


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
    command = chaos.start_disturbed("match", *MATCH, "--out", out)
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
    address = chaos.folder / "inference"
    file = chaos.file("served.toml", SERVED.replace("SOCKET", str(address)))

    def whole() -> object:
        path = chaos.path("served.db")
        with inference_server(chaos, address):
            chaos.finish("generate", file, "--archive", path)
        return contents(path)

    expected = chaos.reference("inference", whole)
    path = chaos.path("served.db")
    before: Contents = {}
    for is_left_alone in (True, False):
        with inference_server(chaos, address) as server:
            command = chaos.start_disturbed("generate", file, "--archive", path)
            if is_left_alone:  # the server is not, and the run has to notice
                wait_for_games(path, command)
                chaos.signal(server.process.pid, signal.SIGKILL, "kills of a worker or server")
            else:
                chaos.disturb(command, (server,))
            command.end()
            before = kept(path, before)
    with inference_server(chaos, address):
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
def inference_server(chaos: Chaos, address: Path) -> Iterator[Command]:
    server = chaos.start("infer", "--address", address, "--device", "cpu", "--threads", "1")
    try:
        end = time.monotonic() + SECONDS
        while not answers(address):
            if not server.is_running() or time.monotonic() > end:
                raise Fault(f"{server} does not answer: {server.log.read_text()[-1000:]}")
            time.sleep(0.1)
        yield server
    finally:
        chaos.signal(server.process.pid, signal.SIGCONT)
        chaos.signal(server.process.pid, signal.SIGTERM)
        server.end()


def answers(address: Path) -> bool:
    from penumbra.network.inference_server import headsets_at
    from penumbra.network.weights import WeightsError

    try:
        return bool(headsets_at(str(address)))
    except WeightsError:
        return False


def improvement(chaos: Chaos) -> None:
    """It goes on from the weights of its last round; these are whole, and no game that was learned from has gone."""
    if not is_installed("torch"):
        raise LeftOut("torch")
    weights, population = chaos.folder / "tiny.safetensors", chaos.file("improved.toml", IMPROVED)
    chaos.reference("tiny", lambda: save_tiny(weights))
    out = chaos.path("improved")
    fixed = ("--out", out, "--population", population, *IMPROVEMENT, "--threads", "1", "--device", "cpu")
    before: dict[str, set[bytes]] = {}
    for is_last in (*[False] * chaos.rng.randint(1, 3), True):
        begins = out / "weights.safetensors"
        arguments = ("improve", begins if begins.exists() else weights, *fixed, "--seed", chaos.rng.randint(0, 99))
        if is_last:
            rounds = len(read_lines(out / "log.jsonl"))
            chaos.finish(*arguments, "--minutes", IMPROVING)
        else:
            command = chaos.start_disturbed(*arguments, "--minutes", "0.5")
            chaos.disturb(command, pause=4 * PAUSE)
            command.end()
        before = improved(out, before)
    if len(read_lines(out / "log.jsonl")) <= rounds:
        raise Fault(f"{out}: nothing was learned when nobody disturbed it")


def save_tiny(path: Path) -> object:
    """Weights of a network that learns in a moment."""
    import torch

    from penumbra.network import weights
    from penumbra.network.architecture import Architecture
    from penumbra.network.model import Network, to_weights

    torch.manual_seed(0)
    weights.save(to_weights(Network(Architecture(8, 2, ("All", "Top", "Wild"))), {"commit": "none"}), path)
    return path


def improved(out: Path, before: dict[str, set[bytes]]) -> dict[str, set[bytes]]:
    """The games in its archives; `Fault` if one has gone, or if anything in the folder is not whole."""
    from penumbra.network.weights import WeightsError, load

    for name in ("weights.safetensors", "playing.safetensors"):
        try:
            if (out / name).exists():
                load(out / name)
        except WeightsError as error:
            raise Fault(f"{out}: {error}") from None
    for line in read_lines(out / "log.jsonl"):
        if not json.loads(line)["updates"]:
            raise Fault(f"{out}: a round without an update: {line}")
    if (log := out / "population.log").exists():
        check_output("generation for improvement", log)
    now: dict[str, set[bytes]] = {}
    for name in ("population.db", "selfplay.db"):
        now[name] = set()
        if (out / name).exists() and (out / name).stat().st_size:
            with Archive.open(out / name, write=True) as archive:
                if problems := verify(archive).problems:
                    raise Fault(f"{out / name}: {problems[0]}")
                now[name] = {game.data for game in archive.games()}
        if not before.get(name, set()) <= now[name]:
            raise Fault(f"{out / name}: has lost games")
    return now


def server(chaos: Chaos) -> None:
    """Guests play on while the server and its bots are killed and stopped; each finds its game as it was told of it."""
    port, folder = free_port(), chaos.path("games")
    guests = [Guest(port, random.Random(chaos.rng.random()), opponent) for opponent in GUESTS]
    command: Command | None = None
    for is_last in (*[False] * chaos.rng.randint(1, 3), True):
        arguments = ("serve", "--port", port, "--data", folder)
        command = chaos.start(*arguments) if is_last else chaos.start_disturbed(*arguments)
        turns = sum(guest.turns for guest in guests)
        with at_play(guests):
            if is_last:
                wait_for_turns(guests, turns)
                chaos.signal(command.process.pid, signal.SIGTERM)
            else:
                chaos.disturb(command, pause=4 * PAUSE)
            command.end()
        if faults := [guest.fault for guest in guests if guest.fault]:
            raise Fault(faults[0])
    if damaged := list(folder.glob("*.damaged")):
        raise Fault(f"{damaged[0]}: whole lines of a log did not follow")
    chaos.tally["turns of guests"] += sum(guest.turns for guest in guests)
    chaos.tally["games of guests to their end"] += sum(guest.finished for guest in guests)
    chaos.tally["games of guests that a bot gave up"] += sum(guest.crashed for guest in guests)


def wait_for_turns(guests: list[Guest], turns: int) -> None:
    """Until all have come back and played on; `Fault` if they cannot."""
    end = time.monotonic() + SECONDS
    while sum(guest.turns for guest in guests) < turns + 5 * len(guests) and not any(guest.fault for guest in guests):
        if time.monotonic() > end:
            raise Fault("guests do not get on, though nobody disturbs the server any more")
        time.sleep(0.1)


def ray_workers(chaos: Chaos) -> None:
    """Generation on a cluster of this machine, of whose workers one dies every now and then."""
    with ray_generation(chaos, 2) as (nodes, command, path):
        for _ in range(chaos.rng.randint(1, 4)):
            wait_for_games(path, command)
            time.sleep(chaos.rng.uniform(0.0, PAUSE))
            workers = nodes[0].workers()
            if command.is_running() and workers:
                chaos.signal(chaos.rng.choice(workers), signal.SIGKILL, "kills of a Ray worker")


def ray_node(chaos: Chaos) -> None:
    """Generation on a cluster of two nodes, one of which is lost at some moment after the first game."""
    with ray_generation(chaos, 1, 1) as (nodes, command, path):
        wait_for_games(path, command)
        time.sleep(chaos.rng.uniform(0.0, 2 * PAUSE))
        if command.is_running():
            nodes[1].kill(chaos)
            chaos.tally["kills of a Ray node"] += 1


@contextlib.contextmanager
def ray_generation(chaos: Chaos, *cores: int) -> Iterator[tuple[list[Node], Command, Path]]:
    """What is done to it while it lasts costs no game, and makes none come twice."""
    if not is_installed("ray"):
        raise LeftOut("Ray")
    file = chaos.file("population.toml", POPULATION)

    def whole() -> object:
        path = chaos.path("generation.db")
        chaos.finish("generate", file, "--archive", path)
        return contents(path), None

    expected = chaos.reference("generation", whole)
    path = chaos.path("ray.db")
    with ray_cluster(chaos, *cores) as (nodes, address):
        command = chaos.start("generate", file, "--archive", path, "--ray", address)
        yield nodes, command, path
        if command.end(2 * SECONDS) != 0:
            raise Fault(f"{command} does not survive its cluster: {command.log.read_text()[-1000:]}")
        chaos.tally["lines about a lost Ray node"] += "the Ray cluster has lost 1 of its" in command.log.read_text()
    if (contents(path), None) != expected:
        raise Fault(f"{path}: is not what an undisturbed run makes")


SCENARIOS: dict[str, Callable[[Chaos], None]] = {
    "tournament": tournament,
    "generation": generation,
    "match": match,
    "full disk": full_disk,
    "inference": inference,
    "improvement": improvement,
    "server": server,
    "Ray workers": ray_workers,
    "Ray node": ray_node,
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
            except LeftOut as without:
                chaos.tally[f"left out, for there is no {without}"] += 1
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
