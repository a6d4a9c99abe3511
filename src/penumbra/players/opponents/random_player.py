"""A player that senses and moves at random, and learns nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence

from penumbra.players.player import Player


class RandomPlayer(Player):
    """Every sense and every listed move, the pass included, is equally likely."""

    name = "Random"

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def choose_sense(self) -> int:
        """Any square."""
        return self._random.randrange(64)

    def choose_move(self, actions: Sequence[int]) -> int:
        """Any move."""
        return self._random.choice(actions)
