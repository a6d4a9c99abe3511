"""`penumbra train`: a network from archived games."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penumbra.commands.checks import file_to_read, first, folder_to_fill
from penumbra.commands.errors import when_interrupted
from penumbra.commands.options import MINUTES, VALIDATION_EXAMPLES, Archives, Cap, Device, examples

if TYPE_CHECKING:
    from penumbra.training.recipe import Recipe

EXAMPLES = examples(
    "penumbra train lite --archive games.db --out runs/lite",
    "penumbra train full lite --archive games.db --out runs --minutes 60 --minutes 30",
)
RECIPES = "as the recipe says"


def train(
    recipes: Annotated[
        list[Path],
        typer.Argument(
            help="How to train: a TOML file, or a shipped one's name; several share the examples of the first."
        ),
    ],
    archive: Archives,
    out: Annotated[
        Path,
        typer.Option(
            help="The folder of the run; of several recipes, each has a folder of its name in it.",
            callback=first(folder_to_fill),
        ),
    ],
    start: Annotated[
        Path | None,
        typer.Option(
            help="Weights to begin with, of the recipe's network.",
            show_default="random ones",
            callback=first(file_to_read),
        ),
    ] = None,
    device: Device = "auto",
    minutes: Annotated[
        list[float] | None,
        typer.Option(
            min=0, metavar="NUMBER", help=f"{MINUTES} Once for all recipes, or once for each.", show_default=RECIPES
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Train for so many batches of examples.", show_default=RECIPES)
    ] = None,
    cap: Cap = 100_000,
    validation_examples: Annotated[
        int, typer.Option(min=0, help=f"{VALIDATION_EXAMPLES} 0: do not judge them.")
    ] = 100_000,
    all_games: Annotated[
        bool, typer.Option("--all-games", help="Learn from the games kept for validation too; nothing is judged then.")
    ] = False,
    saliency: Annotated[
        int, typer.Option(min=0, help="Measure every so many steps which planes the network looks at; 0: never.")
    ] = 0,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Save a checkpoint after so many seconds.")
    ] = 300.0,
) -> None:
    """Train a network on archived games. It needs torch: pip install 'penumbra[training]'.

    A run that was stopped goes on from its checkpoint. --cap and --validation-examples are for the evaluation at the
    end. On several GPUs: torchrun --nproc-per-node 4 -m penumbra train RECIPE ...
    """
    from penumbra.commands import evaluate
    from penumbra.network import weights
    from penumbra.network.loading import choose_device
    from penumbra.network.model import from_weights
    from penumbra.training import evaluation, run
    from penumbra.training.recipe import read_recipe
    from penumbra.training.saliency import FILE, SaliencyLog

    where = run.join_others(choose_device(device))
    changes = _changes(len(recipes), minutes, steps)
    read = [run.going_on(read_recipe(path, **changed), start) for path, changed in zip(recipes, changes, strict=True)]
    if len({recipe.architecture.synopsis for recipe in read}) > 1:
        sorts = ", ".join(f"{path} {recipe.architecture.synopsis}" for path, recipe in zip(recipes, read, strict=True))
        raise ValueError(f"recipes trained together share their examples, but these read different synopses: {sorts}")
    if any(recipe.loss.need_engine for recipe in read) and not read[0].examples.engine_states:
        raise ValueError(
            f"recipes trained together share the examples of the first, but {recipes[0]} has no engine_states"
        )
    records, searched = run.read_games(archive), run.read_searches(archive)
    validation = functools.cache(lambda: run.validation_table(read[0], records, where, cap))
    table = None
    with when_interrupted("the same command goes on from the checkpoint"):
        for path, recipe in zip(recipes, read, strict=True):
            folder = out / path.stem if len(recipes) > 1 else out
            watch = SaliencyLog(folder / FILE, validation(), saliency) if saliency else lambda trainer: None
            with _shown(recipe) as (say, report):
                _, table = run.train(
                    recipe,
                    records,
                    folder,
                    where,
                    checkpoint_every=checkpoint_every,
                    say=say,
                    report=report,
                    table=table,
                    start=start,
                    searched=searched,
                    watch=watch,
                    everything=all_games,
                )
            if run.is_first() and validation_examples and not all_games:
                written = weights.load(folder / "weights.safetensors")  # in half precision, as it will be used
                result = evaluation.evaluate(from_weights(written).to(where), validation(), validation_examples)
                result.save(folder / "evaluation")
                evaluate.show(result)


def _changes(recipes: int, minutes: list[float] | None, steps: int | None) -> list[dict[str, Any]]:
    """What the options change in each recipe."""
    limits = minutes or []
    if len(limits) not in (0, 1, recipes):
        raise ValueError(f"--minutes is given once for all recipes or once for each: {len(limits)} for {recipes}")
    steps_of_all = {} if steps is None else {"steps": steps}
    return [
        steps_of_all | ({"seconds": 60 * limits[min(i, len(limits) - 1)]} if limits else {}) for i in range(recipes)
    ]


@contextlib.contextmanager
def _shown(recipe: Recipe) -> Iterator[tuple[Callable[[str], None], Callable[[dict[str, Any]], None]]]:
    """(what says a line, what shows an entry of the log)."""
    from penumbra.commands.terminal.progress import progress

    with progress("train", 1.0, every=10.0) as bar:

        def report(entry: dict[str, Any]) -> None:
            t = recipe.training
            note = f"step {entry['step']:,}, {entry['examples/s']:,.0f} examples/s, policy {entry['policy']:.3f}"
            bar.show(max(entry["step"] / t.steps, entry["seconds"] / t.seconds), note)

        yield bar.say, report
