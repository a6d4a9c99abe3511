"""The ablation: retrained without each plane, does it predict worse, and does saliency foretell that?

A plane is removed by clearing its bits in all synopses, for training and for judging. The change is that of the mean
policy accuracy of the headsets, each on its own data, against networks that have all planes. Each network is one line
of a file, so that a run that was stopped goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from penumbra.core import GameRecord
from penumbra.rbc.synopsis import PLANES
from penumbra.reproduce import planes_study, published, runs
from penumbra.reproduce.games import games, looking
from penumbra.reproduce.orders import chance, correlation, verdict
from penumbra.reproduce.planes_study import Floats, order, over_training, study
from penumbra.reproduce.plots import OURS, new_figure
from penumbra.reproduce.request import Cost, ReproductionError, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.table_saliency import published_column
from penumbra.reproduce.telling import points_for_correlation
from penumbra.training.data import Table, top_players
from penumbra.training.evaluation import evaluate
from penumbra.training.examples import split
from penumbra.training.recipe import Recipe
from penumbra.training.run import validation_table
from penumbra.training.trainer import Trainer
from penumbra.training.window import table_for
from penumbra.whole_files import append_lines, read_lines

NAME, TITLE = "ablation", "Retraining without each plane"
WHOLE = -1  # stands for a network with all planes


@dataclass(frozen=True)
class Sizes:
    games: int
    planes: int  # how many of the 104, spread evenly over the paper's order of saliency
    seeds: int  # networks for each
    steps: int
    n_width: int
    n_depth: int
    batch: int
    most: int  # examples of each headset's data by which it is judged
    batches_a_second: float


SCALES = {
    "tiny": Sizes(60, 3, 1, 2, 4, 1, 8, 32, 20.0),
    "smoke": Sizes(300, 5, 1, 80, 8, 1, 64, 200, 15.0),
    "small": Sizes(4_000, 26, 1, 400, 32, 2, 512, 4_000, 150.0),
    "paper": Sizes(100_000, 104, 5, 650_000, 128, 10, 256, 100_000, 60.0),
}


def cost(request: Request) -> Cost:
    sizes = request.of(SCALES)
    steps = (sizes.planes + 1) * sizes.seeds * sizes.steps
    study_cost = planes_study.cost(request)
    count = request.games or sizes.games
    seconds = steps / sizes.batches_a_second + study_cost.seconds
    return looking(request, count, seconds, steps + study_cost.steps, runs.memory(request, count))


def run(request: Request) -> Result:
    found = study(request)
    saliency = over_training(found.logs)
    sizes = request.of(SCALES)
    planes = chosen_planes(sizes.planes)
    accuracies = retrain(request, planes)
    base = accuracies[WHOLE]
    paper = published_column("ablation")
    measures = {"loss PBS": saliency.pbs["loss"], "action PbS": saliency.pbs_of_bits("action")}
    rows: list[list[Cell]] = []
    for plane in planes:
        change = 100 * (accuracies[plane] - base)
        row: list[Cell] = [plane, PLANES[plane].name, round(change, 2), float(paper[plane])]
        rows.append([*row, *(float(values[plane]) for values in measures.values())])
    changes = np.array([100 * (accuracies[plane] - base) for plane in planes])
    figure, axes = new_figure(TITLE, 12, 5, 2)
    claims = []
    for ax, (name, values) in zip(axes, measures.items(), strict=True):
        ax.scatter(values[planes], changes, color=OURS, s=18)
        ax.set(xlabel=f"our {name}", ylabel="change of policy accuracy, points", xscale="log")
        claims.append(_claim(name, values[planes], changes))
    notes = [
        f"Ours: {len(planes)} of 104 planes, {sizes.seeds} network(s) each of {sizes.n_depth} blocks of "
        f"{sizes.n_width} channels, {sizes.steps:,} batches of {sizes.batch}; with all planes {100 * base:.1f} % top-1 "
        "on average over the headsets. Changes of less than the spread between seeds say nothing.",
        f"Saliency: {found.origin}.",
        "The paper retrained its whole network without each of the 104 planes.",
    ]
    heading = ["plane", "name", "accuracy change", "accuracy change (paper)", *measures]
    return Result(NAME, TITLE, Grid(heading, rows), figure, notes, claims)


def _claim(name: str, values: Floats, changes: Floats) -> Claim:
    paper = published.fact(f"{name} and ablation")
    ours = correlation(values, changes)
    text = f"correlation of {name} with the change of accuracy is slightly negative"
    said = f"{ours:.3f}; ±{chance(len(values)):.2f} by chance with {len(values)} planes"
    holds = verdict(ours, len(values), positive=False)
    return Claim(text, f"{paper:.3f}", said, holds, points_for_correlation(paper), "planes; there are 104")


def chosen_planes(count: int) -> list[int]:
    """So many planes, from the paper's most salient to its least."""
    planes = order(published_column("action PbS"))
    return sorted(planes[int(i)] for i in np.linspace(0, len(planes) - 1, count).round())


def retrain(request: Request, planes: Sequence[int]) -> dict[int, float]:
    """The mean policy accuracy without each plane, and with all of them."""
    sizes = request.of(SCALES)
    found = games(request, request.games or sizes.games)
    recipe = runs.recipe_for(request, found.records)
    if request.recipe is None and request.scale != "paper":
        architecture = replace(recipe.architecture, n_width=sizes.n_width, n_depth=sizes.n_depth)
        training = replace(recipe.training, steps=sizes.steps, batch=sizes.batch, warm_up=sizes.steps // 20)
        recipe = replace(recipe, architecture=architecture, training=training)
    if recipe.architecture.synopsis != "binary":
        raise ReproductionError(f"{request.recipe}: reads shares; the paper's planes are those of a binary synopsis")
    path = request.out / "ablation.jsonl"
    about = hashlib.blake2b(repr((recipe, sizes.most, len(found.records))).encode(), digest_size=8).hexdigest()
    known = _known(path, about)
    tables: tuple[Table, Table] | None = None
    for seed in range(sizes.seeds):
        for plane in (WHOLE, *planes):
            if (plane, seed) in known:
                continue
            if tables is None:
                tables = _tables(request, recipe, found.records)
            accuracy = _train_without(plane, request, recipe, seed, tables, sizes.most)
            known[plane, seed] = accuracy
            append_lines(path, json.dumps({"run": about, "plane": plane, "seed": seed, "top1": accuracy}) + "\n")
            request.say(f"without plane {plane}: {accuracy:.2%}" if plane != WHOLE else f"all planes: {accuracy:.2%}")
    return {plane: float(np.mean([known[plane, seed] for seed in range(sizes.seeds)])) for plane in (WHOLE, *planes)}


def _known(path: Path, about: str) -> dict[tuple[int, int], float]:
    """The networks of this very ablation that were trained before, by plane and seed."""
    rows = [json.loads(line) for line in read_lines(path)]
    return {(row["plane"], row["seed"]): row["top1"] for row in rows if row["run"] == about}


def _tables(request: Request, recipe: Recipe, records: Sequence[GameRecord]) -> tuple[Table, Table]:
    """Examples for training and for judging."""
    learned = table_for(recipe, split(records)[0], top_players(records), request.device)
    learned.fill()
    return learned, validation_table(recipe, records, request.device, recipe.examples.cap)


def _train_without(
    plane: int, request: Request, recipe: Recipe, seed: int, tables: tuple[Table, Table], most: int
) -> float:
    """The mean top-1 accuracy of the headsets on their own data; a long training goes on from its checkpoint."""
    trainer = Trainer(replace(recipe, training=replace(recipe.training, seed=request.seed + seed)), request.device)
    checkpoint = request.out / "ablation" / f"{plane}-{seed}.pt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    if checkpoint.is_file():
        trainer.load(checkpoint)
    with contextlib.ExitStack() as removed:
        for table in tables:
            removed.enter_context(without(table, plane))
        trainer.train(tables[0], lambda entry: None, every=10_000, each=lambda trainer: trainer.save(checkpoint))
        trainer.recalibrate(tables[0], batches=20)
        result = evaluate(trainer.network, tables[1], most, min(most, 2048))
    checkpoint.unlink(missing_ok=True)
    return float(np.mean(list(result.own("top1").values())))


@contextlib.contextmanager
def without(table: Table, plane: int) -> Iterator[None]:
    """The table with all bits of a plane cleared."""
    table.without = None if plane == WHOLE else plane
    try:
        yield
    finally:
        table.without = None
