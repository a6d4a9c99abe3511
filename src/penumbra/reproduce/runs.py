"""Training runs, each with its weights and its log of saliency: what is asked for, and nothing twice.

Networks that are trained here have the headsets of Table 1 whose players are in the games, with the paper's weights and
multiplicities, and those of our other kinds. A run that was stopped goes on from its checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penumbra.core import GameRecord
from penumbra.games.archived_game import VALIDATION_SHARE
from penumbra.network.architecture import Architecture
from penumbra.reproduce import published
from penumbra.reproduce.games import PLAYERS, Games, looking, players_of, recognised
from penumbra.reproduce.request import Cost, Request, tracking_memory
from penumbra.training import saliency
from penumbra.training.data import Table
from penumbra.training.examples import ExampleSettings
from penumbra.training.recipe import EVERYBODY, THE_BEST, LossWeights, Plan, Recipe, Training, read_recipe
from penumbra.training.run import train, validation_table
from penumbra.training.saliency import SaliencyLog
from penumbra.training.window import bytes_of_rows

PAPER_RECIPE = "paper"  # comes with the program
ROWS_A_GAME = 200  # senses and moves of both players, about


@dataclass(frozen=True)
class Sizes:
    runs: int
    games: int
    n_width: int
    n_depth: int
    steps: int
    batch: int
    saliency_every: int  # steps
    saliency_batch: int
    cap: int  # states tracked in the games
    multiplicity: int  # at most
    batches_a_second: float


SCALES = {
    "tiny": Sizes(1, 60, 4, 1, 4, 16, 2, 8, 100, 1, 20.0),
    "smoke": Sizes(1, 600, 16, 2, 600, 64, 100, 64, 500, 2, 12.0),
    "small": Sizes(1, 8_000, 64, 6, 3_000, 1_024, 200, 256, 2_000, 4, 60.0),
    "paper": Sizes(5, 100_000, 128, 10, 650_000, 256, 5_000, 256, 1_000_000, 32, 60.0),
}


@dataclass(frozen=True)
class Run:
    weights: Path
    log: Path  # of saliency

    @property
    def is_done(self) -> bool:
        return self.weights.is_file() and self.log.is_file()


def runs_of(request: Request) -> list[Run]:
    """Those of this scale, done or not."""
    folders = [request.out / "training" / str(number + 1) for number in range(request.of(SCALES).runs)]
    return [Run(folder / "weights.safetensors", folder / saliency.FILE) for folder in folders]


def cost(request: Request) -> Cost:
    sizes = request.of(SCALES)
    steps = sum(not run.is_done for run in runs_of(request)) * sizes.steps
    count = request.games or sizes.games
    return looking(request, count, steps / sizes.batches_a_second, steps, memory(request, count))


def memory(request: Request, count: int) -> float:
    """Bytes: the examples that are held, those for judging, and the sets that they are made from."""
    sizes = request.of(SCALES)
    settings = ExampleSettings(multiplicity=sizes.multiplicity, cap=sizes.cap)
    if request.recipe is not None or request.scale == "paper":
        settings = recipe_for(request, []).examples
    rows = settings.window or count * ROWS_A_GAME * settings.multiplicity
    judging = count * ROWS_A_GAME // VALIDATION_SHARE
    return bytes_of_rows(rows + judging, settings) + tracking_memory(sizes.cap)


def recipe_for(request: Request, records: Sequence[GameRecord], seed: int = 0) -> Recipe:
    """A recipe that is given, the paper's own at its scale, or a smaller network's."""
    sizes = request.of(SCALES)
    if request.recipe is not None or request.scale == "paper":
        recipe = read_recipe(request.recipe or PAPER_RECIPE)
        return replace(recipe, training=replace(recipe.training, seed=seed))
    plans = plans_for(records, sizes.multiplicity)
    training = Training(
        optimizer="adamw",
        learning_rate=0.002,
        weight_decay=0.1,
        schedule="cosine",
        warm_up=sizes.steps // 20,
        batch=sizes.batch,
        steps=sizes.steps,
        mixed_precision=request.device == "cuda",
        seed=seed,
    )
    longest = max(plan.multiplicity for plan in plans.values())
    return Recipe(
        Architecture(sizes.n_width, sizes.n_depth, tuple(plans)),
        plans,
        training,
        LossWeights(value=0.3),
        ExampleSettings(multiplicity=longest, cap=sizes.cap),
    )


def plans_for(records: Sequence[GameRecord], most: int) -> dict[str, Plan]:
    """All, Top, and those headsets of the paper and of our own kinds whose players are in the games."""
    paper = {row["headset"]: row for row in published.rows("table1")}
    players = {EVERYBODY: "All", THE_BEST: "Top"}
    names = [name for name in (*paper, *PLAYERS) if name not in players.values()]
    found: dict[str, str | tuple[str, ...]] = {name: who for who, name in players.items()}
    found |= recognised(players_of(records), list(dict.fromkeys(names)))
    return {name: _plan(who, paper.get(name), most) for name, who in found.items()}


def _plan(players: str | tuple[str, ...], row: dict[str, str] | None, most: int) -> Plan:
    if row is None:  # not one of the paper's
        return Plan(players, 4.0, min(4, most))
    multiplicity = min(round(float(row["multiplicity"])), most)
    return Plan(players, float(row["weight"]), multiplicity, row["stop gradient"] == "Yes")


def trained(request: Request, found: Games) -> list[Run]:
    """All runs of this scale, trained as far as they are not yet."""
    sizes = request.of(SCALES)
    table: Table | None = None
    judges: Table | None = None
    for number, run in enumerate(runs_of(request)):
        if run.is_done:
            continue
        folder = run.weights.parent
        request.say(f"training run {number + 1} of {sizes.runs} in {folder}")
        recipe = recipe_for(request, found.records, request.seed + number)
        judges = judges or validation_table(recipe, found.records, request.device, sizes.cap)
        watch = SaliencyLog(run.log, judges, sizes.saliency_every, sizes.saliency_batch)
        every = min(200, math.gcd(sizes.saliency_every, sizes.steps))
        _, table = train(
            recipe,
            found.records,
            folder,
            request.device,
            checkpoint_every=60.0,
            say=request.say,
            table=table,
            watch=watch,
            log_every=every,
        )
    return runs_of(request)
