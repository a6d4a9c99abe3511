"""The state-set oracle itself: its two ways of finding successors agree, its states are what the rules say."""

import random

import chess
import pytest

from tests.oracles.positions import random_placement, random_walk
from tests.oracles.state_set import StateSet, board_of, state_fen, state_of, taken_moves, taken_moves_by_request


@pytest.mark.parametrize("seed", range(60))
def test_successors_found_directly_are_those_of_all_requests(seed: int) -> None:
    rng = random.Random(seed)
    board = random_placement(rng) if seed % 2 else random_walk(rng, rng.randrange(60))
    assert taken_moves(board) == taken_moves_by_request(board)


@pytest.mark.parametrize("seed", range(20))
def test_a_state_keeps_exactly_placement_turn_rights_and_ep_square(seed: int) -> None:
    board = random_placement(random.Random(seed))
    again = board_of(state_of(board))
    assert state_fen(again) == state_fen(board)
    assert state_of(again) == state_of(board)
    assert again.is_valid() == board.is_valid()


def expansion(fen: str, capture: chess.Square | None) -> set[str]:
    """Placements and en-passant squares after one unseen turn of the side to move."""
    board = chess.Board(fen)
    return StateSet.of_boards([board], not board.turn).expand(capture).fens()


def test_first_turn_has_twenty_moves_and_the_pass() -> None:
    assert len(expansion(chess.STARTING_FEN, None)) == 21


def test_double_steps_leave_an_ep_square_that_a_single_step_does_not() -> None:
    after = expansion("4k3/8/8/8/8/8/P7/4K3 w - - 0 1", None)
    assert "4k3/8/8/8/P7/8/8/4K3 b - a3 0 1" in after
    assert "4k3/8/8/8/8/P7/8/4K3 b - - 0 1" in after


def test_en_passant_is_told_at_the_pawn_not_at_the_destination() -> None:
    fen = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1"
    assert expansion(fen, chess.D5) == {"4k3/8/3P4/8/8/8/8/4K3 b - - 0 1"}
    assert expansion(fen, chess.D6) == set()


def test_promotions_of_every_kind_are_successors() -> None:
    after = expansion("7k/P7/8/8/8/8/8/K7 w - - 0 1", None)
    assert {fen[0] for fen in after if fen[0] in "QRBN"} == set("QRBN")


def test_castling_through_check_is_a_successor_and_past_a_knight_is_not() -> None:
    assert "4kr2/8/8/8/8/8/8/5RK1 b - - 0 1" in expansion("4kr2/8/8/8/8/8/8/4K2R w K - 0 1", None)
    assert "4kr2/8/8/8/8/8/8/2KR4 b - - 0 1" in expansion("4kr2/8/8/8/8/8/8/R3K3 w Q - 0 1", None)
    assert "4kr2/8/8/8/8/8/8/1NKR4 b - - 0 1" not in expansion("4kr2/8/8/8/8/8/8/RN2K3 w Q - 0 1", None)
    assert "4kr2/8/8/8/8/8/8/5RK1 b - - 0 1" not in expansion("4kr2/8/8/8/8/8/8/4K2R w - - 0 1", None)


def test_after_a_capture_that_did_not_end_the_game_the_king_was_not_taken() -> None:
    rook_or_king = [chess.Board(f"{first}3{second}3/8/8/8/8/8/8/R3K3 w - - 0 1") for first, second in ("rk", "kr")]
    both = StateSet.of_boards(rook_or_king, chess.WHITE)
    move = chess.Move(chess.A1, chess.A8)
    assert both.apply_move(move, move, chess.A8).fens() == {"R3k3/8/8/8/8/8/8/4K3 b - - 0 1"}
    assert expansion("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", chess.E8) == set()


def test_a_move_that_fails_is_a_pass_and_keeps_only_states_where_it_fails() -> None:
    free, blocked = (chess.Board(f"4k3/8/8/8/8/{piece}/P7/4K3 w - - 0 1") for piece in ("8", "n7"))
    both = StateSet.of_boards([free, blocked], chess.WHITE)
    push = chess.Move(chess.A2, chess.A3)
    assert both.apply_move(push, None, None).fens() == {"4k3/8/8/8/8/n7/P7/4K3 b - - 0 1"}
    assert both.apply_move(push, push, None).fens() == {"4k3/8/8/8/8/P7/8/4K3 b - - 0 1"}


def test_parents_have_a_successor_in_the_later_set() -> None:
    boards = [chess.Board(f"4k3/{rank}/8/8/8/8/8/4K3 b - - 0 1") for rank in ("p7", "7p")]
    before = StateSet.of_boards(boards, chess.WHITE)
    after = before.expand(None)
    seen = after.filter_sense([(chess.A6, chess.Piece(chess.PAWN, chess.BLACK))])
    assert before.parents_of_expansion(after, None) == before
    assert before.parents_of_expansion(seen, None).fens() == {"4k3/p7/8/8/8/8/8/4K3 b - - 0 1"}
