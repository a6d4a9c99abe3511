"""`penumbra improve`: a network that learns from its own games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.checks import file_to_read, first, folder_to_fill
from penumbra.commands.errors import when_interrupted
from penumbra.commands.options import MINUTES, WORKERS, ArchivesIfAny, Cap, Device, Seed, Sort, examples

EXAMPLES = examples(
    "penumbra improve src/penumbra/weights/lite.safetensors --out runs/improved --minutes 30",
    "penumbra improve runs/lite/weights.safetensors --out runs/improved --minutes 30 \\",
    "    --population improve --workers 8 --archive games.db",
)


def improve(
    weights: Annotated[Path, typer.Argument(help="The weights to begin with.", callback=first(file_to_read))],
    out: Annotated[
        Path, typer.Option(help="The folder to write weights, games and logs to.", callback=first(folder_to_fill))
    ],
    minutes: Annotated[float, typer.Option(min=0, help=MINUTES)],
    teacher: Annotated[
        Path | None,
        typer.Option(
            help="Weights of any size whose policy it learns too, less and less.", callback=first(file_to_read)
        ),
    ] = None,
    synopsis: Annotated[
        Sort | None,
        typer.Option(help="Let it read another sort of synopsis than before.", show_default="what it reads"),
    ] = None,
    opponent: Annotated[
        list[str] | None,
        typer.Option(metavar="HEADSET", help="A headset to play against besides itself; may be repeated."),
    ] = None,
    against_itself: Annotated[
        float, typer.Option(min=0, max=1, help="The share of games against itself among those of bare networks.")
    ] = 0.5,
    at_once: Annotated[int, typer.Option(min=1, help="How many games of bare networks advance together.")] = 1024,
    population: Annotated[
        Path | None,
        typer.Option(help="Players to play against too: a TOML file, or a shipped one's name, as `improve`."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help=f"{WORKERS} Only with --population.")] = 2,
    archive: ArchivesIfAny = None,
    anchor_games: Annotated[
        int, typer.Option(min=1, help="How many games of --archive the other headsets go on learning from.")
    ] = 5000,
    steps: Annotated[
        int, typer.Option(min=1, help="Each round has at least so many of its senses and moves.")
    ] = 100_000,
    learning_rate: Annotated[float, typer.Option(min=0, help="The learning rate.")] = 0.0001,
    batch: Annotated[
        int, typer.Option(min=1, help="How many senses and moves an update of the weights is from.")
    ] = 2048,
    epochs: Annotated[int, typer.Option(min=1, help="How many times each round of games is learned from.")] = 2,
    population_weight: Annotated[
        int, typer.Option(min=1, help="Count a game against the population as so many games of bare networks.")
    ] = 1,
    entropy: Annotated[float, typer.Option(help="How much an undecided policy is rewarded.")] = 0.003,
    value_lambda: Annotated[
        float, typer.Option(min=0, max=1, help="Values learn λ-returns by this λ; 1: the results of games.")
    ] = 1.0,
    largest: Annotated[
        float,
        typer.Option(min=0.001, max=1, help="Learn from this share of the steps, those of the largest advantages."),
    ] = 1.0,
    last_rate: Annotated[float, typer.Option(min=0, max=1, help="What is left of the learning rate at the end.")] = 0.1,
    magnet: Annotated[
        float, typer.Option(min=0, help="Hold the policy near the one it begins with, less and less; 0: do not.")
    ] = 0.0,
    magnet_floor: Annotated[float, typer.Option(min=0, help="The least that --magnet falls to.")] = 0.0,
    rounds: Annotated[
        int,
        typer.Option(min=0, help="End after so many rounds over all runs; rates follow them, not the time. 0: never."),
    ] = 0,
    league_every: Annotated[
        int, typer.Option(min=0, help="Keep a past self every so many rounds, and play against them; 0: do not.")
    ] = 0,
    past_selves: Annotated[int, typer.Option(min=1, help="How many past selves a round meets.")] = 2,
    against_past: Annotated[
        float, typer.Option(min=0, max=1, help="The share of the games of bare networks against past selves.")
    ] = 0.25,
    cap: Cap = 500,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Play and make examples with so many threads.", show_default="all cores")
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
) -> None:
    """Let a network learn from its own games by proximal policy optimisation.

    It needs torch: pip install 'penumbra[training]'.

    The headset `Penumbra` begins as a copy of `Top` and plays against itself, against other headsets and, with
    --population, against built-in players. The other headsets go on learning from --archive. The folder holds all
    games, a log of each round, and in weights.safetensors a running mean of the weights. The same command goes on where
    the last one in this folder ended: with the same optimiser, games and past selves.
    """
    from penumbra.network.loading import choose_device
    from penumbra.training.examples import ExampleSettings
    from penumbra.training.ppo import Improvement, ImprovementRun, run

    plan = Improvement(
        steps=steps,
        learning_rate=learning_rate,
        batch=batch,
        epochs=epochs,
        generated_weight=population_weight,
        entropy=entropy,
        value_lam=value_lambda,
        largest=largest,
        last_rate=last_rate,
        magnet=magnet,
        magnet_floor=magnet_floor,
        examples=ExampleSettings(cap=cap, settle=False),
        seed=seed,
    )
    asked = ImprovementRun(
        weights=weights,
        out=out,
        seconds=60 * minutes,
        plan=plan,
        device=choose_device(device),
        synopsis=None if synopsis is None else synopsis.value,
        teacher=teacher,
        opponents=tuple(opponent or ()),
        against_itself=against_itself,
        at_once=at_once,
        population=population,
        workers=workers,
        archives=tuple(archive or ()),
        anchor_games=anchor_games,
        rounds=rounds,
        league_every=league_every,
        past_selves=past_selves,
        against_past=against_past,
        threads=threads,
    )
    with when_interrupted(f"the weights of the last round are in {out}"):
        run(asked)
