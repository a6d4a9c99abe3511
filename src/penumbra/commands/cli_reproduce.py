"""The commands about the paper: `penumbra reproduce` and `penumbra report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.cli_training import Device

FOLDER = Path("runs/reproduction")


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="fig1, fig-synopsis, table1, cross1, cross5, crosswin, fig-lengths, fig-uncertainty, table2, table3, "
            "table4, fig-saliency, table-saliency, ablation, or all."
        ),
    ],
    scale: Annotated[str, typer.Option(help="smoke, small or paper.")] = "smoke",
    out: Annotated[Path, typer.Option(help="A folder; each scale has one in it.")] = FOLDER,
    archive: Annotated[list[Path] | None, typer.Option(help="Games; may be given repeatedly.")] = None,
    weights: Annotated[list[Path] | None, typer.Option(help="Several: runs of one training.")] = None,
    log: Annotated[
        list[Path] | None, typer.Option(help="Of saliency, as `penumbra train --saliency` writes it.")
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(help="Of networks that are trained: TOML, or a shipped one's name."),
    ] = None,
    device: Device = "auto",
    workers: Annotated[int | None, typer.Option(min=1, help="Games at the same time; else one for each core.")] = None,
    games: Annotated[int | None, typer.Option(min=1, help="Of a pairing, or to look at; else the scale's.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Of Penumbra for each step; else the scale's.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Tables 2 to 4: play no longer, and take the games there are.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed plays the same games.")] = 0,
) -> None:
    """Make a table or a figure of the paper again, ours beside the paper's."""
    from penumbra.reproduce.command import request, run

    given = request(
        scale, out, archive or (), weights or (), log or (), recipe, device, workers, games, nodes, minutes, seed
    )
    run(name, given)


def report(
    folder: Annotated[Path, typer.Option("--from", help="Where `penumbra reproduce` has written.")] = FOLDER,
    out: Annotated[Path, typer.Option(help="The page (Markdown); pictures go beside it.")] = Path(
        "docs/reproduction.md"
    ),
) -> None:
    """Collect what has been reproduced on one page."""
    from penumbra.reproduce.report import write_report

    names = write_report(folder, out)
    print(f"{out}: {', '.join(names)}")
