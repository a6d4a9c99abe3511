"""Plays a game on a server of reconchess from wherever it stands, after a restart too."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any

import chess
from reconchess import GameHistory, RemoteGame, WinReason

from penumbra.interop.adapters import ReconchessPlayer
from penumbra.interop.connection import ServerError, Unheard
from penumbra.interop.kept_game import KeptGame
from penumbra.interop.lost_answers import is_ours, likely_result, outcomes, own_pieces
from penumbra.players.player import Player, tell
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.reconchess_values import moved, opponent_moved, sensed

log = logging.getLogger(__name__)

ATTEMPTS = 5  # at a thing that the server was asked for, each without an answer, before it counts as refused


def play_on(game: RemoteGame, make: Callable[[], Player], kept: KeptGame, goes_on: Callable[[], bool]) -> str | None:
    """Plays a game to its end, and says how it ended; None once `goes_on` says no."""
    adapted = ReconchessPlayer(make)
    color = bool(game.get_player_color())
    if kept.fen is None:
        kept.start(game.get_starting_board().fen(en_passant="fen"))
    adapted.handle_game_start(color, chess.Board(kept.fen), game.get_opponent_name())
    assert adapted.player is not None
    try:
        if kept.observations:
            log.info("game %d goes on after %d observations", kept.invited.game, len(kept.observations))
        for observation in kept.observations:
            tell(adapted.player, observation)
        _ready(game, again=bool(kept.observations))
        turns = _Turns(game, adapted, adapted.player, kept)
        while not game.is_over():
            if not goes_on():
                return None
            try:
                turns.step()
            except Unheard as unheard:
                log.warning("game %d: no answer: %s", kept.invited.game, unheard)
        turns.conclude()
        return _concluded(game, adapted, kept)
    finally:
        adapted.player.close()


def _ready(game: RemoteGame, again: bool) -> None:
    try:
        game.start()
    except ServerError:
        if not again:
            raise


class _Turns:
    """The turns of one game. Each step does the next thing, as what is kept of the game says."""

    def __init__(self, game: RemoteGame, adapted: ReconchessPlayer, player: Player, kept: KeptGame) -> None:
        self._game = game
        self._adapted = adapted
        self._player = player
        self._kept = kept

    def step(self) -> None:
        """It is our turn on the server, or was when a question to it was lost."""
        kept = self._kept
        last = kept.observations[-1] if kept.observations else None
        if not kept.turn_ended and (isinstance(last, Moved) or kept.unheard is not None):
            self._end_turn()
        elif kept.unheard is not None:
            self._work_out_result(kept.unheard)
        elif isinstance(last, OpponentMoved):
            self._sense()
        elif isinstance(last, Sensed):
            self._move()
        else:
            square = self._game.opponent_move_results()
            self._observe(opponent_moved(square is not None, square, self._adapted.color))

    def conclude(self) -> None:
        """The game is over. Where it ended with our move, the server may close it only with the end of our turn."""
        asked = self._kept.asked
        if self._kept.turn_ended and not (asked is not None and "move" in asked.what):
            return
        with contextlib.suppress(ServerError, Unheard):
            self._ask({"end_turn": True}, self._game.end_turn)

    def _sense(self) -> None:
        """A sense whose answer was lost is asked for again: the same one, so that nobody sees more than one."""
        asked = self._kept.asked
        if asked is None:
            actions = self._game.sense_actions(), self._game.move_actions()
            square = self._adapted.choose_sense(*actions, self._game.get_seconds_left())
            self._require_evaluator()
            square = None if square is None else int(square)
        else:
            square = asked.what["sense"]
        answered, result = self._ask({"sense": square}, lambda: self._game.sense(square))
        self._observe(sensed(result, self._adapted.color) if answered else Sensed(None, ()))

    def _move(self) -> None:
        """A move whose answer was lost is asked for again where it has not been made."""
        asked = self._kept.asked
        if asked is None:
            move = self._adapted.choose_move(self._game.move_actions(), self._game.get_seconds_left())
            self._require_evaluator()
        else:
            move = _read(asked.what["move"])
            if not self._lists_moves_of([self._own_pieces()]):
                self._kept.lose_result(_written(move))
                return
        answered, result = self._ask({"move": _written(move)}, lambda: self._game.move(move))
        if not answered:
            self._kept.lose_result(_written(move))
            return
        requested, taken, square = result
        observation = moved(requested, taken, square is not None, square, self._adapted.color)
        self._kept.observe(observation)
        try:
            self._end_turn()  # first, as our clock runs
        finally:
            tell(self._player, observation)

    def _end_turn(self) -> None:
        """A turn is not ended twice: the second time would end the turn after it."""
        if self._kept.asked is None or not self._is_next_turn():
            self._ask({"end_turn": True}, self._game.end_turn)
        self._kept.end_turn()

    def _is_next_turn(self) -> bool:
        """It is our turn: whether it is the next one already, after the opponent's."""
        boards = [self._own_pieces()]
        if self._kept.unheard is not None:
            boards = [board for _, board in outcomes(boards[0], _read(self._kept.unheard))]
        return self._lists_moves_of(boards)

    def _lists_moves_of(self, boards: list[chess.Board]) -> bool:
        """Whether the server takes moves of our pieces now, which stand as on one of the boards."""
        try:
            return is_ours(self._game.move_actions(), boards)
        except ServerError:
            return False

    def _work_out_result(self, move: str) -> None:
        """After the opponent's answer to a move whose result was lost."""
        kept, color = self._kept, self._adapted.color
        square = self._game.opponent_move_results()
        answer = opponent_moved(square is not None, square, color)
        assert kept.fen is not None
        result = likely_result(kept.fen, color, kept.observations, _read(move), answer, self._game.move_actions())
        log.warning("game %d: the answer to a move was lost; most likely %s", kept.invited.game, result)
        self._observe(result)

    def _ask(self, what: dict[str, Any], ask: Callable[[], Any]) -> tuple[bool, Any]:
        """Whether the server answered, and what; it may refuse what it was asked for before, and has done."""
        before = self._kept.asked
        self._kept.ask(what)
        try:
            return True, ask()
        except Unheard:
            if before is None or before.times < ATTEMPTS:
                raise
        except ServerError as error:
            if before is None:
                self._kept.refused()
                raise
            log.warning("game %d: asked again, the server refuses: %s", self._kept.invited.game, error)
        return False, None

    def _require_evaluator(self) -> None:
        """A choice without an evaluator is drawn at random: it is not played."""
        if self._player.gone is not None:
            raise self._player.gone

    def _observe(self, observation: Observation) -> None:
        self._kept.observe(observation)
        tell(self._player, observation)

    def _own_pieces(self) -> chess.Board:
        assert self._kept.fen is not None
        return own_pieces(self._kept.fen, self._adapted.color, self._kept.observations)


def _written(move: chess.Move | None) -> str:
    return "0000" if move is None else str(move.uci())


def _read(move: str) -> chess.Move | None:
    return None if move == "0000" else chess.Move.from_uci(move)


def _concluded(game: RemoteGame, adapted: ReconchessPlayer, kept: KeptGame) -> str:
    """Tells the player, and keeps reconchess' own record of the game beside ours."""
    winner: bool | None = game.get_winner_color()
    reason: WinReason | None = game.get_win_reason()
    history: GameHistory | None = game.get_game_history()
    adapted.handle_game_end(winner, reason, history)
    if history is not None:
        history.save(str(kept.path.with_suffix(".json")))
    who = "nobody" if winner is None else "Penumbra" if winner == adapted.color else "the opponent"
    result = f"{who} wins" + ("" if reason is None else f", {reason.name.lower().replace('_', ' ')}")
    kept.finish(result)
    return result
