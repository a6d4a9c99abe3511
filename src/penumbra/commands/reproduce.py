"""`penumbra reproduce`: the paper's tables and figures made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.checks import first, folder_to_fill
from penumbra.commands.errors import when_interrupted
from penumbra.commands.options import MINUTES, NODES, REPRODUCTION, WORKERS, ArchivesIfAny, Device, Seed, examples

EXAMPLES = examples(
    "penumbra reproduce fig-synopsis",
    "penumbra reproduce all --scale smoke",
    "penumbra reproduce table2 --scale small --workers 16 --minutes 5",
)
SCALES = "as the scale says"


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="fig1, fig-synopsis, table1, cross1, cross5, crosswin, fig-lengths, fig-uncertainty, table2, table3, "
            "table4, fig-saliency, table-saliency, ablation, or all."
        ),
    ],
    scale: Annotated[
        str, typer.Option(help="How much: smoke (minutes on two cores), small (a GPU) or paper (what the paper did).")
    ] = "smoke",
    out: Annotated[
        Path,
        typer.Option(help="The folder to write to; each scale has a folder in it.", callback=first(folder_to_fill)),
    ] = REPRODUCTION,
    archive: ArchivesIfAny = None,
    weights: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Weights to measure; several are runs of one training, and are averaged."),
    ] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A log that `penumbra train --saliency` wrote; may be repeated."),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(help="The recipe of networks that have to be trained: a TOML file, or the name of a shipped one."),
    ] = None,
    device: Device = "auto",
    workers: Annotated[int | None, typer.Option(min=1, help=WORKERS, show_default="one for each core")] = None,
    games: Annotated[
        int | None,
        typer.Option(min=1, help="How many games to play for each pairing, or to look at.", show_default=SCALES),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help=NODES, show_default=SCALES)] = None,
    minutes: Annotated[float | None, typer.Option(min=0, help=f"{MINUTES} Only for tables 2 to 4.")] = None,
    baselines: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="For tables 2 to 4: a public program, a player of reconchess in a file named after it: "
            "stocky_inference.py, aggressive_tree.py, full_monte.py or trout.py; may be repeated.",
            show_default="our own kinds after them",
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Make a table or a figure of the paper again, ours beside the paper's.

    It says first what it will cost, and goes on where it was stopped.
    """
    from penumbra.arena.pool import cores
    from penumbra.network.loading import choose_device
    from penumbra.network.weights import load
    from penumbra.reproduce.experiments import chosen
    from penumbra.reproduce.experiments import reproduce as run
    from penumbra.reproduce.request import Request, check_scale

    for path in weights or ():
        load(path)  # one that is no such file is refused before games are played for it
    request = Request(
        check_scale(scale),
        out / scale,
        tuple(archive or ()),
        tuple(weights or ()),
        tuple(log or ()),
        recipe,
        choose_device(device),
        workers or cores(),
        games,
        nodes,
        minutes,
        seed,
        lambda text: print(text, flush=True),
        tuple(baselines or ()),
    )
    with when_interrupted("the same command goes on from there"):
        for each in chosen(name):
            run(each, request)
