"""`penumbra situation`: a picture of the board as a player may imagine it."""

from __future__ import annotations

from pathlib import Path

from penumbra.commands.options import GameFile, Picture, Seat, Side, Step, StepOfTurn, Turn, examples

EXAMPLES = examples("penumbra situation demo.json --turn 5 --player white --step sense --out situation.png")


def situation(
    file: GameFile,
    turn: Turn,
    player: Seat = Side.WHITE,
    step: StepOfTurn = Step.SENSE,
    out: Picture = Path("situation.png"),
) -> None:
    """Draw the board at one moment of a game as a player may imagine it: where opposing pieces may stand."""
    from penumbra.interop.history import read_record
    from penumbra.review.pictures.files import check_picture_file
    from penumbra.review.pictures.moments import find_moment
    from penumbra.review.pictures.situation import draw_situation

    check_picture_file(out)
    moment = find_moment(read_record(file), player == Side.WHITE, turn, list(Step).index(step), ell=1, seed=0)
    draw_situation(moment, out)
    print(f"{moment.title}, {moment.size}: {out}")
