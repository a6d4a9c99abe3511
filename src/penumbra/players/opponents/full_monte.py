"""A player that plays every move on one board to a random end many times over, like FullMonte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penumbra.configs.reader import Count
from penumbra.core import KING_TAKEN, MOVE, Infostates, StateSet, advance
from penumbra.players.opponents.engine import Actions, Engine, requests
from penumbra.players.opponents.settings import EngineSettings
from penumbra.players.opponents.single_board_player import OneBoardPlayer
from penumbra.rbc.actions import is_move, mirror, move_squares

_OWN, _OPPOSING = range(12, 18), range(19, 25)  # planes of the synopsis; P N B R Q K
_UNUSED = [plane for plane in range(104) if plane not in _OWN and plane not in _OPPOSING]
_WORTH = np.array([100.0, 300.0, 300.0, 500.0, 900.0, 0.0])
_ENDED = 2000.0  # what a king taken in a playout counts


@dataclass(frozen=True)
class FullMonteSettings(EngineSettings):
    playouts: Count = 12  # of every move, each with its own random reply
    plies: Count = 5  # of a playout, the move included


class FullMonte(OneBoardPlayer[FullMonteSettings]):
    kind = "FullMonte"

    def __init__(self, seed: int, settings: FullMonteSettings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or FullMonteSettings(), engine)

    def pick_sense(self) -> int:
        """Where a piece was lost, else where the opponent's best reply would have gone."""
        if self.captured_at is not None:
            return self.captured_at
        theirs = StateSet(self.fen(our_turn=False), not self.color)
        actions = requests(theirs)
        reply = int(actions[self.best(self.engine.scores(theirs, actions)[0])])
        return mirror(move_squares(reply)[1]) if is_move(reply) else self.any_unowned()

    def pick_move(self, actions: Actions) -> int:
        scores = self.engine.scores(self.state(), actions)[0]
        if scores.max() >= KING_TAKEN:
            return int(actions[self.best(scores)])
        # A king left hanging is lost whatever random replies may say.
        hangs = scores < -KING_TAKEN // 2
        values = self._playouts(np.repeat(actions, self.settings.playouts))
        means = values.reshape(len(actions), -1).mean(axis=1)
        return self.pick(actions, np.where(hangs, means - _ENDED, means))

    def _playouts(self, first: Actions) -> NDArray[np.float64]:
        """float64[B]: the balance at the end of one playout from each of these moves."""
        fen, b = self.fen(), len(first)
        rows, values = np.arange(b), np.zeros(b)
        actor = Infostates.from_fens([[fen]], self.color, MOVE, 1).take(np.zeros(b, dtype=np.int64))
        other = Infostates.from_fens([[fen]], not self.color, MOVE, 1).take(np.zeros(b, dtype=np.int64))
        actions, sign = first, 1.0
        for ply in range(self.settings.plies):
            if ply:
                actor, other, _ = advance(actor, other, np.zeros(len(rows), dtype=np.int32), 1, 1)  # any sense
                actions = self._any_moves(actor)
            actor, other, ended = advance(actor, other, actions, 1, 1)
            if ended.any():
                values[rows[ended == 1]] = sign * _ENDED
                on = np.flatnonzero(ended == 0)
                rows, actor, other = rows[on], actor.take(on), other.take(on)
            if not len(rows):
                return values
            actor, other, sign = other, actor, -sign
        values[rows] = sign * _balance(actor)
        return values

    def _any_moves(self, actor: Infostates) -> Actions:
        actions, starts = actor.legal()
        chosen = starts[:-1] + self.rng.integers(np.diff(starts))
        return np.asarray(actions[chosen], dtype=np.int32)


def _balance(rows: Infostates) -> NDArray[np.float64]:
    """float64[B]: material of the player of each row, which knows its state, less the opponent's."""
    planes = rows.synopsis(_UNUSED)
    counts = np.unpackbits(planes.view(np.uint8), axis=1).reshape(len(planes), 104, 64).sum(axis=2)
    return np.asarray((counts[:, list(_OWN)].astype(np.float64) - counts[:, list(_OPPOSING)]) @ _WORTH)
