"""Players carried between our games and reconchess': neither side can tell."""

from __future__ import annotations

import random
from collections.abc import Sequence

import chess
import pytest
import reconchess
from reconchess import GameHistory, WinReason
from reconchess.bots.random_bot import RandomBot

from penumbra.arena.game_loop import play_strictly
from penumbra.core import Game
from penumbra.interop.adapters import AdaptedPlayer, NotAnAction, ReconchessPlayer, reconchess_class
from penumbra.interop.history import history_to_record
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.rbc.actions import view, view_code


class Witness(RandomPlayer):
    """A random player that writes down everything it is told."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seen: list[object] = []
        self.times: list[float | None] = []
        self.met = ""
        self.result: object = None

    def meet(self, opponent_name: str) -> None:
        self.met = opponent_name

    def tell_time(self, seconds_left: float | None) -> None:
        self.times.append(seconds_left)

    def opponent_moved(self, capture: int | None) -> None:
        self.seen.append(("opponent", capture))

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        self.seen.append(("sensed", square, tuple(contents)))

    def choose_move(self, actions: Sequence[int]) -> int:
        self.seen.append(("listed", tuple(sorted(actions))))
        return super().choose_move(actions)

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self.seen.append(("moved", requested, taken, capture))

    def game_over(self, winner: bool | None, reason: str | None, record: object = None) -> None:
        self.result = (winner, reason)


def observations(game: Game, senses: list[int], moves: list[int]) -> dict[bool, list[object]]:
    """What each player of a game is told, the move that ends it included."""
    told: dict[bool, list[object]] = {True: [], False: []}
    for square, code in zip(senses, moves, strict=True):
        color = game.turn
        told[color].append(("opponent", game.capture))
        contents = tuple(content for _, content in game.sense(square))
        told[color].append(("sensed", square, contents))
        told[color].append(("listed", tuple(sorted(game.legal_actions()))))
        taken, capture = game.absolute_move(view_code(code, color))
        seen = None if capture < 0 else view(capture, color)
        told[color].append(("moved", code, view_code(taken, color), seen))
    return told


@pytest.mark.parametrize("seed", range(4))
def test_our_players_are_told_in_reconchess_games_what_they_are_told_in_ours(seed: int) -> None:
    witnesses: list[Witness] = []

    def make() -> Witness:
        witnesses.append(Witness(seed * 2 + len(witnesses)))
        return witnesses[-1]

    winner, reason, history = reconchess.play_local_game(ReconchessPlayer(make), ReconchessPlayer(make))
    record = history_to_record(history)
    told = observations(Game(None, None, None), record.senses, record.moves)
    assert witnesses[0].seen == told[True]
    assert witnesses[1].seen == told[False]
    assert witnesses[0].result == (winner, reason.name)
    assert witnesses[0].met == "ReconchessPlayer"
    assert all(seconds is not None and seconds > 800 for seconds in witnesses[1].times)


def test_a_promotion_is_asked_for_by_its_piece() -> None:
    """reconchess lists a pawn's step to the last rank only with a piece; our action means a queen."""

    class Promoter(RandomPlayer):
        promotion = 0

        def choose_move(self, actions: Sequence[int]) -> int:
            return 64 + chess.E7 * 64 + chess.E8

    board = chess.Board("7k/4P3/8/8/8/8/8/K7 w - - 0 1")
    for promotion, piece in ((0, chess.QUEEN), (2, chess.KNIGHT)):
        player = Promoter(1)
        player.promotion = promotion
        adapted = ReconchessPlayer(lambda player=player: player)  # type: ignore[misc]
        adapted.handle_game_start(chess.WHITE, board, "somebody")
        move = adapted.choose_move(reconchess.utilities.move_actions(board), 10.0)
        assert move == chess.Move(chess.E7, chess.E8, piece)


def test_no_clock_is_told_as_none() -> None:
    witness = Witness(1)
    adapted = ReconchessPlayer(lambda: witness)
    adapted.handle_game_start(chess.BLACK, chess.Board(), "somebody")
    adapted.choose_sense(list(chess.SQUARES), [], float("inf"))
    assert witness.times == [None]


class ListKeeper(RandomBot):
    """reconchess' random player, which keeps the moves it was offered and the results it was told."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.offered: list[list[chess.Move]] = []
        self.results: list[object] = []
        self.end: object = None

    def handle_game_start(self, color: bool, board: chess.Board, opponent_name: str) -> None:
        self.color = color

    def choose_sense(self, sense_actions: list[int], move_actions: list[chess.Move], seconds_left: float) -> int | None:
        self.offered.append(move_actions)
        square: int | None = self.random.choice([*sense_actions, None])
        return square

    def handle_sense_result(self, sense_result: list[tuple[int, chess.Piece | None]]) -> None:
        self.results.append(sense_result)

    def choose_move(self, move_actions: list[chess.Move], seconds_left: float) -> chess.Move | None:
        assert move_actions == self.offered[-1]
        special = [move for move in move_actions if move.promotion]
        move: chess.Move | None = self.random.choice(special or [*move_actions, None])
        return move

    def handle_move_result(self, *result: object) -> None:
        self.results.append(result)

    def handle_game_end(self, winner_color: bool | None, win_reason: WinReason | None, history: GameHistory) -> None:
        self.end = (winner_color, win_reason, history)


@pytest.mark.parametrize("seed", range(6))
def test_reconchess_players_are_told_in_our_games_what_they_are_told_in_reconchess(seed: int) -> None:
    """Everything they saw in a game of ours, reconchess' own game says too when it is played through again."""
    bots = {True: ListKeeper(seed), False: ListKeeper(seed + 100)}
    players = {color: AdaptedPlayer(bot) for color, bot in bots.items()}
    game = play_strictly(players[True], players[False])
    record = game.record()
    truth = reconchess.LocalGame(None)
    truth.start()
    results: dict[bool, list[object]] = {True: [], False: []}
    for turn, (square, code) in enumerate(zip(record.senses, record.moves, strict=True)):
        color = truth.turn
        assert bots[color].offered[turn // 2] == truth.move_actions()
        results[color].append(truth.sense(None if square < 0 else view(square, color)))
        requested, taken, capture = truth.move(_move(view_code(code, color)))
        results[color].append((requested, taken, capture is not None, capture))
        truth.end_turn()
    for color, bot in bots.items():
        told = results[color]
        if game.reason == "KING_CAPTURE" and game.winner == color:
            assert bot.results == told  # reported although our own games do not
        else:
            assert bot.results == told[: len(bot.results)] and len(told) - len(bot.results) <= 1
        assert isinstance(bot.end, tuple) and bot.end[:2] == (game.winner, WinReason[str(game.reason)])


def _move(code: int) -> chess.Move | None:
    return None if code == 0 else chess.Move(code & 63, code >> 6 & 63, code >> 12 or None)


@pytest.mark.parametrize("answer", ["e4", 64, -1, 3.5, [1], chess.Move.null()])
def test_senses_that_are_no_squares_are_refused(answer: object) -> None:
    class Fool(ListKeeper):
        def choose_sense(self, *arguments: object) -> int | None:
            return answer  # type: ignore[return-value]

    player = AdaptedPlayer(Fool(1))
    player.start(True, chess.STARTING_FEN)
    with pytest.raises(NotAnAction):
        player.choose_sense()


@pytest.mark.parametrize("answer", ["e2e4", 12, chess.Move.null(), chess.Move(1, 2, drop=3), object()])
def test_answers_that_are_no_moves_are_refused(answer: object) -> None:
    class Fool(ListKeeper):
        def choose_move(self, *arguments: object) -> chess.Move | None:
            return answer  # type: ignore[return-value]

    player = AdaptedPlayer(Fool(1))
    player.start(False, chess.STARTING_FEN)
    with pytest.raises(NotAnAction):
        player.choose_move(())


def test_a_class_of_ours_has_its_name() -> None:
    adapted = reconchess_class(lambda: RandomPlayer(1), "Dice")
    assert adapted.__name__ == "Dice"
    assert issubclass(adapted, reconchess.Player)
    adapted().handle_game_start(True, chess.Board(), "somebody")
