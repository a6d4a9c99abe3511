"""LocalGame where random games do not lead: errors, odd orders of calls, clocks, boards set by hand."""

from __future__ import annotations

import chess
import pytest
import reconchess
from reconchess import WinReason

from penumbra.interop.local_game import LocalGame
from tests.support.lockstep import FakeClock


@pytest.fixture(params=[LocalGame, reconchess.LocalGame])
def game(request: pytest.FixtureRequest) -> reconchess.LocalGame:
    """Each test runs on ours and on reconchess': what it says must hold for both."""
    return request.param()


@pytest.mark.parametrize("square", [-1, 64, "e4", 2.5, [1]])
def test_senses_off_the_board_are_refused(game: reconchess.LocalGame, square: object) -> None:
    with pytest.raises(ValueError) as caught:
        game.sense(square)
    assert str(caught.value) == f"LocalGame::sense({square}): {square} is not a valid square."


@pytest.mark.parametrize(
    "move",
    [
        chess.Move.null(),
        chess.Move.from_uci("e2e5"),
        chess.Move.from_uci("e7e5"),
        chess.Move.from_uci("e2e4q"),
        chess.Move.from_uci("a1b8"),
        chess.Move(chess.E2, chess.E4, drop=chess.PAWN),
        chess.Move.from_uci("e1g1"),
    ],
)
def test_moves_not_listed_are_refused_and_change_nothing(game: reconchess.LocalGame, move: chess.Move) -> None:
    with pytest.raises(ValueError) as caught:
        game.move(move)
    assert str(caught.value) == f"Requested move {move} was not in move_actions()"
    assert game.board == chess.Board()
    assert game.move(chess.Move.from_uci("e2e4"))[1] == chess.Move.from_uci("e2e4")


def test_a_sense_may_be_left_out_or_made_twice(game: reconchess.LocalGame) -> None:
    game.start()
    game.move(chess.Move.from_uci("e2e4"))
    game.end_turn()
    assert game.sense(chess.E4) == game.sense(chess.E4)
    assert game.sense(chess.A1)[0] == (chess.A2, chess.Piece(chess.PAWN, chess.WHITE))
    assert game.move(chess.Move.from_uci("e7e5"))[1] == chess.Move.from_uci("e7e5")
    game.end_turn()
    game.end()
    history = game.get_game_history()
    assert list(history.collect(history.sense, history.turns(chess.BLACK))) == []  # White, with no sense, is "empty"
    assert history._senses == {chess.WHITE: [], chess.BLACK: [chess.E4, chess.E4, chess.A1]}


def test_the_board_can_be_set_between_moves(game: reconchess.LocalGame) -> None:
    game.start()
    game.move(chess.Move.from_uci("e2e4"))
    game.end_turn()
    game.board = chess.Board("4k3/1P6/8/8/8/8/8/4K3 w - - 5 20")
    game.turn = chess.WHITE
    assert game.move(chess.Move.from_uci("b7b8")) == (
        chess.Move.from_uci("b7b8"),
        chess.Move.from_uci("b7b8q"),
        None,
    )
    game.end_turn()
    game.resign()
    game.end()
    assert (game.get_winner_color(), game.get_win_reason()) == (chess.WHITE, WinReason.RESIGN)
    history = game.get_game_history()
    assert [fen.split()[0] for fen in history._fens_before_move[chess.WHITE]] == [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR",
        "4k3/1P6/8/8/8/8/8/4K3",
    ]


def test_the_board_is_one_object_with_the_moves_on_its_stack(game: reconchess.LocalGame) -> None:
    board = game.board
    game.move(chess.Move.from_uci("e2e4"))
    game.move(None)
    assert game.board is board
    assert board.move_stack == [chess.Move.from_uci("e2e4"), chess.Move.null()]


def test_the_history_waits_for_the_end_and_stays_one_object(game: reconchess.LocalGame) -> None:
    assert game.get_game_history() is None
    game.resign()
    early = game.get_game_history()
    assert early.get_win_reason() is None
    game.end()
    assert game.get_game_history() is early
    assert early.get_win_reason() == WinReason.RESIGN


def test_an_ended_game_answers_nothing_more(game: reconchess.LocalGame) -> None:
    game.end()
    assert game.is_over()
    assert game.sense_actions() is None
    assert game.move_actions() is None
    assert game.sense(chess.E4) == []
    move = chess.Move.from_uci("e2e4")
    assert game.move(move) == (move, None, None)
    assert (game.get_winner_color(), game.get_win_reason()) == (None, None)


def test_a_turn_cannot_end_before_the_clocks_start(game: reconchess.LocalGame) -> None:
    with pytest.raises(TypeError):
        game.end_turn()


def test_limits_may_be_changed_during_the_game(game: reconchess.LocalGame) -> None:
    game.move(None)
    assert not game.is_over()
    game.reversible_moves_limit = 1
    assert game.is_over()
    assert game.get_win_reason() == WinReason.MOVE_LIMIT


def test_a_king_taken_too_late_loses_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is looked at before kings."""
    fen = "4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1"
    clock = FakeClock()
    monkeypatch.setattr("reconchess.game.datetime", clock)
    ours, theirs = LocalGame(10, 1, fen=fen, clock=clock), reconchess.LocalGame(10, 1)
    theirs.board = chess.Board(fen)
    for game in (ours, theirs):
        clock.seconds = 0.0
        game.start()
        clock.seconds = 20.0
        assert game.move(chess.Move.from_uci("e7e8"))[2] == chess.E8
        game.end_turn()
        game.end()
        assert (game.get_winner_color(), game.get_win_reason()) == (chess.BLACK, WinReason.TIMEOUT)


def test_time_runs_on_the_clock_given() -> None:
    clock = FakeClock()
    game = LocalGame(100, 5, clock=clock)
    clock.seconds = 50.0
    assert game.get_seconds_left() == 100  # not started
    game.start()
    clock.seconds = 60.0
    assert game.get_seconds_left() == 90
    game.end_turn()
    assert game.seconds_left_by_color == {chess.WHITE: 95, chess.BLACK: 100}
    clock.seconds = 161.0
    assert game.is_over()
    game.end()
    assert (game.get_winner_color(), game.get_win_reason()) == (chess.WHITE, WinReason.TIMEOUT)


def test_a_fen_may_have_black_to_move() -> None:
    game = LocalGame(fen="4k3/8/8/8/8/8/8/4K3 b - - 0 1")
    assert game.turn == chess.BLACK
    game.start()
    assert game.move(chess.Move.from_uci("e8e7"))[1] == chess.Move.from_uci("e8e7")


def test_a_broken_fen_is_refused() -> None:
    with pytest.raises(ValueError):
        LocalGame(fen="not a position")


@pytest.mark.parametrize("base", [LocalGame, reconchess.LocalGame])
def test_a_subclass_may_restrict_senses_and_moves(base: type[reconchess.LocalGame]) -> None:
    class Restricted(base):
        def sense_actions(self) -> list[int]:
            return [chess.E2]

        def move_actions(self) -> list[chess.Move]:
            return [chess.Move.from_uci("e2e4"), chess.Move.from_uci("a7a8q")]

    game = Restricted()
    with pytest.raises(ValueError, match=r"LocalGame::sense\(0\): 0 is not a valid square"):
        game.sense(chess.A1)
    assert len(game.sense(chess.E2)) == 9 and game.sense(None) == []
    with pytest.raises(ValueError, match=r"Requested move d2d4 was not in move_actions\(\)"):
        game.move(chess.Move.from_uci("d2d4"))
    assert game.move(chess.Move.from_uci("e2e4"))[1] == chess.Move.from_uci("e2e4")
    assert game.move(None)[1] is None
    game.board = chess.Board("7k/P7/8/8/8/8/8/K7 w - - 0 1")
    assert game.move(chess.Move.from_uci("a7a8"))[1] == chess.Move.from_uci("a7a8q")  # listed as a queen's


def test_a_position_without_a_king_is_refused() -> None:
    """Unlike reconchess', as the module says."""
    with pytest.raises(ValueError, match="both kings"):
        LocalGame(fen="8/8/8/8/8/8/8/4K3 w - - 0 1")
    with pytest.raises(ValueError, match="both kings"):
        LocalGame().board = chess.Board(None)
