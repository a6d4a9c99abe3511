"""The oracle of the shares itself: hand-made positions."""

import chess
import pytest

from tests.oracles.shares import share, shares
from tests.oracles.synopsis import SENSE, Context


def white(*fens: str, context: Context | None = None) -> dict[int, bytes]:
    """White's share planes by their numbers."""
    return dict(enumerate(shares(chess.WHITE, SENSE, map(chess.Board, fens), context or Context()), 104))


@pytest.mark.parametrize(
    ("part", "whole", "value"),
    [(0, 128, 0), (128, 128, 255), (1, 128, 2), (127, 128, 253), (1, 1000, 1), (999, 1000, 254), (1, 2, 128)],
)
def test_rounding_keeps_never_and_always_apart_from_hardly_ever(part: int, whole: int, value: int) -> None:
    assert share(part, whole) == value


def test_placements_and_the_commonest_content() -> None:
    here, there = "4k3/8/8/3n4/8/8/8/4K3 w - - 0 1", "4k3/8/8/3b4/8/8/8/4K3 w - - 0 1"
    p = white(here, here, here, there)
    assert (p[106][chess.D5], p[107][chess.D5], p[104][chess.D5]) == (191, 64, 0)
    assert p[110][chess.E8] == p[104][chess.E1] == 255
    assert (p[129][chess.D5], p[129][chess.E8], p[129][chess.E1], p[129][chess.A3]) == (191, 255, 255, 255)


def test_attacks_are_counted_by_state() -> None:
    open_file, closed = "4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "4k3/8/8/8/4p3/8/4R3/4K3 w - - 0 1"
    p = white(open_file, closed, closed)
    assert (p[111][chess.E7], p[115][chess.E7], p[115][chess.E4]) == (85, 85, 255)
    assert (p[126][chess.E8], p[146][0], p[145][0]) == (170, 85, 0)


def test_a_king_in_danger_in_some_states() -> None:
    quiet, danger = "4k3/8/8/8/8/5n2/8/R3K2R w KQ - 0 1", "4k3/8/8/8/7q/8/8/R3K2R w KQ - 0 1"
    p = white(danger, quiet)
    assert p[145] == bytes([255]) * 64
    assert white(danger, "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1")[145] == bytes([128]) * 64
    assert (p[130][chess.F3], p[132][chess.H4], p[135][chess.H1]) == (128, 128, 255)


def test_material_and_the_number_of_states() -> None:
    start = white(chess.STARTING_FEN)
    assert (start[147][0], start[148][0], start[149][0]) == (255, 255, 0)
    p = white("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", "2r1k3/8/8/8/8/8/8/Q3K3 w - - 0 1")
    assert p[147] == bytes([16]) * 64  # 2.5 pawns
    assert p[148] == bytes([59]) * 64  # 9
    assert p[149] == bytes([36]) * 64  # one bit of seven


def test_memory_is_shown_as_it_is() -> None:
    previous = tuple(bytes([i]) * 64 for i in range(7))
    p = white(chess.STARTING_FEN, context=Context(previous_shares=previous))
    assert tuple(p[138 + i] for i in range(7)) == previous
