"""Games that begin with moves at random, so that programs which always play the same do not repeat one game."""

from __future__ import annotations

import random
from collections.abc import Sequence

from penumbra.players.player import Player, PlayerWrapper
from penumbra.rbc.actions import PASS


class WithOpening(PlayerWrapper):
    """A player whose first moves are made at random; it is told of them as of its own."""

    def __init__(self, player: Player, turns: int, rng: random.Random) -> None:
        super().__init__(player)
        self._turns = turns
        self._rng = rng

    def choose_move(self, actions: Sequence[int]) -> int:
        if self._turns == 0:
            return self._player.choose_move(actions)
        self._turns -= 1
        return self._rng.choice([action for action in actions if action != PASS] or list(actions))


def with_opening(white: Player, black: Player, plies: int, seed: int) -> tuple[Player, Player]:
    """Both players, so that the first `plies` moves of their game are drawn by the seed."""
    rng = random.Random(seed)
    white_turns, black_turns = (plies + 1) // 2, plies // 2
    return (
        WithOpening(white, white_turns, rng) if white_turns else white,
        WithOpening(black, black_turns, rng) if black_turns else black,
    )
