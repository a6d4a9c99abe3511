"""A recorded game played through, step by step, before somebody who watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from penumbra.core import Game, GameRecord
from penumbra.rbc.actions import code_to_action

Seen = TypeVar("Seen", covariant=True)


class Watcher(Protocol[Seen]):
    """Makes something of each step; the arguments are those of a game loop's spectators."""

    def sensed(self, game: Game, color: bool, square: int | None, contents: Sequence[int]) -> Seen: ...
    def moved(self, game: Game, color: bool, requested: int, taken: int, capture: int | None) -> Seen: ...


def replay(record: GameRecord, watcher: Callable[[str], Watcher[Seen]]) -> Iterator[Seen]:
    """What the watcher, made with the start's FEN, makes of each step; the last turn may lack its move."""
    game = Game(record.start_fen or None, None, None)
    watching = watcher(game.fen())
    moves = record.moves
    for i, square in enumerate(record.senses):
        color = game.turn
        sense = square if square >= 0 else None
        contents = [content for _, content in game.sense(sense)]
        yield watching.sensed(game, color, sense, contents)
        if i < len(moves):
            _, capture = game.move(code_to_action(moves[i]), moves[i] >> 12)
            yield watching.moved(game, color, moves[i], game.last_taken, capture)
