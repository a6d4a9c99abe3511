"""`penumbra evaluate`: how well a network predicts games that it has not learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import first, folder_to_fill
from penumbra.commands.options import VALIDATION_EXAMPLES, Archives, Cap, Device, WeightsFile, examples

if TYPE_CHECKING:
    from penumbra.training.evaluation import Evaluation

EXAMPLES = examples("penumbra evaluate runs/lite/weights.safetensors --archive games.db --cap 5000 --out tables")


def evaluate(
    weights: WeightsFile,
    archive: Archives,
    out: Annotated[
        Path | None, typer.Option(help="A folder to write the tables to, as CSV.", callback=first(folder_to_fill))
    ] = None,
    device: Device = "auto",
    cap: Cap = 1_000_000,
    validation_examples: Annotated[int, typer.Option(min=1, help=VALIDATION_EXAMPLES)] = 100_000,
) -> None:
    """Say how well a network predicts the games kept for validation: the paper's Table 1 and its cross tables."""
    from penumbra.network import weights as files
    from penumbra.network.loading import choose_device
    from penumbra.network.model import from_weights
    from penumbra.training import run as training
    from penumbra.training.evaluation import evaluate as judge
    from penumbra.training.recipe import recipe_of

    where = choose_device(device)
    given = files.load(weights)
    records = training.read_games(archive)
    table = training.validation_table(recipe_of(given), records, where, cap)
    result = judge(from_weights(given).to(where), table, validation_examples)
    print(table.tally)
    if out is not None:
        result.save(out)
    show(result)


def show(result: Evaluation) -> None:
    """Each headset on its own data, beside the paper's where it has one, and who is best on each headset's data."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from penumbra.reproduce.published import rows

    grid = Table("headset", "examples", "top-1 %", "top-5 %", "winner %", "paper", "best on its data (top-1)")
    own = {measure: result.own(measure) for measure in ("top1", "top5", "winner")}
    best = result.best_of_columns("top1")
    published = {row["headset"]: [row[measure] for measure in own] for row in rows("table1")}
    for j, name in enumerate(result.data):
        shares = [own[measure].get(name, np.nan) for measure in own]
        paper = " ".join(published.get(name, ()))
        grid.add_row(name, f"{result.examples[j]:,}", *(f"{100 * share:.1f}" for share in shares), paper, best[name])
    console = Console()
    console.print(grid)
    bins = Table("examples", "mean value", "mean outcome", title="calibration of the value")
    for n, value, outcome in result.calibration:
        if n:
            bins.add_row(f"{int(n):,}", f"{value:.2f}", f"{outcome:.2f}")
    console.print(bins)
