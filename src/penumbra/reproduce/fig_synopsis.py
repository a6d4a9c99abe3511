"""The synopsis figure: the 104 planes before White's sense on turn 5 of the paper's example game."""

from __future__ import annotations

from penumbra.core import SENSE, GameRecord, Infostates
from penumbra.rbc.actions import parse_square, uci_to_code, view, view_code
from penumbra.rbc.synopsis import PLANES
from penumbra.reproduce import published
from penumbra.reproduce.request import Cost, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.review.pictures.moments import find_moment
from penumbra.review.pictures.planes import planes_figure

NAME, TITLE = "fig-synopsis", "The synopsis of the example situation"
TURN, ELL = 5, 128


def cost(request: Request) -> Cost:
    return Cost(5)


def run(request: Request) -> Result:
    moment = find_moment(example_game(), True, TURN, SENSE, ELL, request.seed)
    states = moment.situation.states
    drawn = Infostates.draw(states, 1, SENSE, ELL, moment.situation.context, request.seed)
    masks = [int(mask) for mask in drawn.synopsis()[0]]
    rows: list[list[Cell]] = [
        [plane.number, plane.name, plane.sort, masks[plane.number].bit_count(), f"{masks[plane.number]:016x}"]
        for plane in PLANES
    ]
    possible = len(states)
    pawns = {square for square in range(64) if masks[26] >> square & 1}
    paper = published.fact("example states")
    claims = [
        Claim("states possible before White's sense on turn 5", f"{paper:,.0f}", f"{possible:,}", possible == paper),
        Claim(
            f"{ELL} of them need not hold the truth: plane 26 lacks the black pawn on h4",
            "lacks it in the paper's draw",
            "lacks it" if parse_square("h4") not in pawns else "has it in our draw",
            None,
            of="the paper's own draw",
        ),
    ]
    notes = [
        f"Ours: {int(drawn.counts[0])} of {possible} states drawn with seed {request.seed}; the paper's draw is not "
        "known, and its planes are a picture. Masks are little-endian by square, a1 the lowest bit.",
    ]
    grid = Grid(["plane", "name", "sort", "squares set", "mask"], rows)
    return Result(NAME, TITLE, grid, planes_figure(moment, ELL, request.seed), notes, claims)


def example_game() -> GameRecord:
    """The paper's example game, from its table of senses and moves."""
    record = GameRecord("Penumbra", "Opponent")
    for row in published.rows("example_game"):
        for color, name in ((True, "white"), (False, "black")):
            if row[f"{name} move"]:
                sense = view(parse_square(row[f"{name} sense"]), color)
                record.add_turn(sense, view_code(uci_to_code(row[f"{name} move"]), color))
    record.winner, record.reason = True, "KING_CAPTURE"
    return record
