"""Games step by step: what was done, what the player who did it was told, and the true game before and after.

`walk` goes through a recorded game; `sense` and `move` take one step of a game that is being played. All three make the
same `Step`, so that whatever follows a game can follow recorded and live games alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penumbra.core import SENSE, Game, GameRecord
from penumbra.rbc.actions import code_to_action
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed


class IllegalStep(ValueError):
    """A step of a record that the rules do not allow, in the `turn`-th turn of `color`, counted from 1."""

    def __init__(self, color: bool, turn: int, message: str) -> None:
        super().__init__(message)
        self.color = color
        self.turn = turn


class Step(NamedTuple):
    """A sense or a move. The games are copies, which stay as they are while the game goes on."""

    before: Game
    after: Game
    observation: Sensed | Moved  # what was done and what came of it, in the view of the player who did it

    @property
    def color(self) -> bool:
        """Who acted, True for White."""
        return self.before.turn

    @property
    def kind(self) -> int:
        """SENSE or MOVE."""
        return self.before.step

    @property
    def turn(self) -> int:
        """Of the player who acted, from 1."""
        return self.before.plies // 2 + 1

    @property
    def told(self) -> tuple[Observation, ...]:
        """All that the player who acted was told since its step before, in this order.

        Before each of its senses that is a notice of the opponent's move; before the first turn of a game, when nobody
        has moved, there is one too. Of a move that takes the king the opponent hears nothing: it has no further step.
        """
        if self.kind == SENSE:
            return OpponentMoved(self.before.capture), self.observation
        return (self.observation,)


def sense(game: Game, square: int | None) -> Step:
    """The player to act senses `square`, or nothing. ValueError if it may not."""
    before = game.copy()
    contents = tuple([content for _, content in game.sense(square)])  # a list is faster than a generator
    return Step(before, game.copy(), Sensed(square, contents))


def move(game: Game, code: int) -> Step:
    """The player to act asks for a move, by its code. ValueError if it may not."""
    before = game.copy()
    _, capture = game.move(code_to_action(code), code >> 12)
    return Step(before, game.copy(), Moved(code, game.last_taken, capture, game.reason == "KING_CAPTURE"))


def walk(record: GameRecord) -> Iterator[Step]:
    """The steps of a recorded game; its last turn may lack the move. `IllegalStep` where the record breaks the rules.

    A start that is no position is a plain ValueError.
    """
    game = Game(record.start_fen or None, None, None)
    moves = record.moves
    for i, square in enumerate(record.senses):
        try:
            yield sense(game, square if square >= 0 else None)
            if i < len(moves):
                yield move(game, moves[i])
        except ValueError as error:
            raise IllegalStep(game.turn, i // 2 + 1, str(error)) from None
