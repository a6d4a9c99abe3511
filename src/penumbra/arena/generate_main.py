"""`python -m penumbra.arena.generate_main CONFIG --archive FILE`: the mill with numpy and the native core alone."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from penumbra.arena.generate import Progress, run
from penumbra.arena.population import Population, read_population
from penumbra.games.archive import Archive

INTERRUPTED = 130


def generate(population: Population, path: Path, every: float = 10.0) -> Progress:
    """Plays into the archive at `path`, made if need be, with a line of progress every so many seconds."""
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            print(progress.line(), flush=True)

    with Archive.open_or_create(path) as archive:
        return run(population, archive, report)


def conclude(progress: Progress, path: Path) -> int:
    """Says what came of a run; the exit status."""
    known = progress.played - progress.new
    print(f"{path}: {progress.line()}; {progress.played:,} played now, {known:,} of them known already")
    means = {name: seconds / games for name, (games, seconds) in progress.seconds.items()}
    if means:
        slowest = sorted(means.items(), key=lambda item: -item[1])
        print("seconds a game: " + ", ".join(f"{name} {mean:.2f}" for name, mean in slowest))
    for failure in progress.failures[:10]:
        print(f"penumbra: {failure}", file=sys.stderr)
    if progress.stopped:
        kept = "what was played is kept, and a new run goes on from there"
        print(f"penumbra: {progress.stopped}; {kept}", file=sys.stderr)
        return INTERRUPTED if progress.stopped == "interrupted" else 1
    return 1 if progress.failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m penumbra.arena.generate_main", description=__doc__)
    parser.add_argument("config", type=Path, help="a population (TOML)")
    parser.add_argument("--archive", type=Path, required=True, help="where the games go; made if it is not there")
    parser.add_argument("--games", type=int, help="instead of the file's")
    parser.add_argument("--minutes", type=float, help="instead of the file's")
    parser.add_argument("--seed", type=int, help="instead of the file's")
    parser.add_argument("--workers", type=int, help="instead of the file's")
    given = vars(parser.parse_args())
    changes = {key: given[key] for key in ("games", "minutes", "seed", "workers") if given[key] is not None}
    try:
        population = read_population(given["config"], **changes)
        return conclude(generate(population, given["archive"]), given["archive"])
    except (ValueError, OSError) as error:
        print(f"penumbra: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
