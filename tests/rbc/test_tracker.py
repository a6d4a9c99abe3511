"""The tracker: the truth is never lost, what contradicts every state changes nothing, and budgets hold."""

from __future__ import annotations

import random

import pytest

from penumbra import core
from penumbra.core import Game
from penumbra.rbc.actions import PASS, action_to_code, code_to_action, parse_square, uci_to_code
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed
from penumbra.rbc.tracker import ImpossibleObservation, Tracker

NO_CLOCKS = slice(0, 4)


def same_state(fen: str) -> str:
    """The FEN with the clocks of a state set."""
    return " ".join([*fen.split()[NO_CLOCKS], "0", "1"])


def play_turn(game: Game, tracker: Tracker, rng: random.Random) -> None:
    """A random turn of the tracker's owner, reported to it. A move that ends the game is reported as such."""
    tracker.opponent_moved(game.capture)
    assert same_state(game.fen()) in tracker.current
    square = rng.choice([None, *range(64)])
    tracker.sensed(square, [content for _, content in game.sense(square)])
    assert same_state(game.fen()) in tracker.current
    requested = rng.choice(game.legal_actions())
    _, capture = game.move(requested)
    tracker.moved(action_to_code(requested), game.last_taken, capture, ended=game.over)
    assert same_state(game.fen()) in tracker.current


@pytest.mark.parametrize("seed", range(10))
def test_the_true_state_is_always_possible_to_both_players(seed: int) -> None:
    rng = random.Random(seed)
    game = Game()
    trackers = {color: Tracker(color) for color in (True, False)}
    while not game.over and max(map(len, trackers.values())) < 20_000:
        play_turn(game, trackers[game.turn], rng)
    assert all(tracker.complete for tracker in trackers.values())


def test_the_notice_before_the_first_turn_expands_nothing() -> None:
    white = Tracker(True)
    white.opponent_moved(None)
    assert (len(white), white.step) == (1, 0)
    black = Tracker(False)
    black.opponent_moved(None)
    assert (len(black), black.step) == (21, 2)  # 20 moves and the pass


def test_a_position_with_black_to_move_starts_with_blacks_notice() -> None:
    fen = "4k3/8/8/8/8/8/8/4K3 b - - 0 1"
    black, white = Tracker(False, fen), Tracker(True, fen)
    black.opponent_moved(None)
    white.opponent_moved(None)
    assert (len(black), len(white)) == (1, 6)  # the black king's five squares and the pass


def test_steps_share_the_set_of_the_opponents_sense() -> None:
    tracker = Tracker(True)
    tracker.opponent_moved(None)
    tracker.sensed(None, ())
    tracker.moved(uci_to_code("e2e4"), uci_to_code("e2e4"), None)
    assert list(tracker.sets) == [0, 1, 2, 3]
    assert tracker.sets[2] is tracker.sets[3]
    assert tracker.step == 3
    assert dict(tracker.observations) == {
        0: Sensed(None, ()),
        1: Moved(uci_to_code("e2e4"), uci_to_code("e2e4"), None),
    }


def test_what_contradicts_every_state_is_named_and_changes_nothing() -> None:
    tracker = Tracker(True)
    tracker.opponent_moved(None)
    before = (tracker.step, dict(tracker.sets), dict(tracker.observations))
    empty_board = (0,) * 9
    with pytest.raises(ImpossibleObservation) as caught:
        tracker.sensed(9, empty_board)
    assert (caught.value.step, caught.value.observation) == (0, Sensed(9, empty_board))
    assert "step 0" in str(caught.value)
    assert "b2" in str(caught.value)
    assert caught.value.complete
    assert isinstance(caught.value, core.ImpossibleObservation)
    assert (tracker.step, dict(tracker.sets), dict(tracker.observations)) == before

    tracker.sensed(None, ())
    with pytest.raises(ImpossibleObservation) as caught:
        tracker.moved(uci_to_code("e2e4"), 0, None)  # nothing can stand in the way yet
    assert caught.value.step == 1
    tracker.moved(uci_to_code("e2e4"), uci_to_code("e2e4"), None)
    with pytest.raises(ImpossibleObservation) as caught:
        tracker.opponent_moved(0)  # nothing reaches a1 in one move
    assert (caught.value.step, caught.value.observation) == (3, OpponentMoved(0))
    tracker.opponent_moved(None)
    assert len(tracker) == 21


def test_a_capture_before_anybody_moved_is_impossible() -> None:
    tracker = Tracker(True)
    with pytest.raises(ImpossibleObservation):
        tracker.opponent_moved(8)
    tracker.opponent_moved(None)


def test_a_sense_not_taken_shows_nothing() -> None:
    tracker = Tracker(True)
    tracker.opponent_moved(None)
    with pytest.raises(ImpossibleObservation):
        tracker.sensed(None, (0,))


def test_calls_out_of_turn_are_refused() -> None:
    tracker = Tracker(True)
    with pytest.raises(ValueError, match="not what comes next"):
        tracker.sensed(None, ())
    tracker.opponent_moved(None)
    with pytest.raises(ValueError, match="not the opponent's turn"):
        tracker.opponent_moved(None)
    with pytest.raises(ValueError, match="not what comes next"):
        tracker.moved(0, 0, None)
    tracker.sensed(None, ())
    with pytest.raises(ValueError, match="not what comes next"):
        tracker.sensed(None, ())


def pass_turns(tracker: Tracker, turns: int) -> None:
    for _ in range(turns):
        tracker.opponent_moved(None)
        tracker.sensed(None, ())
        tracker.moved(0, 0, None)


def test_the_oldest_sets_go_when_memory_runs_out() -> None:
    unbounded = Tracker(True)
    pass_turns(unbounded, 4)
    assert list(unbounded.sets) == list(range(unbounded.step + 1))
    budget = unbounded.nbytes // 2
    bounded = Tracker(True, memory=budget)
    pass_turns(bounded, 4)
    assert bounded.nbytes <= budget
    kept = list(bounded.sets)
    assert kept == list(range(kept[0], bounded.step + 1))
    assert kept[0] > 0
    assert set(bounded.current) == set(unbounded.current)


def test_the_current_set_stays_whatever_the_budget() -> None:
    tracker = Tracker(True, memory=0)
    pass_turns(tracker, 3)
    assert list(tracker.sets) == [tracker.step]


def test_a_cap_bounds_the_set_which_says_so_and_the_same_seed_draws_the_same() -> None:
    exact, first, again, other = Tracker(True), *(Tracker(True, cap=300, seed=s) for s in (1, 1, 2))
    for tracker in (exact, first, again, other):
        pass_turns(tracker, 3)
        tracker.opponent_moved(None)
    assert exact.complete
    assert len(exact) > 300
    for tracker in (first, again, other):
        assert len(tracker) == 300
        assert not tracker.complete
        assert set(tracker.current) <= set(exact.current)
    assert list(first.current) == list(again.current)
    assert set(first.current) != set(other.current)


def test_a_king_taken_is_possible_only_where_the_game_ended() -> None:
    fen = "4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1"
    game = Game(fen)
    tracker = Tracker(True, fen)
    tracker.opponent_moved(None)
    tracker.sensed(None, [content for _, content in game.sense(None)])
    takes = uci_to_code("e7e8")
    game.move(code_to_action(takes))
    with pytest.raises(ImpossibleObservation):
        tracker.moved(takes, game.last_taken, 60)
    tracker.moved(takes, game.last_taken, 60, ended=True)
    assert PASS not in game.legal_actions()


REFUSED = "2b1k2r/3p4/r6n/1pP3Np/3p2P1/2B3P1/4Q3/5r1K w - b6 0 56"  # c5b6 leaves White's king in check
ALLOWED = REFUSED.replace("5r1K", "7K")
TAKEN = "2b1k2r/3p4/rP5n/6Np/3p2P1/2B3P1/4Q3/5r1K b - - 0 1"


@pytest.mark.parametrize(
    ("taken", "capture", "left"),
    [
        ("", None, [REFUSED.replace("w - b6 0 56", "b - - 0 1")]),  # by the server
        ("c5b6", "b5", [TAKEN, TAKEN.replace("5r1K", "7K")]),  # by reconchess' own games
    ],
)
def test_an_en_passant_capture_into_check_may_be_answered_in_two_ways(
    taken: str, capture: str | None, left: list[str]
) -> None:
    """The official server lets it fail; one that leaves no check happens everywhere."""
    states = core.StateSet.from_fens([REFUSED, ALLOWED], True)
    square = None if capture is None else parse_square(capture)
    request, answer = uci_to_code("c5b6"), uci_to_code(taken) if taken else 0
    after = states.apply_move(request, answer, square, False)
    assert sorted(after.fens()) == sorted(left)
    before = states.prune_to_parents_of_move(after, request, answer, square, False)
    assert len(before) == len(left)
