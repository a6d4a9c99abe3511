"""The table of the synopsis' planes, each with a picture of it in the paper's example."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penumbra.core import SENSE, Infostates
from penumbra.interop.history import read_record
from penumbra.rbc.synopsis import PLANES, SHARES, Plane, unpack
from penumbra.review.pictures.moments import find_moment
from penumbra.review.pictures.planes import COLORS, SHARE_COLORS

COLORS_OF_SORTS = COLORS | SHARE_COLORS
GAME = Path(__file__).parents[2] / "tests" / "data" / "paper_game.json"
TURN, ELL, SEED = 5, 128, 0
PAGE = """\
# The planes, one by one

Each plane of the [synopsis](../synopsis.md) with a picture of what it holds in one situation, the paper's example:
White before the sense of its {turn}th turn, {size}, {count} of them summarised. White's side is below.

![Where Black's pieces may stand](../pictures/paper-situation.png)

## Binary planes

{binary}
## Shares

The darker a square, the larger the share of the states in which the feature holds there.

{shares}"""


def write_planes(path: Path) -> None:
    moment = find_moment(read_record(GAME), True, TURN, SENSE, ELL, SEED)
    x = moment.situation
    drawn = Infostates.draw(x.states, 1, SENSE, ELL, x.context, SEED)
    binary = unpack(drawn.synopsis())[0].reshape(-1, 64)  # uint8[104, 64]
    shares = drawn.shares()[0]  # uint8[46, 64]
    texts = {"turn": TURN, "size": moment.size, "count": int(drawn.counts[0])}
    path.write_text(PAGE.format(**texts, binary=table(PLANES, 255 * binary), shares=table(SHARES, shares)))


def table(planes: tuple[Plane, ...] | list[Plane], values: NDArray[np.uint8]) -> str:
    """A row for each plane: picture, number, name, sort, description. `values` uint8[planes, 64]."""
    lines = ["| picture | number | name | sort | where it is set |", "|---|---|---|---|---|"]
    for plane, each in zip(planes, values, strict=True):
        cells = (picture(each, COLORS_OF_SORTS[plane.sort]), plane.number, plane.name, plane.sort, plane.description)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def picture(values: NDArray[np.uint8], color: str) -> str:
    """A board as SVG, each square as opaque as its value; rank 1 is below. `values` uint8[64], 255 is 1."""
    shades: dict[int, list[str]] = {}
    for square, value in enumerate(values.tolist()):
        if value:
            shades.setdefault(value, []).append(f"M{square % 8} {7 - square // 8}h1v1h-1z")
    paths = "".join(f'<path opacity="{value / 255:.2f}" d="{"".join(places)}"/>' for value, places in shades.items())
    return f'<svg class="plane" viewBox="0 0 8 8" role="img" fill="{color}">{paths}</svg>'
