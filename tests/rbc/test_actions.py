"""Action numbers, squares, codes and words: every conversion there and back, and mirroring as its own inverse."""

from __future__ import annotations

import pytest

from penumbra import core
from penumbra.rbc import actions
from penumbra.rbc.actions import (
    ACTIONS,
    PASS,
    QUEEN,
    SENSES,
    action_name,
    action_to_code,
    code_parts,
    code_to_action,
    code_to_uci,
    mirror_action,
    mirror_code,
    move_action,
    move_code,
    move_squares,
    parse_action,
    parse_square,
    sense_window,
    square_name,
    uci_to_code,
    view,
    view_code,
)


def test_numbers_are_those_of_the_native_core() -> None:
    assert (PASS, ACTIONS) == (core.PASS, core.ACTIONS) == (4160, 4161)


def test_every_action_has_a_name_of_its_own_that_leads_back_to_it() -> None:
    # a1a1, b2b2, ... are numbers but no moves; a1a1 shares its code with the pass.
    proper = [a for a in range(ACTIONS) if not actions.is_move(a) or len(set(move_squares(a))) == 2]
    names = [action_name(a) for a in proper]
    assert len(set(names)) == len(names)
    assert [parse_action(name) for name in names] == proper


def test_mirroring_an_action_mirrors_its_squares_and_undoes_itself() -> None:
    for action in range(ACTIONS):
        mirrored = mirror_action(action)
        assert mirror_action(mirrored) == action
        if actions.is_sense(action):
            assert mirrored == action ^ 56
        elif actions.is_move(action):
            assert move_squares(mirrored) == tuple(s ^ 56 for s in move_squares(action))
    assert mirror_action(PASS) == PASS
    assert action_name(mirror_action(parse_action("e2e4"))) == "e7e5"


def test_squares_lead_from_numbers_to_names_and_back() -> None:
    assert [parse_square(square_name(s)) for s in range(64)] == list(range(64))
    assert (square_name(0), square_name(28), square_name(63)) == ("a1", "e4", "h8")


@pytest.mark.parametrize("promotion", [0, 2, 3, 4, QUEEN])
def test_codes_keep_squares_and_promotion_in_both_views(promotion: int) -> None:
    for start in range(64):
        for end in set(range(64)) - {start}:
            code = move_code(start, end, promotion)
            assert code_parts(code) == (start, end, promotion)
            assert uci_to_code(code_to_uci(code)) == code
            assert code_parts(mirror_code(code)) == (start ^ 56, end ^ 56, promotion)
            assert mirror_code(mirror_code(code)) == code
            assert code_to_action(code) == move_action(start, end)
            assert action_to_code(move_action(start, end), promotion) == code


def test_views_of_white_are_the_real_board_and_those_of_black_its_mirror() -> None:
    e2e4 = uci_to_code("e2e4")
    assert view_code(e2e4, True) == e2e4
    assert code_to_uci(view_code(e2e4, False)) == "e7e5"
    assert [view(view(s, False), False) for s in range(64)] == list(range(64))
    assert view_code(0, False) == 0  # the pass looks the same from both sides


@pytest.mark.parametrize(("square", "cells"), [("e4", 9), ("a1", 4), ("h8", 4), ("a4", 6), ("d8", 6)])
def test_windows_leave_out_what_is_off_the_board(square: str, cells: int) -> None:
    for viewer in (True, False):
        assert len(sense_window(parse_square(square), viewer)) == cells


def test_windows_are_in_the_order_of_the_native_game() -> None:
    for square in range(64):
        game = core.Game()
        assert tuple(s for s, _ in game.sense(square)) == sense_window(square, True)
        game.move(PASS)
        assert tuple(s for s, _ in game.sense(square)) == sense_window(square, False)


@pytest.mark.parametrize("word", ["e2", "e2e9", "e7e8k", "e2e4e5", "", "Pass", "i1a1"])
def test_words_that_are_no_moves_are_refused_by_name(word: str) -> None:
    with pytest.raises(ValueError, match="is not a move"):
        uci_to_code(word)


def test_numbers_out_of_range_are_refused() -> None:
    for bad in (-1, ACTIONS):
        with pytest.raises(ValueError, match="is not an action"):
            mirror_action(bad)
    with pytest.raises(ValueError, match="is not a square"):
        square_name(64)
    with pytest.raises(ValueError, match="is not a square"):
        parse_square("e9")
    with pytest.raises(ValueError, match="promotion 1"):
        move_code(0, 1, 1)
    with pytest.raises(ValueError, match="is not a move"):
        move_squares(SENSES - 1)
    with pytest.raises(ValueError, match="is not the code of a move"):
        code_parts(0)
