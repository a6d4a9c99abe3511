"""Pictures of what a player knew: the right moment, files that can be looked at, one line for what cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from penumbra.core import MOVE, SENSE, Infostates
from penumbra.interop.history import read_record
from penumbra.rbc.actions import parse_square
from penumbra.rbc.synopsis import LAYOUTS, PLANES
from penumbra.review.pictures.board import _shape
from penumbra.review.pictures.moments import find_moment
from penumbra.review.pictures.planes import COLORS, COLUMNS, ROWS, SORTS, _blend
from penumbra.review.pictures.situation import _shares
from penumbra.training.examples import ExampleSettings, make_examples
from tests.support import DATA, ROOT
from tests.support.command_line import Answer, penumbra
from tests.support.situations import moments, real_games, real_records

PAPER_GAME = DATA / "paper_game.json"
DOCUMENTS = ROOT / "docs" / "pictures"


def test_the_papers_example_has_the_papers_sets() -> None:
    """238 states before White's fifth sense, and the sizes that lead there."""
    record = read_record(PAPER_GAME)

    def size(turn: int, kind: int) -> int:
        return len(find_moment(record, True, turn, kind, 128, 0).situation.states)

    assert [size(turn, SENSE) for turn in range(1, 6)] == [1, 21, 22, 21, 238]
    assert [size(turn, MOVE) for turn in range(1, 5)] == [1, 1, 1, 13]
    moment = find_moment(record, True, 5, SENSE, 128, 0)
    assert (moment.title, moment.size) == ("White before its sense on turn 5", "238 states possible")
    assert moment.fen.startswith("r1bqkbnr/ppppp1p1/2n5/5P2/3P3p/8/PPP1BPPP/RNBQK1NR w KQkq")


def test_moments_are_those_of_the_game() -> None:
    for game, record in zip(real_games(), real_records(), strict=True):
        for moment in list(moments(game))[::5]:
            turn = moment.ply // 2 + 1
            found = find_moment(record, moment.player, turn, moment.kind, 128, 0)
            assert sorted(found.situation.states) == sorted(moment.states)
            assert found.fen.split()[0] == moment.board.board_fen()
            assert found.situation.context.last_to == moment.context.last_to
            assert found.situation.context.opposing_capture == moment.context.last_opposing_capture


def test_what_is_drawn_is_what_training_sees() -> None:
    """Where nothing is drawn by chance, the planes are those of the training examples."""
    record = read_record(PAPER_GAME)
    examples = make_examples([record], ExampleSettings(ell=1_000))
    for row in range(len(examples)):
        player, turn = bool(examples.players[row]), int(examples.plies[row]) // 2 + 1
        x = find_moment(record, player, turn, int(examples.actions[row] >= 64), 1_000, 0).situation
        planes = Infostates.draw(x.states, 1, x.kind, 1_000, x.context).synopsis()[0]
        assert planes.tolist() == examples.synopses[row].tolist()


def test_shares_add_up_and_lie_where_they_should() -> None:
    record = read_record(PAPER_GAME)
    shares = _shares(find_moment(record, True, 5, SENSE, 1, 0))
    assert np.allclose(shares.sum(axis=1), 1)
    assert shares[parse_square("d8"), 11] == 1  # the queen has not moved
    assert 0 < shares[parse_square("h4"), 7] < 1
    from_behind = _shares(find_moment(record, False, 5, SENSE, 1, 0))
    assert from_behind[63 - parse_square("c6"), 2] == 1  # Black's own knight, the board turned round


def test_the_grid_has_room_for_every_plane_and_a_colour_for_every_sort() -> None:
    assert len(PLANES) == COLUMNS * ROWS
    assert set(COLORS) == set(SORTS) == {plane.sort for plane in PLANES}


def test_pieces_stand_inside_their_squares() -> None:
    for letter in "PNBRQK":
        box = _shape(letter).get_extents()
        assert -0.5 < box.x0 < box.x1 < 0.5 and -0.5 < box.y0 < box.y1 < 0.5


@pytest.mark.parametrize("command", ["planes", "situation"])
def test_the_papers_example_is_drawn_as_in_the_documents(command: str, tmp_path: Path) -> None:
    out = tmp_path / "picture.png"
    game = (str(PAPER_GAME), "--turn", "5", "--player", "white", "--step", "sense")
    answer = penumbra(command, *game, "--out", out)
    assert answer == Answer(0, f"White before its sense on turn 5, 238 states possible: {out}\n", "")
    drawn, kept = imread(out), imread(DOCUMENTS / f"paper-{command}.png")
    assert drawn.shape == kept.shape
    assert np.abs(drawn[..., :3] - kept[..., :3]).mean() < 0.01


def test_shares_are_drawn_too(tmp_path: Path) -> None:
    """A board for each plane of the layout, and darker squares for larger shares."""
    assert _blend("#eceef0", "#a3314f", 0.0) == "#eceef0" and _blend("#eceef0", "#a3314f", 1.0) == "#a3314f"
    reds = [int(_blend("#eceef0", "#a3314f", value)[3:5], 16) for value in (0.0, 1 / 255, 0.5, 1.0)]
    assert reds == sorted(reds, reverse=True) and reds[0] - reds[1] > 20
    out = tmp_path / "shares.png"
    answer = penumbra("planes", PAPER_GAME, "--turn", "5", "--synopsis", "shares", "--out", out)
    assert answer.returncode == 0, answer.stderr
    rows = -(-len(LAYOUTS["shares"].planes) // COLUMNS)
    height, usual = len(imread(out)), len(imread(DOCUMENTS / "paper-planes.png"))
    assert height / usual == pytest.approx((1.84 * rows + 0.9) / (1.84 * ROWS + 0.9), abs=0.01)


@pytest.mark.parametrize("command", ["planes", "situation"])
def test_pictures_may_be_vectors_and_are_the_same_every_time(command: str, tmp_path: Path) -> None:
    one, again = tmp_path / "one.svg", tmp_path / "again.svg"
    moment = ("--turn", "3", "--player", "black", "--step", "move")
    for out in (one, again):
        assert penumbra(command, PAPER_GAME, *moment, "--out", out).returncode == 0
    assert one.read_text().startswith("<?xml") and one.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--turn", "9"], "there is no turn 9 of White in this game, which has 8 of them"),
        (["--turn", "8", "--player", "black"], "there is no turn 8 of Black in this game, which has 7 of them"),
        (["--turn", "0"], "--turn"),
        (["--turn", "1", "--step", "jump"], "jump"),
        (["--turn", "1", "--player", "green"], "green"),
        (["--turn", "1", "--out", "picture.bmp"], "picture.bmp: pictures are written as .png or .svg"),
        (["--turn", "1", "--out", "no/where.png"], "there is no folder no"),
        ([], "--turn"),
    ],
)
@pytest.mark.parametrize("command", ["planes", "situation"])
def test_errors_are_one_line(
    command: str, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = penumbra(command, PAPER_GAME, *arguments)
    assert answer.returncode != 0
    said = answer.stderr
    assert said.startswith("penumbra: ") and said.count("\n") == 1
    assert message in said
    assert list(tmp_path.iterdir()) == []
