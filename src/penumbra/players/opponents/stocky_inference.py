"""A player with up to a few hundred boards that makes the move whose worst case is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penumbra.core import StateSet
from penumbra.players.opponents.engine import KING_NOW, Actions, Engine, in_check
from penumbra.players.opponents.settings import Size, TrackingSettings
from penumbra.players.opponents.tracking_player import TrackingPlayer
from penumbra.rbc.sense_partitions import INNER_SQUARES, WINDOWS

HUNT = 0.3  # share of boards in which the king must stand for a move that takes it to be made
WORST = 0.1  # the worst case is the mean of this share of boards: one odd board decides nothing alone


@dataclass(frozen=True)
class StockyInferenceSettings(TrackingSettings):
    boards: Size = 500  # kept from turn to turn; `cap` is how many may be drawn from their successors


class StockyInference(TrackingPlayer[StockyInferenceSettings]):
    """Boards on which its king hangs are kept first, and are first among those whose moves are scored."""

    kind = "StockyInference"

    def __init__(
        self, seed: int, settings: StockyInferenceSettings | None = None, engine: Engine | None = None
    ) -> None:
        super().__init__(seed, settings or StockyInferenceSettings(), engine)

    def learn_sensed(self, square: int, contents: Sequence[int]) -> None:
        super().learn_sensed(square, contents)
        if len(self.states) > self.settings.boards:
            self.states = self._hanging_first(self.states, self.settings.boards)

    def pick_sense(self) -> int:
        """Where the nine cells differ most from what is commonest on each."""
        counts = self.states.marginals().astype(np.float64)  # [64, 13]
        surprise = counts.sum(axis=1) - counts.max(axis=1)
        return INNER_SQUARES[self.best(surprise[WINDOWS].sum(axis=1))]

    def pick_move(self, actions: Actions) -> int:
        states, weights = self.draw_checks(self.settings.states)
        scores = self.scored(states, actions)
        takes = weights @ (scores == KING_NOW)
        if takes.max() >= HUNT:
            return int(actions[self.best(takes)])
        candidates = np.unique(scores.argmax(axis=1))
        few = max(1, int(WORST * len(scores)))
        worst = np.sort(scores[:, candidates], axis=0)[:few].mean(axis=0)
        return self.pick(actions[candidates], worst + 0.5 * (weights @ scores[:, candidates]))

    def _hanging_first(self, states: StateSet, n: int) -> StateSet:
        hanging = in_check(states)
        fens = states.fens()
        order = self.rng.permutation(len(fens))
        order = order[np.argsort(~hanging[order], kind="stable")]
        return StateSet.from_fens([fens[i] for i in order[:n]], self.color)
