"""`penumbra generate` and `penumbra rate` on the terminal."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from penumbra.arena.archive_run import Progress, at_intervals
from penumbra.arena.generate import GeneratedGame, run
from penumbra.arena.pool import AnyPool
from penumbra.arena.population import Pairing, Population
from penumbra.commands.progress import conclude
from penumbra.games.archive import Archive

if TYPE_CHECKING:
    from penumbra.games.ratings import Ratings


def generate(
    population: Population, path: Path, console: Console, pool: AnyPool[Pairing, GeneratedGame] | None = None
) -> int:
    """Plays what is missing into the archive at `path`, made if need be, and says what came of it; the exit status."""
    with Archive.open_or_create(path) as archive, _shown(population, console) as show:
        progress = run(population, archive, pool, show)
    known = progress.played - progress.new
    print(f"{path}: {progress.line()}; {progress.played:,} played now, {known:,} of them known already")
    means = {name: seconds / games for name, (games, seconds) in progress.seconds.items()}
    if means:
        slowest = sorted(means.items(), key=lambda item: -item[1])
        print("seconds a game: " + ", ".join(f"{name} {mean:.2f}" for name, mean in slowest))
    return conclude(progress)


@contextlib.contextmanager
def _shown(population: Population, console: Console, every: float = 10.0) -> Iterator[Callable[[Progress], None]]:
    """What shows the progress: a bar on a terminal, or a line now and then."""
    if not console.is_terminal:
        yield at_intervals(every, lambda progress: print(progress.line(), flush=True))
        return
    with Bar(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("starting", total=population.games)
        yield lambda progress: bar.update(task, completed=progress.done, description=progress.line())


def show_ratings(ratings: Ratings, as_json: bool) -> None:
    """A table, the best first; `better` is how likely one is better than the next, `*` marks whom `Top` stands for."""
    if as_json:
        print(json.dumps(asdict(ratings), indent=1))
        return
    width = max(len("player"), *(len(rating.name) for rating in ratings.players))
    print(
        f"{'':>4} {'player':<{width}}  {'Elo':>6} {'95 %':>6} {'games':>8} {'score':>7} {'draws':>7} {'better':>7}  Top"
    )
    for rank, rating in enumerate(ratings.players, 1):
        last = rank == len(ratings.players)
        better = "" if last else f"{100 * ratings.superiority[rank - 1][rank]:.1f} %"
        draws = f"{100 * rating.draws / rating.games:.1f} %"
        print(
            f"{rank:>4} {rating.name:<{width}}  {rating.elo:>6.0f} {f'±{rating.margin:.0f}':>6} {rating.games:>8,} "
            f"{f'{100 * rating.share:.1f} %':>7} {draws:>7} {better:>7}  {'*' if rating.top else ''}".rstrip()
        )
    print(
        f"White's first move is worth {ratings.advantage:+.0f} ±{ratings.advantage_margin:.0f}; {ratings.games:,} games"
    )
