"""Our players as reconchess players, and reconchess players as ours.

reconchess speaks real squares and python-chess moves; our players speak action numbers in their own view, in which the
ranks are mirrored for Black. Neither side notices the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import chess
import reconchess
from reconchess import GameHistory, WinReason
from reconchess.utilities import move_actions as listed_moves

from penumbra.interop.tables import MOVES, PIECES
from penumbra.players.player import Player, tell
from penumbra.rbc.actions import QUEEN, action_to_code, code_parts, code_to_action, sense_window, view, view_code
from penumbra.rbc.reconchess_values import contents_of, move_to_code, moved, opponent_moved

if TYPE_CHECKING:
    from penumbra.core import GameRecord


class NotAnAction(ValueError):
    """A player's answer that is no sense or no move at all."""


def pieces_of(contents: Sequence[int], viewer: bool) -> list[chess.Piece | None]:
    """Contents as pieces."""
    return [PIECES[c if viewer or c == 0 else (c + 5) % 12 + 1] for c in contents]


class ReconchessPlayer(reconchess.Player):
    """One of our players, made when the game starts, as a reconchess player."""

    def __init__(self, make: Callable[[], Player]) -> None:
        self._make = make
        self.player: Player | None = None
        self.color = chess.WHITE
        self._sense: int | None = None

    def handle_game_start(self, color: bool, board: chess.Board, opponent_name: str) -> None:
        self.color = color
        self.player = self._make()
        self.player.meet(opponent_name)
        self.player.start(color, board.fen(en_passant="fen"))

    def handle_opponent_move_result(self, captured_my_piece: bool, capture_square: int | None) -> None:
        tell(self._player, opponent_moved(captured_my_piece, capture_square, self.color))

    def choose_sense(self, sense_actions: list[int], move_actions: list[chess.Move], seconds_left: float) -> int | None:
        self._player.tell_time(_finite(seconds_left))
        self._sense = self._view(self._player.choose_sense())
        return self._sense

    def handle_sense_result(self, sense_result: list[tuple[int, chess.Piece | None]]) -> None:
        pieces = dict(sense_result)
        if self._sense is None or not pieces:
            self._player.sensed(None, ())
            return
        square = view(self._sense, self.color)
        window = [view(s, self.color) for s in sense_window(square, self.color)]
        self._player.sensed(square, contents_of([pieces.get(s) for s in window], self.color))

    def choose_move(self, move_actions: list[chess.Move], seconds_left: float) -> chess.Move | None:
        self._player.tell_time(_finite(seconds_left))
        codes = [view_code(move_to_code(move), self.color) for move in move_actions]
        actions = list(dict.fromkeys([*(code_to_action(code) for code in codes), code_to_action(0)]))
        action = self._player.choose_move(actions)
        code = action_to_code(action)
        if code and code | QUEEN << 12 in codes:  # a pawn that reaches the last rank
            code |= (self._player.promotion or QUEEN) << 12
        return MOVES[view_code(code, self.color)]

    def handle_move_result(
        self,
        requested_move: chess.Move | None,
        taken_move: chess.Move | None,
        captured_opponent_piece: bool,
        capture_square: int | None,
    ) -> None:
        tell(self._player, moved(requested_move, taken_move, captured_opponent_piece, capture_square, self.color))

    def handle_game_end(
        self, winner_color: bool | None, win_reason: WinReason | None, game_history: GameHistory | None
    ) -> None:
        if self.player is not None:
            self.player.game_over(winner_color, None if win_reason is None else win_reason.name)

    @property
    def _player(self) -> Player:
        if self.player is None:
            raise RuntimeError("the game has not started")
        return self.player

    def _view(self, square: int | None) -> int | None:
        return None if square is None else view(square, self.color)


def reconchess_class(make: Callable[[], Player], name: str) -> type[reconchess.Player]:
    """A class of reconchess players, each of which is one of ours; `name` is what reconchess shows."""

    class Adapted(ReconchessPlayer):
        def __init__(self) -> None:
            super().__init__(make)

    Adapted.__name__ = Adapted.__qualname__ = name
    return Adapted


class AdaptedPlayer(Player):
    """A reconchess player as one of ours.

    It knows its own pieces from what it is told, and from them the moves that reconchess would list. A move that
    promotes to less than a queen leaves that piece in `promotion`.
    """

    name = ""
    promotion = 0

    def __init__(self, player: reconchess.Player, name: str | None = None) -> None:
        self._player = player
        self.name = name or type(player).__name__
        self._opponent_name = ""
        self._color = chess.WHITE
        self._own = chess.Board(None)  # our pieces alone
        self._seconds_left = math.inf

    def meet(self, opponent_name: str) -> None:
        self._opponent_name = opponent_name

    def tell_time(self, seconds_left: float | None) -> None:
        self._seconds_left = math.inf if seconds_left is None else seconds_left

    def start(self, color: bool, fen: str) -> None:
        self._color = color
        self._own = chess.Board(fen)
        self._own.turn = color
        for square in chess.SquareSet(self._own.occupied_co[not color]):
            self._own.remove_piece_at(square)
        self._player.handle_game_start(color, chess.Board(fen), self._opponent_name)

    def opponent_moved(self, capture: int | None) -> None:
        square = None if capture is None else view(capture, self._color)
        if square is not None:
            self._own.remove_piece_at(square)
            self._own.castling_rights = self._own.clean_castling_rights()
        self._player.handle_opponent_move_result(square is not None, square)

    def choose_sense(self) -> int | None:
        square = self._player.choose_sense(list(chess.SQUARES), self._listed(), self._seconds_left)
        if square is None:
            return None
        try:
            return view(chess.SQUARES[chess.SQUARES.index(square)], self._color)
        except (ValueError, TypeError):
            raise NotAnAction(f"{_shown(square)} is not a square to sense") from None

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        window = () if square is None else sense_window(square, self._color)
        pieces = pieces_of(contents, self._color)
        self._player.handle_sense_result([(view(s, self._color), p) for s, p in zip(window, pieces, strict=True)])

    def choose_move(self, actions: Sequence[int]) -> int:
        move = self._player.choose_move(self._listed(), self._seconds_left)
        if move is not None and (not isinstance(move, chess.Move) or not move or move.drop is not None):
            raise NotAnAction(f"{_shown(move)} is not a move")
        code = view_code(move_to_code(move), self._color)
        self.promotion = code >> 12
        return code_to_action(code)

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        requested_move, taken_move = (_move(view_code(code, self._color)) for code in (requested, taken))
        if taken_move is not None:
            self._own.turn = self._color
            self._own.push(taken_move)
            self._own.clear_stack()
            self._own.turn = self._color
            self._own.ep_square = None
        square = None if capture is None else view(capture, self._color)
        self._player.handle_move_result(requested_move, taken_move, square is not None, square)

    def game_over(self, winner: bool | None, reason: str | None, record: GameRecord | None = None) -> None:
        from penumbra.interop.history import record_to_history

        history = GameHistory() if record is None else record_to_history(record)
        if reason == WinReason.KING_CAPTURE.name and winner == self._color and not history.is_empty():
            turn = history.last_turn(self._color)  # reconchess reports the move that takes the king; our games do not
            square = history.capture_square(turn)
            self._player.handle_move_result(
                history.requested_move(turn), history.taken_move(turn), square is not None, square
            )
        self._player.handle_game_end(winner, WinReason[reason] if reason is not None else None, history)

    def _listed(self) -> list[chess.Move]:
        moves: list[chess.Move] = listed_moves(self._own)
        return moves


def _move(code: int) -> chess.Move | None:
    if code == 0:
        return None
    start, end, promotion = code_parts(code)
    return chess.Move(start, end, promotion or None)


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _shown(value: Any) -> str:
    """As Python writes it, if it can, and not too long."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
