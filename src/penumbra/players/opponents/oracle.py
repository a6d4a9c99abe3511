"""A player that tracks all states and makes the move that the engine recommends in most of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penumbra.players.opponents.engine import Actions, Engine, in_check
from penumbra.players.opponents.settings import Size, TrackingSettings
from penumbra.players.opponents.tracking_player import TrackingPlayer
from penumbra.rbc.sense_partitions import INNER_SQUARES, sense_groups

SENSED = 250  # states that senses are compared on


@dataclass(frozen=True)
class OracleSettings(TrackingSettings):
    cap: Size = 4_000


class Oracle(TrackingPlayer[OracleSettings]):
    kind = "Oracle"

    def __init__(self, seed: int, settings: OracleSettings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or OracleSettings(), engine)

    def pick_sense(self) -> int:
        """Possible checks first: the fewest states expected if there is one. Else the fewest states expected."""
        states = self.draw(SENSED)
        checks = in_check(states)
        which = checks if checks.any() else np.ones(len(states), dtype=np.bool_)
        left = [float((np.bincount(groups)[groups][which]).sum()) for groups in sense_groups(states)]
        return INNER_SQUARES[self.best(-np.array(left))]

    def pick_move(self, actions: Actions) -> int:
        """A vote of a thousand to one, in hundredths of a pawn, over the mean score, which settles ties."""
        scores = self.scored(self.draw(), actions)
        best = scores == scores.max(axis=1, keepdims=True)
        votes = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
        return self.pick(actions, 1000 * votes + 0.1 * scores.mean(axis=0))
