"""A moment of a recorded game as one player knew it: the set of states before one of its steps, and its context."""

from __future__ import annotations

from dataclasses import dataclass

from penumbra.core import SENSE, START_FEN, GameRecord
from penumbra.rbc import domain as rbc
from penumbra.rbc.domain import Situation
from penumbra.rbc.walk import walk

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
    x, _ = rbc.start(player, record.start_fen or START_FEN)
    turns = 0
    for step in walk(record):
        if step.color != player:
            continue
        turns = step.turn
        for observation in step.told:
            x = rbc.observed(x, observation, ell, CAP, seed + step.before.plies)
            if x.ours and (turns, x.kind) == (turn, kind):
                return Moment(player, turn, kind, x, step.after.fen())
    name = "White" if player else "Black"
    raise ValueError(f"there is no turn {turn} of {name} in this game, which has {turns} of them")
