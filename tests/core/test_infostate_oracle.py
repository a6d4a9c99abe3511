"""The oracle of `advance` itself: what each player learns from one action, on positions to be checked by eye."""

import random

import chess
import pytest

from tests.oracles.infostate import advance, context_of_mover, context_of_other
from tests.oracles.positions import random_placement, random_walk
from tests.oracles.state_set import State, board_of, state_fen, state_of
from tests.oracles.synopsis import SENSE, Context
from tests.oracles.views import PASS, action_of_move
from tests.oracles.walks import walk


def states(*fens: str) -> list[State]:
    return [state_of(chess.Board(fen)) for fen in fens]


def fens(members: frozenset[State]) -> set[str]:
    return {state_fen(board_of(state)) for state in members}


def action(uci: str, player: chess.Color = chess.WHITE) -> int:
    return action_of_move(chess.Move.from_uci(uci), player)


def test_a_sense_tells_the_actor_only() -> None:
    truth, alike, unlike = states(*(f"k7/8/8/{rank}/8/8/8/7K w - - 0 1" for rank in ("n7", "n6n", "8")))
    outcome = advance([truth, alike, unlike], [truth, unlike], truth, chess.A5)
    assert outcome.actor == {truth, alike}
    assert outcome.other == {truth, unlike}
    assert outcome.truth == truth


def test_a_capture_tells_both() -> None:
    truth, alike, elsewhere = states(
        "7k/8/8/8/n7/8/8/R6K w - - 0 1", "7k/8/8/8/b7/8/8/R6K w - - 0 1", "7k/8/8/n7/8/8/8/R6K w - - 0 1"
    )
    blind = states("7k/8/8/8/n7/8/8/R6K w - - 0 1", "7k/8/8/8/n7/8/8/7K w - - 0 1")
    outcome = advance([truth, alike, elsewhere], blind, truth, action("a1a8"))
    assert (outcome.taken, outcome.capture, outcome.ends) == (chess.Move.from_uci("a1a4"), chess.A4, False)
    assert fens(outcome.actor) == {"7k/8/8/8/R7/8/8/7K b - - 0 1"}
    assert fens(outcome.other) == {"7k/8/8/8/R7/8/8/7K b - - 0 1"}


def test_passing_and_failing_look_alike_to_the_other() -> None:
    blocked, free = states("7k/8/8/8/8/n7/P7/7K w - - 0 1", "7k/8/8/8/8/8/P7/7K w - - 0 1")
    failed = advance([blocked, free], [blocked], blocked, action("a2a3"))
    passed = advance([blocked, free], [blocked], blocked, PASS)
    assert failed.taken is None
    assert len(failed.actor) == 1 and len(passed.actor) == 2
    assert failed.other == passed.other
    king = ("P7/7K", "P7/6K1", "P6K/8", "P5K1/8")  # where it was, and its three steps
    assert fens(failed.other) == {f"7k/8/8/8/8/n7/{ranks} b - - 0 1" for ranks in king}


def test_a_captured_piece_was_not_the_king_while_the_game_goes_on() -> None:
    rook_there, king_there = states("r6k/8/8/8/8/8/8/R6K w - - 0 1", "k6r/8/8/8/8/8/8/R6K w - - 0 1")
    goes_on = advance([rook_there, king_there], [rook_there], rook_there, action("a1a8"))
    assert fens(goes_on.actor) == {"R6k/8/8/8/8/8/8/7K b - - 0 1"}
    assert not goes_on.ends
    won = advance([rook_there, king_there], [king_there], king_there, action("a1a8"))
    assert fens(won.actor) == {"R6r/8/8/8/8/8/8/7K b - - 0 1"}
    assert won.ends


def test_the_other_thinks_of_every_promotion() -> None:
    truth = state_of(chess.Board("8/P6k/8/8/8/8/8/7K w - - 0 1"))
    outcome = advance([truth], [truth], truth, action("a7a8"))
    assert fens(outcome.actor) == {"Q7/7k/8/8/8/8/8/7K b - - 0 1"}
    assert {f"{piece}7/7k/8/8/8/8/8/7K b - - 0 1" for piece in "QRBN"} <= fens(outcome.other)


def test_memories() -> None:
    truth = state_of(chess.Board("7k/8/8/3pP3/8/8/8/7K w - d6 0 1"))
    outcome = advance([truth], [truth], truth, action("e5d6"))
    planes, shares = list(range(104)), [bytes([i]) * 64 for i in range(46)]
    mover = context_of_mover(Context(last_opposing_capture=3), outcome, planes, shares, chess.WHITE)
    assert mover == Context(chess.E5, chess.D6, chess.D5, 3, tuple(range(18, 36)), tuple(shares[:7]))
    other = context_of_other(Context(1, 2, 3, 4), outcome, chess.BLACK)
    assert other == Context(1, 2, 3, chess.D4)  # d5 as Black numbers it
    passed = context_of_mover(mover, advance([truth], [truth], truth, PASS), planes, shares, chess.WHITE)
    assert (passed.last_from, passed.last_to, passed.last_own_capture) == (None, None, None)


def test_what_cannot_be_played_is_refused() -> None:
    truth, elsewhere = states("7k/8/8/8/8/8/8/R6K w - - 0 1", "7k/8/8/8/8/8/8/7K w - - 0 1")
    with pytest.raises(ValueError, match="in both sets"):
        advance([elsewhere], [truth], truth, PASS)
    with pytest.raises(ValueError, match="not listed"):
        advance([truth], [truth], truth, action("a1b2"))


@pytest.mark.parametrize("seed", range(10))
def test_truth_stays_inside_and_kings_stand_while_the_game_goes_on(seed: int) -> None:
    rng = random.Random(seed)
    start = random_placement(rng) if seed % 2 else random_walk(rng, 20)
    for step in walk(rng, start, plies=5, limit=40):
        actor, other = step.states[step.actor], step.states[not step.actor]
        outcome = advance(actor, other, step.truth, step.action)
        assert outcome.truth in outcome.actor and outcome.truth in outcome.other
        assert all(state.kings.bit_count() == 2 for state in outcome.actor | outcome.other)
        assert (outcome.other == other) == (step.kind == SENSE)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_of_the_truth_reaches_the_actor_but_what_it_observes(seed: int) -> None:
    rng = random.Random(seed)
    for step in walk(rng, random_placement(rng), plies=5, limit=20):
        actor = step.states[step.actor]
        outcome = advance(actor, actor, step.truth, step.action)
        for state in actor:
            swapped = advance(actor, actor, state, step.action)
            same = swapped.truth in outcome.actor
            assert (swapped.actor == outcome.actor) == same
