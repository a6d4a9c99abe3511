"""A player that remembers what it was told."""

from __future__ import annotations

from collections.abc import Sequence

from penumbra.players.opponents.random_player import RandomPlayer


class Witness(RandomPlayer):
    """A random player that writes down everything it is told."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seen: list[object] = []

    def opponent_moved(self, capture: int | None) -> None:
        self.seen.append(("opponent", capture))

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        self.seen.append(("sensed", square, tuple(contents)))

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self.seen.append(("moved", requested, taken, capture))
