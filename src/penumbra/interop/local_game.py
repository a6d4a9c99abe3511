"""reconchess' LocalGame on the native game: the same methods, properties, errors and answers, many times faster.

`reconchess.play_local_game(white, black, game=LocalGame())` and every reconchess player run on it unchanged. This
differs:

- A position is set by assigning `board` (or by `fen`), not by changing the board in place.
- It must have both kings, or it is refused with a ValueError; and once a king is taken no further move is accepted.
  reconchess' own goes on taking moves, although the game is over.
- A subclass may restrict what is allowed by its own `sense_actions` and `move_actions`, but allow no more than the
  rules do, nor change what a move becomes: reconchess' `_revise_move` is not called.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from operator import getitem
from typing import Any

import chess
import reconchess
from reconchess import GameHistory, WinReason
from reconchess.utilities import add_pawn_queen_promotion

from penumbra.core import Game
from penumbra.interop.tables import MOVES, SENSE_ROWS, SensedSquare

_SQUARES = list(chess.SQUARES)


class LocalGame(reconchess.LocalGame):
    """A drop-in for `reconchess.LocalGame`.

    The native game is the truth. `board` is python-chess' view of it: taken moves are pushed onto it only when someone
    looks. The history's FENs are likewise written only when it is asked for, from a second native game that follows.
    """

    def __init__(
        self,
        seconds_per_player: float | None = 900,
        seconds_increment: float | None = 5,
        reversible_moves_limit: int | None = 100,
        full_turn_limit: int | None = None,
        *,
        fen: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """As reconchess', and: `fen` is the position to start from, `clock` gives the time in seconds."""
        self.seconds_per_player = seconds_per_player if seconds_per_player is not None else math.inf
        self.seconds_increment = seconds_increment if seconds_increment is not None else 0
        self.reversible_moves_limit = reversible_moves_limit if reversible_moves_limit is not None else math.inf
        self.full_turn_limit = full_turn_limit if full_turn_limit is not None else math.inf
        self.seconds_left_by_color = {
            chess.WHITE: self.seconds_per_player,
            chess.BLACK: self.seconds_per_player,
        }
        self.current_turn_start_time: float | None = None
        self.move_results: int | None = None
        self._clock = clock
        self._is_finished = False
        self._resignee: bool | None = None
        self._history = GameHistory()
        self._set_position(fen)
        self.turn = self._game.turn

    def _set_position(self, fen: str | None) -> None:
        self._game = Game(fen, None, None)
        self._sense_due = True  # whether the native game waits for this turn's sense
        self._movers: list[bool] = []  # `turn` at each move
        self._requests: list[int] = []  # the code of each move
        self._taken: list[chess.Move | None] = []
        self._follower = Game(fen, None, None)  # has played the first `_followed` moves
        self._followed = 0
        self._start_fen = fen
        self._board: chess.Board | None = None  # holds the first `_pushed` moves
        self._pushed = 0

    @property
    def board(self) -> chess.Board:
        """The true board, with the moves played so far on its stack. Assign to it to set a position."""
        if self._board is None:
            self._board = chess.Board(self._start_fen) if self._start_fen is not None else chess.Board()
        for taken in self._taken[self._pushed :]:
            self._board.push(taken if taken is not None else chess.Move.null())
        self._pushed = len(self._taken)
        return self._board

    @board.setter
    def board(self, board: chess.Board) -> None:
        self._store_fens()
        self._set_position(board.fen(en_passant="fen"))
        self._board = board

    def start(self) -> None:
        """Starts the clock of the first player."""
        self.current_turn_start_time = self._clock()

    def end(self) -> None:
        """Ends the game: stops the clock and writes the result into the history."""
        self.seconds_left_by_color[self.turn] = self.get_seconds_left()
        self._is_finished = True
        self._history.store_results(self.get_winner_color(), self.get_win_reason())

    def store_players(self, white_name: str, black_name: str) -> None:
        """Writes the players' names into the history."""
        self._history.store_players(white_name, black_name)

    def get_seconds_left(self) -> float:
        """The seconds left to the player whose turn it is."""
        left: float = self.seconds_left_by_color[self.turn]
        if self._is_finished or self.current_turn_start_time is None:
            return left
        return left - (self._clock() - self.current_turn_start_time)

    def sense_actions(self) -> list[int] | None:
        """All squares; None once the game has been ended."""
        return None if self._is_finished else _SQUARES.copy()

    def move_actions(self) -> list[chess.Move] | None:
        """The moves that can be asked for knowing one's own pieces alone; None once the game has been ended."""
        if self._is_finished:
            return None
        return list(map(MOVES.__getitem__, self._game.absolute_requests()))  # type: ignore[arg-type]

    def sense(self, square: int | None) -> list[SensedSquare]:
        """What stands on and around `square`; nothing for None."""
        if self._is_finished:
            return []
        result: list[SensedSquare] = []
        if square is not None:
            try:
                rows = SENSE_ROWS[square]
                if _is_overridden(self.sense_actions, LocalGame.sense_actions) and square not in (
                    self.sense_actions() or ()
                ):
                    raise KeyError
            except (KeyError, TypeError):
                raise ValueError(f"LocalGame::sense({square}): {square} is not a valid square.") from None
            if self._sense_due and not self._game.over:
                self._sense_due = False
                result = list(map(getitem, rows, self._game.absolute_sense(square)))
            else:
                board = self.board
                result = [(row[0][0], board.piece_at(row[0][0])) for row in rows]
        self._history.store_sense(self.turn, square, result)
        return result

    def move(self, requested_move: chess.Move | None) -> tuple[chess.Move | None, chess.Move | None, int | None]:
        """Plays the move asked for; returns it, the move that came of it and where it captured."""
        if self._is_finished:
            return requested_move, None, None
        if requested_move is None:
            code = 0
        else:
            code = requested_move.from_square | requested_move.to_square << 6 | (requested_move.promotion or 0) << 12
        if requested_move is not None and _is_overridden(self.move_actions, LocalGame.move_actions):
            listed = add_pawn_queen_promotion(self.board, requested_move)
            if listed not in (self.move_actions() or ()):
                raise ValueError(f"Requested move {requested_move} was not in move_actions()")
        if self._sense_due:
            self._game.absolute_sense(None)
            self._sense_due = False
        try:
            if requested_move is not None and (code == 0 or requested_move.drop is not None):
                raise ValueError  # a null move or a drop, neither of which is ever listed
            taken_code, capture = self._game.absolute_move(code)
        except ValueError:
            raise ValueError(f"Requested move {requested_move} was not in move_actions()") from None
        taken = MOVES[taken_code]
        self.move_results = capture if capture >= 0 else None
        self._sense_due = True
        self._movers.append(self.turn)
        self._requests.append(code)
        self._taken.append(taken)
        self._history.store_move(self.turn, requested_move, taken, self.move_results)
        return requested_move, taken, self.move_results

    def end_turn(self) -> None:
        """Books the time used, adds the increment and starts the other player's clock."""
        now = self._clock()
        self.seconds_left_by_color[self.turn] += self.seconds_increment - (now - self.current_turn_start_time)  # type: ignore[operator]
        self.turn = not self.turn
        self.current_turn_start_time = now

    def is_over(self) -> bool:
        """Whether the game was ended or resigned, a king is taken, a clock has run out or a limit is reached."""
        return (
            self._is_finished
            or self.get_seconds_left() <= 0
            or self.seconds_left_by_color[not self.turn] <= 0
            or self._game.over
            or self._resignee is not None
            or self._game.fullmove_number > self.full_turn_limit
            or self._game.halfmove_clock >= self.reversible_moves_limit
        )

    def get_winner_color(self) -> bool | None:
        """The winner's colour; None for a draw or while the game goes on."""
        if not self.is_over():
            return None
        if self._resignee is not None:
            return not self._resignee
        for color in chess.COLORS:
            if self.seconds_left_by_color[color] <= 0:
                return not color
        return self._game.winner

    def get_win_reason(self) -> WinReason | None:
        """Why the game is over; None while it goes on."""
        if not self.is_over():
            return None
        if self._resignee is not None:
            return WinReason.RESIGN
        if min(self.seconds_left_by_color.values()) <= 0:
            return WinReason.TIMEOUT
        if self._game.over:
            return WinReason.KING_CAPTURE
        if self._game.fullmove_number > self.full_turn_limit:
            return WinReason.TURN_LIMIT
        if self._game.halfmove_clock >= self.reversible_moves_limit:
            return WinReason.MOVE_LIMIT
        return None

    def get_game_history(self) -> GameHistory | None:
        """The history, once the game is over."""
        if not self.is_over():
            return None
        self._store_fens()
        return self._history

    def _store_fens(self) -> None:
        """Lets the follower catch up, writing the FEN before and after each move."""
        before = self._follower.fen()
        for i in range(self._followed, len(self._requests)):
            self._follower.absolute_sense(None)
            self._follower.absolute_move(self._requests[i])
            after = self._follower.fen()
            self._history.store_fen_before_move(self._movers[i], before)
            self._history.store_fen_after_move(self._movers[i], after)
            before = after
        self._followed = len(self._requests)


def _is_overridden(method: Callable[[], Any], own: Callable[..., Any]) -> bool:
    """Whether a bound method is not the one of this class: asking it costs more than knowing its answer."""
    return getattr(method, "__func__", None) is not own
