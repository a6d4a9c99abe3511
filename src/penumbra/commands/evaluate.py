"""`penumbra evaluate`: how well a network predicts games that it has not learned from."""

from __future__ import annotations

import json
import math
import random
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import file_to_write, first, folder_to_fill
from penumbra.commands.errors import complain
from penumbra.commands.options import MINUTES, VALIDATION_EXAMPLES, ArchivesIfAny, Device, WeightsFile, examples

if TYPE_CHECKING:
    from penumbra.core import GameRecord
    from penumbra.training.evaluation import Evaluation

EXAMPLES = examples(
    "penumbra evaluate runs/lite/weights.safetensors --archive games.db --cap 5000 --out tables",
    "penumbra evaluate full.safetensors --games server.jsonl.gz --folds 5 --minutes 8 --json-file real.json",
    "penumbra evaluate full.safetensors --chess --seconds 1",
)


def evaluate(
    weights: WeightsFile,
    archive: ArchivesIfAny = None,
    games: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Games of real players: an archive, or games as reconchess writes them; may be repeated.",
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=0, help="With --games: cross-validate in so many folds; 0: predict without learning.")
    ] = 5,
    recipe: Annotated[
        Path, typer.Option(help="With --games: how to learn, as for `penumbra train`; also which headsets are judged.")
    ] = Path("real"),
    passes: Annotated[
        int, typer.Option(min=1, help="With --games: make the examples so many times, each with draws of its own.")
    ] = 4,
    minutes: Annotated[float | None, typer.Option(min=0.1, help=f"{MINUTES} For --games alone.")] = None,
    chess: Annotated[
        bool, typer.Option("--chess", help="Count centipawns lost at frozen moves with at most two states possible.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=0.001, help="With --chess: the player thinks so long about each move, on one core.")
    ] = 1.0,
    positions: Annotated[
        int | None,
        typer.Option(min=1, help="With --chess: only so many of the positions, drawn at random.", show_default="all"),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --games or --chess: a file to write the figures to, as JSON.",
            callback=first(file_to_write),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="With --archive alone: a folder for the tables, as CSV.", callback=first(folder_to_fill)),
    ] = None,
    device: Device = "auto",
    cap: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="Track at most so many states for each player; beyond it, a random draw of them.",
            show_default="1000000; with --games, as the recipe says",
        ),
    ] = None,
    validation_examples: Annotated[int, typer.Option(min=1, help=VALIDATION_EXAMPLES)] = 100_000,
) -> None:
    """Say how well a network predicts games that it has not learned from: the paper's Table 1.

    With --archive alone: the games kept for validation, and the cross tables. With --games: real players, before and
    after learning from them by a recipe. The games are dealt into folds, and each is predicted by a copy of the network
    that learned from the other folds only; games of an --archive, as many as there are real ones, are learned from as
    well and not predicted.

    With --chess: what Stockfish thinks of moves where the game is nearly chess, at positions of real games that come
    with its scores. The moves are the policy's alone, the player's with the engine's opinion and without, and those
    played; beside them, what the value says of the positions by their material, and what came of them.
    """
    if chess:
        if games or archive:
            raise ValueError("--chess has positions of its own: leave out --games and --archive")
        _count_centipawns(weights, seconds, positions, json_file, device)
    elif games:
        _cross_validate(
            weights, games, archive or [], folds, recipe, passes, minutes or math.inf, json_file, device, cap
        )
    elif archive:
        _validate(weights, archive, out, device, cap or 1_000_000, validation_examples)
    else:
        raise ValueError("nothing to predict: give --archive, or --games of real players, or --chess")


def _validate(
    weights: Path, archive: list[Path], out: Path | None, device: str, cap: int, validation_examples: int
) -> None:
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


def _cross_validate(
    weights: Path,
    games: list[Path],
    archives: list[Path],
    folds: int,
    recipe: Path,
    passes: int,
    minutes: float,
    json_file: Path | None,
    device: str,
    cap: int | None,
) -> None:
    from penumbra.commands.terminal import predictions
    from penumbra.games.ratings import largest_part
    from penumbra.network import weights as files
    from penumbra.network.loading import choose_device
    from penumbra.training.data import results_between
    from penumbra.training.folds import CrossValidation, Limits
    from penumbra.training.recipe import read_recipe
    from penumbra.training.run import check_device, read_games
    from penumbra.whole_files import write_text

    ends = time.monotonic() + 60 * minutes
    where = choose_device(device)
    check_device(where)
    read = read_recipe(recipe)
    if cap is not None:
        read = replace(read, examples=replace(read.examples, cap=cap))
    records = _real_games(games)
    extra = read_games(archives) if archives else []
    extra = random.Random(0).sample(extra, min(len(extra), len(records)))
    _, unrated = largest_part(results_between(records))
    print(f"{len(records):,} games; {folds} folds" if folds else f"{len(records):,} games")
    if unrated:
        shown = ", ".join(unrated[:5]) + (", …" if len(unrated) > 5 else "")
        print(f"not rated, since no games connect them with the others: {len(unrated)} accounts ({shown})")
    given = files.load(weights)
    try:
        whole = CrossValidation(given, read, records, folds, where, extra=extra, limits=Limits(passes, ends))
    except files.WeightsError as error:
        raise files.WeightsError(f"{weights}: {error}") from None
    result = whole.run()
    print(f"{result.examples}; {result.steps:,} steps of each network; Top: {', '.join(result.top)}")
    if json_file is not None:
        about = {"weights": str(weights), "recipe": str(recipe), "files": [str(file) for file in games], "folds": folds}
        seconds = {"seconds": round(time.monotonic() - whole.began, 1)}
        write_text(json_file, json.dumps({**about, **seconds, **predictions.as_data(result)}, indent=1) + "\n")
    predictions.show(result)


def _count_centipawns(weights: Path, seconds: float, number: int | None, json_file: Path | None, device: str) -> None:
    from penumbra.commands.terminal import chess_figures
    from penumbra.commands.terminal.progress import progress
    from penumbra.players.penumbra.configuration import Configuration
    from penumbra.training import centipawns
    from penumbra.training.sample_positions import on_threads
    from penumbra.whole_files import write_text

    positions = centipawns.read_positions()
    if number is not None:
        positions = random.Random(0).sample(positions, min(number, len(positions)))
    total = len(positions)
    with on_threads(1), progress("positions", total, every=10.0) as bar:
        configuration = Configuration(weights=str(weights), device=device)
        result = centipawns.evaluate(
            configuration, positions, seconds, lambda done: bar.show(done, f"{done} of {total} positions")
        )
    if json_file is not None:
        write_text(json_file, json.dumps({"weights": str(weights), **asdict(result)}, indent=1) + "\n")
    chess_figures.show(result)


def _real_games(files: list[Path]) -> list[GameRecord]:
    """The games of archives and of files of reconchess, each once; what is broken is told and left out."""
    from penumbra.games.archive import is_archive
    from penumbra.training.run import read_games

    archives = [file for file in files if is_archive(file)]
    others = [file for file in files if file not in archives]
    records = {record.hash: record for record in read_games(archives)} if archives else {}
    if others:
        from penumbra.interop import game_files

        for file in game_files.find_files(others):
            records.update((record.hash, record) for record in game_files.read_games(file, complain))
    if not records:
        raise ValueError(f"{', '.join(map(str, files))}: no games")
    return list(records.values())


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
