"""What the opponents with an engine share: noise, openings and a choice among scores by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from penumbra.players.opponents.engine import Actions, Engine, make_engine
from penumbra.players.opponents.openings import OPENINGS
from penumbra.players.opponents.settings import EngineSettings
from penumbra.players.player import Player
from penumbra.rbc.sense_partitions import INNER_SQUARES

S = TypeVar("S", bound=EngineSettings)


class EnginePlayer(Player, Generic[S]):
    """A kind says how it starts, what it learns, where it would sense and what it would move."""

    kind = "Engine"

    def __init__(self, seed: int, settings: S, engine: Engine | None = None) -> None:
        self.settings = settings
        self.engine: Engine = engine or make_engine(settings)
        self.rng = np.random.default_rng(seed)
        self.color = True
        self._opening: list[int] = []

    @property
    def name(self) -> str:
        return self.settings.name or self.kind

    # -- what a kind does

    def begin(self, fen: str) -> None:
        """A game starts; `color` is known."""
        raise NotImplementedError

    def learn_opponent_moved(self, capture: int | None) -> None:
        raise NotImplementedError

    def learn_sensed(self, square: int, contents: Sequence[int]) -> None:
        raise NotImplementedError

    def learn_moved(self, requested: int, taken: int, capture: int | None) -> None:
        raise NotImplementedError

    def pick_sense(self) -> int:
        raise NotImplementedError

    def pick_move(self, actions: Actions) -> int:
        raise NotImplementedError

    # -- the player

    def start(self, color: bool, fen: str) -> None:
        self.color = color
        line = self.settings.opening
        if line == "random":
            line = str(self.rng.choice(list(OPENINGS)))
        self._opening = list(OPENINGS.get(line, ()))
        self.begin(fen)

    def opponent_moved(self, capture: int | None) -> None:
        if capture is not None:
            self._opening.clear()
        self.learn_opponent_moved(capture)

    def choose_sense(self) -> int:
        if self.settings.sense_noise > self.rng.random():
            return self.any_sense()
        return self.pick_sense()

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        if square is not None:
            self.learn_sensed(square, contents)

    def choose_move(self, actions: Sequence[int]) -> int:
        if self._opening:
            action = self._opening.pop(0)
            if action in actions:
                return action
            self._opening.clear()
        return self.pick_move(np.array(actions, dtype=np.int32))

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        if requested != taken or capture is not None:
            self._opening.clear()
        self.learn_moved(requested, taken, capture)

    # -- chance

    def any_sense(self) -> int:
        return int(self.rng.choice(INNER_SQUARES))

    def seed(self) -> int:
        """For a native draw."""
        return int(self.rng.integers(1 << 62))

    def best(self, scores: ArrayLike) -> int:
        """The index of the largest score, by chance among equals."""
        s = np.asarray(scores)
        return int(self.rng.choice(np.flatnonzero(s == s.max())))

    def pick(self, actions: Actions, scores: ArrayLike) -> int:
        """An action by softmax of its score, in hundredths of a pawn, at the temperature that is set."""
        s = np.asarray(scores, dtype=np.float64)
        if self.settings.temperature == 0:
            return int(actions[self.best(s)])
        weights = np.exp((s - s.max()) / self.settings.temperature)
        return int(self.rng.choice(actions, p=weights / weights.sum()))
