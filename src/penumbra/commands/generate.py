"""`penumbra generate` and `penumbra rate` on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from penumbra.arena import generate as generation
from penumbra.arena.generate_main import conclude
from penumbra.arena.generate_main import generate as generate_plainly
from penumbra.arena.population import Population
from penumbra.games.archive import Archive
from penumbra.games.ratings import Ratings


def generate(population: Population, path: Path, console: Console) -> int:
    """Plays a population into an archive, with a bar where there is a terminal; the exit status."""
    if not console.is_terminal:
        return conclude(generate_plainly(population, path), path)
    with (
        Archive.open_or_create(path) as archive,
        Progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console) as bar,
    ):
        task = bar.add_task("starting", total=population.games)
        progress = generation.run(
            population, archive, lambda now: bar.update(task, completed=now.done, description=now.line())
        )
    return conclude(progress, path)


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
