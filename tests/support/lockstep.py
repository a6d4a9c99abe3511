"""Two games, ours and reconchess', given the same choices at every step and compared in everything they answer."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta

import chess
import reconchess
from reconchess.history import GameHistoryEncoder

from penumbra.interop.local_game import LocalGame

# Positions in which castling, en passant and promotion are a move or two away, for either side.
HAND_MADE = [
    "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 12",
    "r3k2r/1P4P1/8/8/8/8/1p4p1/R3K2R w KQkq - 0 1",
    "rn2k2r/8/8/8/8/8/8/RN2K2R w KQkq - 97 60",
    "4k3/PPPPPPPP/8/8/8/8/pppppppp/4K3 w - - 0 1",
    "1n1nk1n1/P1P1P1P1/8/8/8/8/p1p1p1p1/1N1NK1N1 b - - 0 1",
    "4k3/p1p1p1p1/8/1P1P1P1P/1p1p1p1p/8/P1P1P1P1/4K3 w - - 0 1",
    "4k3/1p1p1p1p/8/P1P1P1P1/p1p1p1p1/8/1P1P1P1P/4K3 b - - 0 1",
    "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
    "4k3/8/8/8/Pp6/8/8/4K3 b - a3 0 1",
    "4k3/8/8/6pP/8/8/8/4K3 w - g6 0 1",
    "r3k2r/p6p/8/8/8/8/P6P/R3K2R w Kq - 0 1",
    "r3k2r/pP4Pp/8/2Pp4/4pP2/8/Pp4pP/R3K2R w KQkq d6 0 9",
    "2r1k1r1/1P3P2/8/8/8/8/1p3p2/2R1K1R1 w - - 98 80",
]


class FakeClock:
    """The time for both games: quarters of seconds, which datetimes and floats both hold exactly."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        """As `datetime.now`, for reconchess."""
        return datetime(2024, 1, 1) + timedelta(seconds=self.seconds)


class Lockstep:
    """Plays one random game on both and asserts at every step that they cannot be told apart."""

    def __init__(self, rng: random.Random, clock: FakeClock, fen: str | None = None, **limits: float | None) -> None:
        self.rng = rng
        self.clock = clock
        self.ours = LocalGame(**limits, fen=fen, clock=clock)  # type: ignore[arg-type]
        self.theirs = reconchess.LocalGame(**limits)
        if fen is not None:
            self.theirs.board = chess.Board(fen)
            self.theirs.turn = self.theirs.board.turn

    def play(self, pace: float = 0.0, resigns: bool = False) -> str:
        """A game to its end, on average `pace` seconds a step; returns the history's JSON."""
        for game in (self.ours, self.theirs):
            game.store_players("white", "black")
            game.start()
        while not self._same("is_over"):
            self._turn(pace)
            if resigns and self.rng.random() < 0.05:
                self._same("resign")
        for method in ("get_winner_color", "get_win_reason"):
            self._same(method)
        self._same("end")
        for method in ("get_winner_color", "get_win_reason", "is_over", "get_seconds_left"):
            self._same(method)
        self._same("sense", 3)
        self._same("move", None)
        assert self.ours.sense_actions() is self.theirs.sense_actions() is None
        assert self.ours.seconds_left_by_color == self.theirs.seconds_left_by_color
        assert self.ours.board == self.theirs.board
        assert self.ours.board.move_stack == self.theirs.board.move_stack
        return self._same_history()

    def _turn(self, pace: float) -> None:
        assert self.ours.turn == self.theirs.turn
        for method in ("sense_actions", "opponent_move_results", "get_seconds_left", "get_game_history"):
            self._same(method)
        self._same("sense", self.rng.choice([None, *chess.SQUARES]))
        self._wait(pace)
        self._same("move", self._choose_move())
        self._wait(pace)
        self._same("end_turn")
        if self.rng.random() < 0.05:
            assert self.ours.board == self.theirs.board

    def _choose_move(self) -> chess.Move | None:
        """Any listed move, or a pass; more often than chance a promotion, castling, en passant or double step."""
        moves: list[chess.Move] = self.theirs.move_actions()
        assert self.ours.move_actions() == moves
        special = [m for m in moves if m.promotion or self._is_special(m)]
        if special and self.rng.random() < 0.6:
            move = self.rng.choice(special)
            return chess.Move(move.from_square, move.to_square) if self.rng.random() < 0.2 else move
        double_steps = [m for m in moves if self._is_double_step(m)]
        if double_steps and self.rng.random() < 0.2:
            return self.rng.choice(double_steps)
        return None if self.rng.random() < 0.03 else self.rng.choice(moves)

    def _is_special(self, move: chess.Move) -> bool:
        board: chess.Board = self.theirs.board
        return board.is_castling(move) or board.is_en_passant(move)

    def _is_double_step(self, move: chess.Move) -> bool:
        pawns: int = self.theirs.board.pawns
        return bool(pawns & chess.BB_SQUARES[move.from_square]) and abs(move.to_square - move.from_square) == 16

    def _wait(self, pace: float) -> None:
        if pace:
            self.clock.seconds += round(self.rng.random() * 8 * pace) / 4

    def _same(self, method: str, *arguments: object) -> object:
        """Calls both and compares the answers."""
        ours = getattr(self.ours, method)(*arguments)
        theirs = getattr(self.theirs, method)(*arguments)
        assert ours == theirs, (method, arguments, self.theirs.board.fen())
        return ours

    def _same_history(self) -> str:
        ours = json.dumps(self.ours.get_game_history(), cls=GameHistoryEncoder)
        assert ours == json.dumps(self.theirs.get_game_history(), cls=GameHistoryEncoder)
        return ours


def middle_game(rng: random.Random) -> str:
    """A position some random moves into a game, or a hand-made one some moves on; both kings still there."""
    start = rng.choice([chess.STARTING_FEN, *HAND_MADE])
    game = LocalGame(None, fen=start, reversible_moves_limit=None)
    fens = [start]
    for _ in range(rng.randrange(25)):
        moves = game.move_actions()
        game.move(rng.choice(moves or [None]))
        if game.is_over():
            break
        fens.append(game.board.fen(en_passant="fen"))
    return fens[-1]
