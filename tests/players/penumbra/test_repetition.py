"""Repetition: a won game is won where the opponent does nothing, and moves are counted until a capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from penumbra.arena.game_loop import play_strictly
from penumbra.core import Game
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.player import Player
from penumbra.rbc.actions import PASS

# Drawn by the limit of moves in games against a program whose engine had died.
WON = {
    "r4r2/pp2N1kp/6p1/4P3/8/8/PPn2PP1/2RB1RK1 w - - 0 1": True,
    "1r3rk1/p1p2ppp/b7/b7/3n4/3p4/PP1N2PP/2BK4 b - - 0 1": False,
}


class Passer(Player):
    """Never looks, never moves."""

    name = "Passer"

    def choose_sense(self) -> int | None:
        return None

    def choose_move(self, actions: Sequence[int]) -> int:
        return PASS


@pytest.mark.parametrize("fen", WON)
def test_a_won_game_is_won(fen: str) -> None:
    color = WON[fen]
    ours = registry.make("penumbra", 3, Configuration(device="cpu", nodes=64, cap=2_000, recognize_as="none"))
    white, black = (ours, Passer()) if color else (Passer(), ours)
    assert play_strictly(white, black, Game(fen)).winner is color


def test_moves_are_counted_until_a_capture() -> None:
    player = registry.make("penumbra", 1, Configuration(evaluator="heuristic", nodes=8, cap=1_000))
    assert isinstance(player, PenumbraPlayer)
    counts: list[Counter[int]] = []

    def asked() -> Counter[int]:
        assert isinstance(player, PenumbraPlayer)
        return player._judgement.repetition.asked

    class Watched(Passer):
        def opponent_moved(self, capture: int | None) -> None:
            counts.append(asked().copy())
            if capture is not None:
                assert not counts[-1]
            else:
                assert len(counts) < 2 or counts[-1].total() == counts[-2].total() + 1

    play_strictly(player, Watched(), Game("4k3/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1"))
    assert len(counts) > 3
