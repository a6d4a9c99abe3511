"""What the opponents that track a set of states share: the set, within a cap, and the way back when it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from penumbra.core import MOVE, START_FEN, Context, ImpossibleObservation, StateSet
from penumbra.players.opponents.engine import Actions, Engine, Scores, in_check, make_engine, tamed
from penumbra.players.opponents.engine_player import EnginePlayer
from penumbra.players.opponents.settings import TrackingSettings
from penumbra.players.penumbra.recovery import recovered
from penumbra.rbc.domain import Situation
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.possible import possible_after

REBUILT = 100  # old states that a set is rebuilt from when no state agrees with what was observed
FEW = 4  # with so many times less states than may be scored there is time to look deeper
LOOKED_AT = 400  # states among which checks are looked for
CHECK_WEIGHT = 6.0  # of a state in which our king can be taken, against another

S = TypeVar("S", bound=TrackingSettings)


class TrackingPlayer(EnginePlayer[S]):
    """`states` are those that its observations allow, or a draw of them past the cap; there is always one."""

    def __init__(self, seed: int, settings: S, engine: Engine | None = None) -> None:
        super().__init__(seed, settings, engine)
        self.states = StateSet(START_FEN, True)
        self._deeper = engine or make_engine(settings, deeper=1, more=FEW)

    def begin(self, fen: str) -> None:
        self.states = StateSet(fen, self.color)

    def learn_opponent_moved(self, capture: int | None) -> None:
        if self.states.turn != self.color:  # at the start of a game nobody has moved
            self._observe(OpponentMoved(capture))

    def learn_sensed(self, square: int, contents: Sequence[int]) -> None:
        self._observe(Sensed(square, tuple(contents)))

    def learn_moved(self, requested: int, taken: int, capture: int | None) -> None:
        self._observe(Moved(requested, taken, capture))

    def draw(self, n: int | None = None) -> StateSet:
        """At most `n` of the states, as many as are to be scored unless told."""
        n = n or self.settings.states
        return self.states.sample(n, self.seed()) if len(self.states) > n else self.states

    def draw_checks(self, n: int) -> tuple[StateSet, Scores]:
        """At most `n` of the states, up to a third of them such as put our king in check, and weights, float64[n].

        States in check are few among all, and an opponent's aim: they count CHECK_WEIGHT times as much as others.
        """
        states = self.draw(LOOKED_AT)
        checks = in_check(states)
        if len(states) > n:
            order = self.rng.permutation(len(states))
            few = order[checks[order]][: max(1, n // 3)]
            rest = order[~checks[order]][: n - len(few)]
            fens = states.fens()
            states = StateSet.from_fens([fens[i] for i in (*few, *rest)], self.color)
            shares = (checks.sum() / max(1, len(few)), (~checks).sum() / max(1, len(rest)))
            checks = np.arange(len(states)) < len(few)
        else:
            shares = (1.0, 1.0)
        weights = np.where(checks, CHECK_WEIGHT * shares[0], shares[1])
        return states, weights / weights.sum()

    def scored(self, states: StateSet, actions: Actions) -> Scores:
        """float64[states, actions]: what the engine makes of these moves, a ply deeper where states are few."""
        engine = self._deeper if FEW * len(states) <= self.settings.states else self.engine
        return tamed(engine.scores(states, actions))

    def _observe(self, observation: Observation) -> None:
        try:
            seed = self.seed() if isinstance(observation, OpponentMoved) else 0
            self.states = possible_after(self.states, observation, self.settings.cap, seed)
        except ImpossibleObservation:
            some = Situation(self.draw(REBUILT), MOVE, Context())
            self.states = recovered(some, observation, self.seed()).states


def group_means(groups: NDArray[np.int64], weights: Scores, scores: Scores) -> tuple[Scores, Scores]:
    """(float64[G] weight of each group, float64[G, A] mean scores in it)."""
    members = (groups == np.arange(groups.max() + 1)[:, None]) * weights  # float64[G, S]
    total = members.sum(axis=1)
    return total, members @ scores / total[:, None]
