"""What happens when no state agrees with an observation: a set that does is made, and play goes on."""

from __future__ import annotations

import logging
import random
import time

import pytest

from penumbra.arena.game_loop import play_strictly
from penumbra.core import MOVE, SENSE, Context, Game, ImpossibleObservation, StateSet
from penumbra.dsmcp import Settings
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.penumbra.recovery import (
    KING,
    THEIR_KING,
    Trail,
    arrange,
    read_board,
    recovered,
    write_fen,
)
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import parse_square, uci_to_code, view
from penumbra.rbc.domain import Situation
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed

MIDDLE = "r1bqk2r/ppp2ppp/2np1n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R w KQkq - 0 6"


def square(name: str) -> int:
    return parse_square(name)


def middle(owner: bool, kind: int, plies: int = 1) -> Situation:
    """A few hundred states some passes after a middle game, with the owner to act before a step of this kind."""
    fen = MIDDLE if owner else MIDDLE.replace(" w ", " b ")
    states = StateSet(fen, owner)
    for _ in range(plies):
        states = states.apply_move(0, 0, None).expand(None)
    return Situation(states, kind, Context())


def theirs(x: Situation) -> Situation:
    """Before the opponent's move, after our pass."""
    return rbc.opponent_sensed(rbc.observed(x, Moved(0, 0, None), seed=1))


def assert_sound(states: StateSet) -> None:
    """Every state has one king of each side and no pawn on the first or last rank, and all have the same own pieces."""
    assert len(states) > 0
    own = set()
    for fen in states.fens():
        board = read_board(fen, states.owner)
        assert (board.count(KING), board.count(THEIR_KING)) == (1, 1)
        assert not any(board[s] in (1, 7) for s in [*range(8), *range(56, 64)])
        assert sum(content > 6 for content in board) <= 16
        own.add(tuple(content if content <= 6 else 0 for content in board))
    assert len(own) == 1


@pytest.mark.parametrize("owner", [True, False])
@pytest.mark.parametrize(
    "contents",
    [
        (0, 0, 0, 0, 0, 0, 0, 0, 0),  # nothing at all, where two pawns and two knights were
        (7, 7, 7, 7, 7, 7, 7, 7, 7),  # more pawns than there ever were
        (12, 0, 0, 0, 11, 0, 0, 0, 0),  # the king and the queen in the middle of the board
        (0, 0, 0, 0, 0, 0, 5, 0, 0),  # a queen of our own that we do not have
    ],
)
def test_a_wrong_sense_is_believed(owner: bool, contents: tuple[int, ...]) -> None:
    x = middle(owner, SENSE)
    observation = Sensed(square("e5"), contents)
    with pytest.raises(ImpossibleObservation):
        rbc.observed(x, observation)
    after = recovered(x, observation, 3)
    assert after.kind == MOVE and after.ours
    assert_sound(after.states)
    assert len(after.states.filter_sense(square("e5"), list(contents))) == len(after.states)


def test_a_sense_never_takes_our_own_king_away() -> None:
    after = recovered(middle(True, SENSE), Sensed(square("e1"), (0, 0, 0, 0, 0, 0)), 1)
    assert_sound(after.states)
    assert read_board(after.states.fen(0), True)[square("e1")] == KING


@pytest.mark.parametrize("owner", [True, False])
@pytest.mark.parametrize("capture", ["e4", "a1", "d4", "h2"])
def test_a_capture_that_nothing_could_make_is_believed(owner: bool, capture: str) -> None:
    """On a square of ours that nothing attacks, and on an empty one."""
    x = theirs(Situation(StateSet(MIDDLE if owner else MIDDLE.replace(" w ", " b "), owner), MOVE, Context()))
    after = recovered(x, OpponentMoved(square(capture)), 5)
    assert after.kind == SENSE and after.ours
    assert after.context.opposing_capture == square(capture)
    assert_sound(after.states)
    for fen in after.states.fens():
        assert read_board(fen, owner)[square(capture)] > 6


@pytest.mark.parametrize("owner", [True, False])
@pytest.mark.parametrize(
    ("requested", "taken", "capture"),
    [
        ("d3d4", "d3d4", "d4"),  # a pawn does not capture straight on
        ("c4f7", "c4e6", "e6"),  # nothing stands there in any state
        ("a2a4", "a2a3", None),  # nothing can be in the way on a4
        ("a2a3", "pass", None),  # nothing can be in the way on a3
        ("e1g1", "pass", None),  # nothing stands between king and rook
        ("f3g5", "f3g5", "g5"),  # nothing stands there
        ("b2b4", "b2b4", "b5"),  # captures nowhere near
        ("a5a6", "a5a6", None),  # a piece that we do not have
    ],
)
def test_a_wrong_result_of_a_move_is_believed(owner: bool, requested: str, taken: str, capture: str | None) -> None:
    x = Situation(StateSet(MIDDLE if owner else MIDDLE.replace(" w ", " b "), owner), MOVE, Context())
    # Black's mirrored position has the queens and kings on the same files, so the words mean the same for both.
    codes = uci_to_code(requested), uci_to_code(taken)
    mirrored = MIDDLE.split()[0].swapcase().split("/")
    if not owner:
        fen = "/".join(reversed(mirrored)) + " b KQkq - 0 6"
        x = Situation(StateSet(fen, False), MOVE, Context())
    observation = Moved(*codes, None if capture is None else square(capture))
    with pytest.raises(ValueError):
        rbc.observed(x, observation)
    after = recovered(x, observation, 7)
    assert after.kind == SENSE and not after.ours
    assert_sound(after.states)
    if capture is not None:
        assert all(read_board(fen, owner)[square(capture)] <= 6 for fen in after.states.fens())


def test_boards_go_to_fens_and_back() -> None:
    for owner in (True, False):
        for fen in middle(owner, SENSE).states.fens()[:50]:
            board = read_board(fen, owner)
            placement, turn, rights = fen.split()[:3]
            assert write_fen(board, rights, turn == "w", owner).split()[:3] == [placement, turn, rights]


def test_arranging_keeps_the_opposing_material_where_it_can() -> None:
    board = read_board(MIDDLE, True)
    queen = board.index(11)
    moved = arrange(board, {square("h4"): 11, queen: 0}, random.Random(1))
    assert moved.count(11) == 1 and moved[square("h4")] == 11
    assert sorted(moved) == sorted(board)


def test_a_truth_lost_to_the_cap_is_found_again_from_the_last_whole_set() -> None:
    """Games that a set of 60 states cannot follow: the trail leads back, and the second time there is more room."""
    rng = random.Random(4)
    found = lost = 0
    for _ in range(30):
        game, x, trail = Game(), rbc.start(True)[0], Trail(128)
        for _ in range(6):
            observations: list[Observation] = []
            if game.plies:
                observations.append(OpponentMoved(game.capture))
            s = rng.choice(range(64))
            observations.append(Sensed(s, tuple(content for _, content in game.sense(s))))
            action = rng.choice(game.legal_actions())
            _, capture = game.move(action)
            observations.append(Moved(game.last_request, game.last_taken, capture))
            if game.over:
                break
            x, ok = follow(x, observations, trail, cap=60)
            if not ok:
                lost += 1
                again = trail.again(trail.failed, 0, 1, time.monotonic() + 5)  # type: ignore[attr-defined]
                found += again is not None
                break
            game.sense(None)
            game.move(rng.choice(game.legal_actions()))
            if game.over:
                break
            x = rbc.opponent_sensed(x)
    assert lost >= 5
    assert found == lost


def follow(x: Situation, observations: list[Observation], trail: Trail, cap: int) -> tuple[Situation, bool]:
    for i, observation in enumerate(observations):
        try:
            after = rbc.observed(x, observation, 128, cap, i + len(trail.since))
        except ImpossibleObservation:
            trail.failed = observation  # type: ignore[attr-defined]
            return x, False
        trail.follow(x, observation, after)
        x = after
    return x, True


def player(seed: int, cap: int = 100_000) -> PenumbraPlayer:
    settings = Settings(b=16, n_particles=32, table_entries=1 << 12, seed=seed)
    return PenumbraPlayer(HeuristicEvaluator(), settings, nodes=60, cap=cap)


@pytest.mark.parametrize("wrong", ["sense", "capture", "result"])
def test_the_player_goes_on_after_an_impossible_observation(wrong: str, caplog: pytest.LogCaptureFixture) -> None:
    """One wrong thing is told in the middle of a game; the player notes it and plays on by the rules."""
    white, black, game = player(4), RandomPlayer(2), Game()
    white.start(True)
    black.start(False, game.fen())
    with caplog.at_level(logging.WARNING, logger="penumbra.players.penumbra.player"):
        for turn in range(8):
            now = turn == 3
            white.opponent_moved(square("a1") if now and wrong == "capture" else game.capture)
            s = white.choose_sense()
            contents = [content for _, content in game.sense(s)]
            if now and wrong == "sense":
                contents = [12] + [0] * (len(contents) - 1) if 12 not in contents else [0] * len(contents)
            white.sensed(s, contents)
            actions = game.legal_actions()
            action = white.choose_move(actions)
            assert action in actions
            _, capture = game.move(action)
            if game.over:
                break
            told = square("h6") if now and wrong == "result" else capture
            white.moved(game.last_request, game.last_taken, told)
            game.sense(None)
            game.move(black.choose_move(game.legal_actions()))
            if game.over:
                break
    assert white.faults == []
    assert white.recoveries and "turn 4" in white.recoveries[0]
    assert white.recoveries[0] in caplog.text


def test_the_player_survives_a_cap_far_too_small() -> None:
    """With room for 5 states the truth is lost again and again; every game is played to its end all the same."""
    recoveries = 0
    for seed in range(3):
        white = player(seed, cap=5)
        game = play_strictly(white, RandomPlayer(seed))
        assert game.over
        assert white.faults == []
        recoveries += len(white.recoveries)
    assert recoveries > 0


def test_with_a_node_budget_and_no_clock_recovery_does_not_depend_on_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    records = []
    for seconds in (0.0, 100.0):
        monkeypatch.setattr("penumbra.players.penumbra.time_control.UNTIMED_STEP", seconds)
        settings = Settings(b=8, n_particles=32, table_entries=4096, seed=6)
        player = PenumbraPlayer(HeuristicEvaluator(), settings, nodes=20, cap=30)
        records.append(play_strictly(player, RandomPlayer(3), Game(None, full_turn_limit=15)).record().to_bytes())
        assert any("found again" in line for line in player.recoveries)
    assert records[0] == records[1]


def test_a_reported_capture_of_the_king_is_the_end_and_no_riddle() -> None:
    """reconchess reports the move that takes the king; our own games do not."""
    white = player(1)
    fen = "4k3/8/8/8/8/8/8/K3R3 w - - 0 1"
    white.start(True, fen)
    white.opponent_moved(None)
    white.sensed(square("e8"), [content for _, content in Game(fen).sense(square("e8"))])
    white.moved(uci_to_code("e1e8"), uci_to_code("e1e8"), square("e8"))
    assert white.recoveries == []
    white.game_over(True, "KING_CAPTURE")


def test_a_king_that_was_none_after_all_is_a_riddle_that_is_solved() -> None:
    """Every state had the king on e8, it was taken there, and the opponent moves: it must be elsewhere."""
    white = player(1)
    fen = "4k3/8/8/8/8/8/8/K3R3 w - - 0 1"
    white.start(True, fen)
    white.opponent_moved(None)
    white.sensed(None, ())
    white.moved(uci_to_code("e1e8"), uci_to_code("e1e8"), square("e8"))
    white.opponent_moved(None)
    assert len(white.recoveries) == 1 and white.faults == []
    assert_sound(white.situation.states)
    assert 0 <= white.choose_sense() < 64


def test_an_en_passant_capture_that_the_server_refuses_is_no_lost_track() -> None:
    """The official server lets it fail because White's king would be in check afterwards."""
    player = PenumbraPlayer(HeuristicEvaluator(), Settings(seed=1, table_entries=1 << 12), nodes=8)
    player.start(True, "2b1k2r/3p4/r6n/1pP3Np/3p2P1/2B3P1/4Q3/5r1K w - b6 0 56")
    player.opponent_moved(None)
    player.sensed(None, ())
    player.moved(uci_to_code("c5b6"), 0, None)
    assert player.recoveries == []
    assert player.situation.states.fens() == ["2b1k2r/3p4/r6n/1pP3Np/3p2P1/2B3P1/4Q3/5r1K b - - 0 1"]


def test_a_search_that_fails_is_noted_and_something_is_played() -> None:
    class Broken(HeuristicEvaluator):
        def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
            raise FloatingPointError("no such number")

    white = PenumbraPlayer(Broken(), Settings(b=8, n_particles=8, seed=1), nodes=10)
    white.start(True)
    white.opponent_moved(None)
    game = Game()
    s = white.choose_sense()
    white.sensed(s, [content for _, content in game.sense(s)])
    assert white.choose_move(game.legal_actions()) in game.legal_actions()
    assert [fault.split(":")[:2] for fault in white.faults] == [["turn 1", " FloatingPointError"]]


def test_viewer_squares_are_mirrored_for_black() -> None:
    board = read_board(MIDDLE, False)
    assert board[view(square("e8"), False)] == KING
    assert board[view(square("e1"), False)] == THEIR_KING
