"""A game of reconchess beside a game of an environment, given the same actions, and what its two players are told."""

from __future__ import annotations

import chess
import reconchess

from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from tests.oracles.knowledge import KnowledgeOracle
from tests.oracles.views import PASS, action_of_move, content, move_code, move_of_action, viewer_capture, viewer_square


class Referee:
    """A game of reconchess by action numbers; `told` is what the player to act has newly been told."""

    def __init__(self) -> None:
        self.game = reconchess.LocalGame(seconds_per_player=1e9)
        self.game.start()
        self.knowledge = {color: KnowledgeOracle(color) for color in (True, False)}
        self.at_move = False
        self.told: dict[bool, list[Observation]] = {True: [], False: []}
        self._turn_begins()

    @property
    def over(self) -> bool:
        return bool(self.game.is_over())

    def legal(self) -> set[int]:
        """By reconchess' own lists; promotions to a queen alone have a number."""
        if not self.at_move:
            return set(self.game.sense_actions())
        moves = [m for m in self.game.move_actions() if m.promotion in (None, chess.QUEEN)]
        return {action_of_move(move, self.game.turn) for move in moves} | {PASS}

    def act(self, action: int) -> None:
        color = self.game.turn
        if not self.at_move:
            shown = self.game.sense(viewer_square(action, color))
            self.knowledge[color].sensed(shown)
            self.told[color].append(Sensed(action, tuple(content(piece, color) for _, piece in shown)))
            self.at_move = True
            return
        request, taken, capture = self.game.move(move_of_action(action, color))
        self.knowledge[color].moved(taken, capture)
        codes = move_code(request, color), move_code(taken, color)
        self.told[color].append(Moved(*codes, viewer_capture(capture, color)))
        self.game.end_turn()
        self.at_move = False
        if not self.over:
            self._turn_begins()

    def _turn_begins(self) -> None:
        color = self.game.turn
        capture = self.game.opponent_move_results()
        own = chess.SquareSet(self.game.board.occupied_co[color])
        self.knowledge[color].turn_begins(own, capture)
        self.told[color].append(OpponentMoved(viewer_capture(capture, color)))
