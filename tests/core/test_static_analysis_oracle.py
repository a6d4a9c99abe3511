"""The static-analysis oracle itself, on positions small enough to be checked by eye."""

import random

import chess
import pytest

from tests.oracles.positions import random_placement
from tests.oracles.static_analysis import (
    partition,
    refines,
    sure_king_captures,
    undominated_senses,
    winning_senses,
)
from tests.oracles.synopsis import SENSE
from tests.oracles.views import action_of_move
from tests.oracles.walks import walk


def boards(*fens: str) -> list[chess.Board]:
    return [chess.Board(fen) for fen in fens]


def actions(ucis: str, player: chess.Color = chess.WHITE) -> set[int]:
    return {action_of_move(chess.Move.from_uci(uci), player) for uci in ucis.split()}


def test_nothing_to_learn_leaves_the_first_sense() -> None:
    assert undominated_senses(boards("4k3/8/8/8/8/8/8/4K3 w - - 0 1"), chess.WHITE) == {chess.A1}


def test_equal_senses_leave_the_lowest() -> None:
    two = boards("k7/8/8/8/8/8/8/4K3 w - - 0 1", "1k6/8/8/8/8/8/8/4K3 w - - 0 1")
    assert undominated_senses(two, chess.WHITE) == {chess.A7}


def test_a_sense_that_tells_strictly_more_wins_whatever_its_number() -> None:
    three = boards(*(f"{rank}/8/8/8/8/8/8/4K3 w - - 0 1" for rank in ("k7", "3k4", "4k3")))
    assert undominated_senses(three, chess.WHITE) == {chess.D7}


def test_senses_that_tell_different_things_all_stay() -> None:
    corners = boards(*(f"{a8}{rook}/8/8/8/8/8/8/4K3 w - - 0 1" for a8 in "bn" for rook in ("5r1", "6r")))
    assert undominated_senses(corners, chess.WHITE) == {chess.A7, chess.F7}


def test_black_senses_are_numbered_from_its_own_side() -> None:
    two = boards("4k3/8/8/8/8/8/8/K7 b - - 0 1", "4k3/8/8/8/8/8/8/1K6 b - - 0 1")
    assert undominated_senses(two, chess.BLACK) == {chess.A7}


@pytest.mark.parametrize("seed", range(10))
def test_some_sense_stays_and_tells_as_much_as_each_that_went(seed: int) -> None:
    rng = random.Random(seed)
    for step in walk(rng, random_placement(rng), plies=4, limit=12):
        if step.kind == SENSE:
            members = step.actor_boards()
            stay = undominated_senses(members, step.actor)
            told = {sense: partition(members, step.actor, sense) for sense in chess.SQUARES}
            assert all(any(refines(told[other], told[sense]) for other in stay) for sense in chess.SQUARES)
            assert len({told[sense] for sense in stay}) == len(stay) > 0


def test_a_slide_takes_the_king_wherever_it_stands_first_on_the_line() -> None:
    line = boards("8/8/8/8/8/8/8/R3k2K w - - 0 1", "8/8/8/8/8/8/8/R1k4K w - - 0 1")
    assert sure_king_captures(line, chess.WHITE) == actions("a1e1 a1f1 a1g1")
    assert sure_king_captures(line[1:], chess.WHITE) == actions("a1c1 a1d1 a1e1 a1f1 a1g1")


def test_something_before_the_king_saves_it() -> None:
    shielded = boards("8/8/8/8/8/8/8/R1n1k2K w - - 0 1")
    assert sure_king_captures(shielded, chess.WHITE) == set()
    assert sure_king_captures(shielded + boards("8/8/8/8/8/8/8/R3k2K w - - 0 1"), chess.WHITE) == set()


def test_a_pawn_takes_the_king_only_by_its_diagonal() -> None:
    assert sure_king_captures(boards("8/8/8/8/8/1k6/P7/7K w - - 0 1"), chess.WHITE) == actions("a2b3")
    assert sure_king_captures(boards("8/8/8/8/8/k7/P7/7K w - - 0 1"), chess.WHITE) == set()
    assert sure_king_captures(boards("1k6/P7/8/8/8/8/8/7K w - - 0 1"), chess.WHITE) == actions("a7b8")


def test_kings_may_take_each_other() -> None:
    assert sure_king_captures(boards("8/8/8/8/8/8/8/Kk6 b - - 0 1"), chess.BLACK) == actions("b1a1", chess.BLACK)


def test_a_sense_that_finds_the_king_wins() -> None:
    either = boards("7k/8/8/8/8/8/8/Q6K w - - 0 1", "k7/8/8/8/8/8/8/Q6K w - - 0 1")
    assert sure_king_captures(either, chess.WHITE) == set()
    tells = {sense for sense in chess.SQUARES if len(partition(either, chess.WHITE, sense)) == 2}
    assert winning_senses(either, chess.WHITE) == tells == {s + r for s in (0, 1, 6, 7) for r in (48, 56)}


def test_no_sense_wins_where_one_king_is_out_of_reach() -> None:
    either = boards("7k/8/8/8/8/8/8/Q6K w - - 0 1", "1k6/8/8/8/8/8/8/Q6K w - - 0 1")
    assert winning_senses(either, chess.WHITE) == set()


def test_a_sure_capture_makes_every_sense_win() -> None:
    assert winning_senses(boards("8/8/8/8/8/8/8/R3k2K w - - 0 1"), chess.WHITE) == set(chess.SQUARES)
