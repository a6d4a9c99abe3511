"""What `penumbra doctor --deep` looks at, each with a line that says it is fine, or what is wrong and what to do."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

AGAIN = "install Penumbra again"
LEAST_ROOM = 200 * 2**20  # bytes
LEAST_NODES = 100  # files
COARSEST_CLOCK = 0.005  # seconds: a step is a few tenths of one
SHOWN_PROBLEMS = 3


@dataclass(frozen=True)
class Finding:
    """What was looked at, and what it is like; `remedy` is what to do about it where it is wrong."""

    what: str
    state: str
    remedy: str = ""

    @property
    def is_wrong(self) -> bool:
        return bool(self.remedy)

    def line(self) -> str:
        return f"{self.what:<28} " + (f"WRONG: {self.state}; {self.remedy}" if self.remedy else f"fine: {self.state}")


def diagnose(archive: Path | None) -> Iterator[Finding]:
    """Everything, in the order in which one thing needs another."""
    yield from _weights()
    yield from _searches()
    yield _clock()
    yield from _disks(archive)
    if archive is not None:
        yield _archive(archive)


def _weights() -> Iterator[Finding]:
    from penumbra.bench.reference import WEIGHTS, digest, stored

    known, _ = stored()
    for name, path in WEIGHTS.items():
        what = f"weights, {name}"
        try:
            found = digest(path)
        except OSError as error:
            yield Finding(what, f"{path}: cannot be read ({error.strerror})", AGAIN)
            continue
        if found == known[name]:
            yield Finding(what, f"{path.stat().st_size:,} bytes, with the hash of the release")
        else:
            yield Finding(
                what, f"{path}: has not the hash of the release ({found[:12]}, not {known[name][:12]})", AGAIN
            )


def _searches() -> Iterator[Finding]:
    from penumbra.bench.reference import difference, evaluators, search, stored

    _, known = stored()
    for name, (kind, make) in evaluators().items():
        what = f"search, {name}"
        began = time.perf_counter()
        try:
            share, where = difference(kind, search(make()), known[kind])
        except Exception as error:  # whatever is broken in a library that evaluates
            text = " ".join(str(error).split())[:200]
            yield Finding(what, f"it fails with {type(error).__name__}: {text}", AGAIN)
            continue
        took = time.perf_counter() - began
        if share <= 1:
            yield Finding(what, f"differs from the stored numbers by {share:.0%} of what is allowed; {took:.1f} s")
        else:
            state = f"{where} differs from the stored number by {share:.0%} of what is allowed"
            yield Finding(what, state, f"{AGAIN}; if that does not help, report it with what this prints")


def _clock() -> Finding:
    """The clock by which players think: how finely it goes, and that it never goes back."""
    steps = []
    last = time.monotonic()
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        now = time.monotonic()
        if now != last:
            steps.append(now - last)
        last = now
    finest = min((step for step in steps if step > 0), default=float("inf"))
    if any(step < 0 for step in steps):
        return Finding("clock", "it goes back", "look at the machine's clock source; players would lose on time")
    if finest > COARSEST_CLOCK:
        state = f"it goes in steps of {1000 * finest:.1f} ms" if steps else "it stands still"
        return Finding("clock", state, "look at the machine's clock source; players would lose on time")
    return Finding("clock", f"it goes in steps of {1e6 * finest:.1f} µs or less")


def _disks(archive: Path | None) -> Iterator[Finding]:
    from penumbra.server.games_folder import games_folder

    places = {"this folder": Path.cwd(), "temporary files": Path(tempfile.gettempdir()), "games": games_folder()}
    if archive is not None:
        places["the archive"] = archive.absolute().parent
    for name, folder in places.items():
        yield _disk(f"disk, {name}", folder)


def _disk(what: str, folder: Path) -> Finding:
    import os

    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        free, nodes = shutil.disk_usage(there).free, os.statvfs(there)
    except OSError as error:
        return Finding(what, f"{there}: cannot be looked at ({error.strerror})", "look at its file system")
    if free < LEAST_ROOM:
        return Finding(what, f"{there}: {free / 2**20:,.0f} MB are free", "make room, or write elsewhere")
    if nodes.f_files and nodes.f_favail < LEAST_NODES:
        return Finding(what, f"{there}: has no room for more files", "remove some, or write elsewhere")
    return Finding(what, f"{there}: {free / 2**30:,.1f} GB are free")


def _archive(path: Path) -> Finding:
    from penumbra.games.archive import Archive, ArchiveError
    from penumbra.games.database import ArchiveDamaged
    from penumbra.games.verification import verify

    repair = f"save the rest with: penumbra archive repair {path} NEW"
    try:
        with Archive.open(path) as archive:
            findings = verify(archive)
    except ArchiveDamaged as error:
        return Finding("archive", str(error).partition("; ")[0], repair)
    except ArchiveError as error:
        return Finding("archive", str(error), "name another one")
    if findings.problems:
        some = "; ".join(findings.problems[:SHOWN_PROBLEMS])
        return Finding("archive", f"{path}: {len(findings.problems):,} problems: {some}", repair)
    return Finding("archive", f"{path}: {findings.games:,} games, each sound")
