"""Players that weigh the mean and the worst score of a move over all states, like StrangeFish and StrangeFish2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penumbra.configs.reader import NotNegative, Share
from penumbra.core import Game, StateSet, hunt_king
from penumbra.players.opponents.engine import Actions, Engine, Scores, requests
from penumbra.players.opponents.settings import Size, TrackingSettings
from penumbra.players.opponents.tracking_player import TrackingPlayer, group_means
from penumbra.rbc.actions import PASS
from penumbra.rbc.sense_partitions import INNER_SQUARES, sense_groups

SENSED = 24  # states that senses are compared on
CHECKED = 4  # moves, and states of each, that are looked at for checks the opponent may miss


SensesFor = Literal["scores", "outcome"]


@dataclass(frozen=True)
class StrangeFishSettings(TrackingSettings):
    worst: Share = 0.1  # weight of the worst score; the rest is the mean's
    sense: SensesFor = "scores"  # where the scores should change most, or for the best `outcome` of the next move
    trust: NotNegative = 200.0  # hundredths of a pawn: states better for the opponent weigh more; 0: all the same
    bonus: NotNegative = 30.0  # for a check the opponent may miss, and against a pass
    cap: Size = 3_000


@dataclass(frozen=True)
class StrangeFish2Settings(StrangeFishSettings):
    worst: Share = 0.3
    sense: SensesFor = "outcome"


class StrangeFish(TrackingPlayer[StrangeFishSettings]):
    kind = "StrangeFish"

    def __init__(self, seed: int, settings: StrangeFishSettings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or StrangeFishSettings(), engine)

    def pick_sense(self) -> int:
        states, drawn = self.draw_checks(min(SENSED, self.settings.states))
        actions = requests(states)
        scores = self.scored(states, actions)
        weights = self._weights(drawn, scores[:, actions == PASS])
        gain = self._outcome if self.settings.sense == "outcome" else self._change
        gains = np.array([gain(groups, weights, scores) for groups in sense_groups(states)])
        return INNER_SQUARES[self.best(gains.round(6))]

    def pick_move(self, actions: Actions) -> int:
        states, drawn = self.draw_checks(self.settings.states)
        scores = self.scored(states, actions)
        weights = self._weights(drawn, scores[:, actions == PASS])
        totals = self._totals(weights @ scores, scores.min(axis=0))
        return self.pick(actions, totals + self._bonuses(states, actions, totals))

    def _totals(self, mean: Scores, worst: Scores) -> Scores:
        return (1 - self.settings.worst) * mean + self.settings.worst * worst

    def _weights(self, drawn: Scores, passing: Scores) -> Scores:
        """float64[states], of sum 1: a good opponent is rather where it is better for it if we do nothing."""
        if self.settings.trust == 0:
            return drawn
        worse = np.median(passing) - passing[:, 0]
        weights = drawn * np.clip(np.exp(np.clip(worse / self.settings.trust, -3, 3)), 0.2, 2)
        return np.asarray(weights / weights.sum())

    def _change(self, groups: NDArray[np.int64], weights: Scores, scores: Scores) -> float:
        """How much the sense is expected to change the mean scores, moves that may be chosen most of all."""
        total, means = group_means(groups, weights, scores)
        mean = weights @ scores
        matters = np.exp(np.clip((mean - mean.max()) / 200, -30, 0))
        return float(total @ np.abs(means - mean) @ matters)

    def _outcome(self, groups: NDArray[np.int64], weights: Scores, scores: Scores) -> float:
        """What the best move is expected to be worth when the sense has told which it is."""
        total, means = group_means(groups, weights, scores)
        worst = np.array([scores[groups == g].min(axis=0) for g in range(len(total))])
        return float(total @ self._totals(means, worst).max(axis=1))

    def _bonuses(self, states: StateSet, actions: Actions, totals: Scores) -> Scores:
        bonuses = np.zeros(len(actions))
        bonuses[actions == PASS] = -self.settings.bonus
        fens = [states.fen(int(i)) for i in self.rng.integers(len(states), size=CHECKED)]
        for i in np.argsort(-totals)[:CHECKED]:
            checks = sum(_checks(fen, int(actions[i])) for fen in fens)
            bonuses[i] += self.settings.bonus * checks / len(fens)
        return bonuses


class StrangeFish2(StrangeFish):
    kind = "StrangeFish2"

    def __init__(self, seed: int, settings: StrangeFish2Settings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or StrangeFish2Settings(), engine)


def _checks(fen: str, action: int) -> bool:
    """Could the king be taken after this move if the opponent did nothing?"""
    game = Game(fen)
    color = game.turn
    game.sense(None)
    game.move(action)
    if game.over:
        return False
    placement, _, rights, *_ = game.fen().split(" ")
    return hunt_king(f"{placement} {'w' if color else 'b'} {rights} - 0 1", 1)[0] == 1
