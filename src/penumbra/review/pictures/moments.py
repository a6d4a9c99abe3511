"""A moment of a recorded game as one player knew it: the set of states before one of its steps, and its memory."""

from __future__ import annotations

from dataclasses import dataclass

from penumbra.core import MOVE, SENSE, Game, GameRecord
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import code_to_action
from penumbra.rbc.domain import Situation
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed

CAP = 2_000_000  # states followed; past it the set is a random draw


@dataclass(frozen=True)
class Moment:
    """Before step `kind` of the `turn`-th turn of a player (True White), counted from 1."""

    player: bool
    turn: int
    kind: int
    situation: Situation
    fen: str  # the truth, on the real board

    @property
    def title(self) -> str:
        """`White before its sense on turn 5`."""
        step = "sense" if self.kind == SENSE else "move"
        return f"{'White' if self.player else 'Black'} before its {step} on turn {self.turn}"

    @property
    def size(self) -> str:
        """`238 states possible`."""
        states = self.situation.states
        number = f"{len(states):,}" if states.complete else f"more than {len(states):,}"
        return f"{number} state{'' if len(states) == 1 else 's'} possible"


def find_moment(record: GameRecord, player: bool, turn: int, kind: int, ell: int, seed: int) -> Moment:
    """Follows the game with what `player` observed. `ell` and `seed` decide what is remembered of the turn before."""
    game = Game(record.start_fen or None, None, None)
    x, _ = rbc.start(player, game.fen())
    moves = record.moves
    turns = 0
    for ply, square in enumerate(record.senses):
        ours = game.turn == player
        if ours:
            turns += 1
            if ply > 0:
                x = rbc.observed(x, OpponentMoved(game.capture), ell, CAP, seed + ply)
            if (turns, kind) == (turn, SENSE):
                return Moment(player, turn, kind, x, game.fen())
        sense = square if square >= 0 else None
        contents = tuple(content for _, content in game.sense(sense))
        if ours:
            x = rbc.observed(x, Sensed(sense, contents))
            if (turns, kind) == (turn, MOVE):
                return Moment(player, turn, kind, x, game.fen())
        if ply == len(moves):
            break
        _, capture = game.move(code_to_action(moves[ply]), moves[ply] >> 12)
        if ours:
            x = rbc.observed(x, Moved(moves[ply], game.last_taken, capture, game.over), ell, seed=seed + ply)
    name = "White" if player else "Black"
    raise ValueError(f"there is no turn {turn} of {name} in this game, which has {turns} of them")
