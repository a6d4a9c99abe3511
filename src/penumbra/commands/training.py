"""`penumbra train`, `evaluate` and `selfplay` at a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid

from penumbra.games.archive import Archive
from penumbra.reproduce.published import rows
from penumbra.training.selfplay import SelfPlay, network_policies, play

if TYPE_CHECKING:
    from penumbra.training.data import Table


def train(
    recipe_file: Path,
    archives: Sequence[Path],
    out: Path,
    device: str,
    changes: dict[str, Any],
    cap: int,
    saliency: int = 0,
    start: Path | None = None,
) -> None:
    """Trains with a progress bar, and judges what came of it."""
    torch_or_explain()
    from penumbra.network import weights
    from penumbra.network.loading import choose_device
    from penumbra.network.model import from_weights
    from penumbra.training import run as training
    from penumbra.training.evaluation import evaluate as judge
    from penumbra.training.recipe import read_recipe
    from penumbra.training.saliency import FILE, SaliencyLog

    where = training.join_others(choose_device(device))
    recipe = read_recipe(recipe_file, **changes)
    records = training.read_games(archives)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=console) as bar:
        task = bar.add_task("train", total=1.0, note="")

        def report(entry: dict[str, Any]) -> None:
            t = recipe.training
            done = max(entry["step"] / t.steps, entry["seconds"] / t.seconds)
            note = f"step {entry['step']:,}, {entry['examples/s']:,.0f} examples/s, policy {entry['policy']:.3f}"
            bar.update(task, completed=done, note=note)

        table: Table | None = None
        options: dict[str, Any] = {"say": console.print, "report": report, "start": start}
        options["searched"] = training.read_searches(archives)
        if saliency:
            table = training.validation_table(recipe, records, where, cap)
            options["watch"] = SaliencyLog(out / FILE, table, saliency)
        training.train(recipe, records, out, where, **options)
    if training.is_first():
        table = table or training.validation_table(recipe, records, where, cap)
        written = weights.load(out / "weights.safetensors")  # in half precision, as it will be used
        result = judge(from_weights(written).to(where), table)
        result.save(out / "evaluation")
        show(result)


def evaluate(weights_file: Path, archives: Sequence[Path], out: Path | None, device: str, cap: int, most: int) -> None:
    torch_or_explain()
    from penumbra.network import weights
    from penumbra.network.loading import choose_device
    from penumbra.network.model import from_weights
    from penumbra.training import run as training
    from penumbra.training.evaluation import evaluate as judge
    from penumbra.training.recipe import recipe_of

    where = choose_device(device)
    given = weights.load(weights_file)
    records = training.read_games(archives)
    table = training.validation_table(recipe_of(given), records, where, cap)
    result = judge(from_weights(given).to(where), table, most)
    print(table.tally)
    if out is not None:
        result.save(out)
    show(result)


def selfplay(plan: SelfPlay, path: Path, weights: str | None, device: str) -> None:
    """Plays with a progress bar; what has ended is kept whatever happens."""
    columns = (TextColumn("games"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[note]}"))
    began = time.monotonic()
    with (
        Archive.open_or_create(path) as archive,
        Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar,
    ):
        task = bar.add_task("games", total=plan.games, note="")

        def report(games: int, steps: int) -> None:
            seconds = time.monotonic() - began
            bar.update(task, completed=games, note=f"{games / seconds:,.1f} games/s, {steps / seconds:,.0f} steps/s")

        play(plan, network_policies(weights, device), archive, report)
    print(f"{path}: {plan.games:,} games, {plan.games / (time.monotonic() - began):,.1f} a second")


def show(result: Any) -> None:
    """Each headset on its own data, beside the paper's where it has one, and who is best on each headset's data."""
    grid = Grid("headset", "examples", "top-1 %", "top-5 %", "winner %", "paper", "best on its data (top-1)")
    own = {measure: result.own(measure) for measure in ("top1", "top5", "winner")}
    best = result.best_of_columns("top1")
    published = {row["headset"]: [row[measure] for measure in own] for row in rows("table1")}
    for j, name in enumerate(result.data):
        shares = [own[measure].get(name, np.nan) for measure in own]
        paper = " ".join(published.get(name, ()))
        grid.add_row(name, f"{result.examples[j]:,}", *(f"{100 * share:.1f}" for share in shares), paper, best[name])
    console = Console()
    console.print(grid)
    bins = Grid("examples", "mean value", "mean outcome", title="calibration of the value")
    for n, value, outcome in result.calibration:
        if n:
            bins.add_row(f"{int(n):,}", f"{value:.2f}", f"{outcome:.2f}")
    console.print(bins)


def torch_or_explain() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise ValueError("training and evaluation need torch: pip install 'penumbra[torch]'") from None
