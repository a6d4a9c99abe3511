"""`penumbra report`: everything that was reproduced, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.checks import file_to_write, first
from penumbra.commands.options import REPRODUCTION, examples

EXAMPLES = examples("penumbra report --from runs/reproduction --out reproduction.md")


def report(
    folder: Annotated[Path, typer.Option("--from", help="The folder that `penumbra reproduce` wrote.")] = REPRODUCTION,
    out: Annotated[
        Path,
        typer.Option(help="The page to write (Markdown); its pictures go beside it.", callback=first(file_to_write)),
    ] = Path("docs/reproduction.md"),
) -> None:
    """Collect what has been reproduced on one page."""
    from penumbra.reproduce.report import write_report

    names = write_report(folder, out)
    print(f"{out}: {', '.join(names)}")
