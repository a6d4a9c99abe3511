"""A player that senses and moves at random, and learns nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence


class RandomPlayer:
    """Every sense and every listed move, the pass included, is equally likely."""

    name = "Random"

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def start(self, color: bool, fen: str) -> None:
        """Nothing to prepare."""

    def opponent_moved(self, capture: int | None) -> None:
        """Nothing to learn."""

    def choose_sense(self) -> int:
        """Any square."""
        return self._random.randrange(64)

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        """Nothing to learn."""

    def choose_move(self, actions: Sequence[int]) -> int:
        """Any move."""
        return self._random.choice(actions)

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        """Nothing to learn."""
