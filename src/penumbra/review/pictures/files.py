"""Picture files: PNG or SVG by their name, the same bytes whenever the same picture is drawn."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from penumbra.whole_files import replacing

FORMATS = (".png", ".svg")


def check_picture_file(path: Path) -> None:
    """Refuses a file that could not be written, before anything is computed."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: pictures are written as {' or '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")


def save(figure: Figure, path: Path) -> None:
    """Writes the figure."""
    with replacing(path) as beside:
        if path.suffix.lower() == ".svg":
            with matplotlib.rc_context({"svg.hashsalt": "penumbra"}):
                figure.savefig(beside, format="svg", metadata={"Date": None})
        else:
            figure.savefig(beside, format="png", dpi=110, pil_kwargs={"optimize": True})
