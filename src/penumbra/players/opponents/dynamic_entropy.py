"""A player that looks at few moves, replies to each and how much it would then know, like DynamicEntropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penumbra import core
from penumbra.configs.reader import Count, NotNegative, Share
from penumbra.core import SENSE, Game, ImpossibleObservation, StateSet
from penumbra.players.opponents.engine import Actions, Engine, tamed
from penumbra.players.opponents.settings import TrackingSettings
from penumbra.players.opponents.tracking_player import TrackingPlayer
from penumbra.rbc.actions import action_to_code
from penumbra.rbc.sense_partitions import INNER_SQUARES, sense_groups

REPLIES = 24  # states after a reply that are valued
SENSED = 250  # states that senses are compared on


@dataclass(frozen=True)
class DynamicEntropySettings(TrackingSettings):
    candidates: Count = 5  # own moves looked into
    outcomes: Count = 2  # of each, drawn with the states they happen in
    pessimism: Share = 0.5  # weight of the replies that are worst for us, a tenth of all; the rest is the mean's
    uncertainty: NotNegative = 12.0  # what a doubling of the states costs, in hundredths of a pawn


class DynamicEntropy(TrackingPlayer[DynamicEntropySettings]):
    kind = "DynamicEntropy"

    def __init__(self, seed: int, settings: DynamicEntropySettings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or DynamicEntropySettings(), engine)

    def pick_sense(self) -> int:
        """A sense that surely wins, else of those that no other makes superfluous the one that tells most bits."""
        states = self.draw(SENSED)
        worth, wins, _ = core.settle_set(states, SENSE)
        if wins >= 0:
            return wins
        bits = np.zeros(len(INNER_SQUARES))
        for i, groups in enumerate(sense_groups(states)):
            p = np.bincount(groups) / len(groups)
            bits[i] = -(p @ np.log2(p)) if worth >> INNER_SQUARES[i] & 1 else -1
        return INNER_SQUARES[self.best(bits.round(9))]

    def pick_move(self, actions: Actions) -> int:
        states, weights = self.draw_checks(self.settings.states)
        means = weights @ self.scored(states, actions)
        order = np.argsort(-means)[: self.settings.candidates]
        values = [0.5 * means[i] + 0.5 * self._look_into(states, int(actions[i])) for i in order]
        return self.pick(actions[order], values)

    def _look_into(self, states: StateSet, action: int) -> float:
        """The mean over some states of what the move leads to there, known as little as we would know it."""
        fens = [states.fen(int(i)) for i in self.rng.integers(len(states), size=self.settings.outcomes)]
        return float(np.mean([self._after(states, fen, action) for fen in fens]))

    def _after(self, states: StateSet, fen: str, action: int) -> float:
        game = Game(fen)
        game.sense(None)
        _, capture = game.move(action)
        if game.over:
            return float(tamed(np.array([core.KING_TAKEN], dtype=np.int32))[0])
        after = states.apply_move(action_to_code(action), game.last_taken, capture)
        try:
            replies = after.expand(None)
        except ImpossibleObservation:
            replies = StateSet(game.fen(), self.color).expand(None)
        some = replies.sample(REPLIES, self.seed()) if len(replies) > REPLIES else replies
        values = np.sort(tamed(self.engine.values(some)))
        worst = values[: max(1, len(values) // 10)].mean()
        doubt = self.settings.uncertainty * np.log2(len(replies) / len(after))
        return float((1 - self.settings.pessimism) * values.mean() + self.settings.pessimism * worst - doubt)
