"""`penumbra generate`: games of a population of players, into an archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.errors import conclude_run
from penumbra.commands.options import (
    ArchiveToFillOption,
    GamesOfFile,
    MinutesOfFile,
    RayOption,
    SeedOfFile,
    WorkersOfFile,
    examples,
)

if TYPE_CHECKING:
    from penumbra.arena.archive_run import Progress

EXAMPLES = examples(
    "penumbra generate population --archive games.db",
    "penumbra generate population --archive games.db --minutes 5 --workers 2",
)


def generate(
    population: Annotated[
        Path, typer.Argument(help="The players and how much they play: a TOML file, or the name of a shipped one.")
    ],
    archive: ArchiveToFillOption,
    games: GamesOfFile = None,
    minutes: MinutesOfFile = None,
    seed: SeedOfFile = None,
    workers: WorkersOfFile = None,
    ray: RayOption = None,
) -> None:
    """Play a population of players against each other into an archive.

    A run that was stopped goes on where it was.
    """
    from penumbra.arena.generate import pool_for, run
    from penumbra.arena.population import read_population
    from penumbra.commands.terminal.progress import progress
    from penumbra.games.archive import Archive

    given = {"games": games, "minutes": minutes, "seed": seed, "workers": workers}
    planned = read_population(population, **{key: value for key, value in given.items() if value is not None})
    pool = pool_for(planned, ray)
    count = "games" if planned.games is None else f"{planned.games:,} games"
    until = "" if planned.minutes is None else f" for at most {planned.minutes:g} minutes"
    print(f"{archive}: {count} of {len(planned.members)} players{until}, {pool.at_once:,} at a time", flush=True)
    with Archive.open_or_create(archive) as to, progress("games", planned.games, every=10.0) as bar:
        played = run(planned, to, pool, lambda now: bar.show(now.done, now.line()))
    _show(played, archive)
    conclude_run(played.failures, played.stopped)


def _show(played: Progress, archive: Path) -> None:
    known = played.played - played.new
    print(f"{archive}: {played.line()}; {played.played:,} played now, {known:,} of them known already")
    means = {name: seconds / games for name, (games, seconds) in played.seconds.items()}
    if means:
        slowest = sorted(means.items(), key=lambda item: -item[1])
        print("seconds a game: " + ", ".join(f"{name} {mean:.2f}" for name, mean in slowest))
