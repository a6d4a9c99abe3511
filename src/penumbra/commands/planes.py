"""`penumbra planes`: a picture of the network's input at one moment of a game."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.options import GameFile, Picture, Seat, Seed, Side, Sort, Step, StepOfTurn, Turn, examples

EXAMPLES = examples("penumbra planes demo.json --turn 5 --player white --step sense --out planes.png")


def planes(
    file: GameFile,
    turn: Turn,
    player: Seat = Side.WHITE,
    step: StepOfTurn = Step.SENSE,
    states: Annotated[int, typer.Option(min=1, help="Summarise at most so many states; of more, a random draw.")] = 128,
    synopsis: Annotated[
        Sort, typer.Option(help="Which planes: binary, shares beside what is certain, or both.")
    ] = Sort.BINARY,
    seed: Seed = 0,
    out: Picture = Path("planes.png"),
) -> None:
    """Draw the planes of the synopsis, which the network reads, at one moment of a game."""
    from penumbra.interop.history import read_record
    from penumbra.review.pictures.files import check_picture_file
    from penumbra.review.pictures.moments import find_moment
    from penumbra.review.pictures.planes import draw_planes

    check_picture_file(out)
    moment = find_moment(read_record(file), player == Side.WHITE, turn, list(Step).index(step), states, seed)
    draw_planes(moment, states, seed, out, synopsis.value)
    print(f"{moment.title}, {moment.size}: {out}")
