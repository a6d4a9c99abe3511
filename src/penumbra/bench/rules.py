"""How fast random games are played: by action numbers, and through the adapter that stands in for reconchess' game.

A ply is one player's turn: a sense, the list of moves, a move.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import reconchess

from penumbra.bench.report import Row, rate
from penumbra.core import Game
from penumbra.interop.local_game import LocalGame

SEED = 1


def run(seconds: float) -> list[Row]:
    """`rules.game` and `rules.localgame`."""
    by_numbers = rate(_numbers_game(random.Random(SEED).random), seconds)
    adapter = rate(random_local_game(LocalGame, random.Random(SEED).random), seconds)
    peer = rate(random_local_game(reconchess.LocalGame, random.Random(SEED).random), seconds)
    return [
        Row("rules.game", by_numbers, "plies/s", note="random games by action numbers from Python, one core"),
        Row("rules.localgame", adapter, "plies/s", "reconchess", peer, "random games through LocalGame, one core"),
    ]


def _numbers_game(rand: Callable[[], float]) -> Callable[[], int]:
    def play() -> int:
        game = Game()
        act, legal_actions = game.act, game.legal_actions
        while not game.over:
            act(int(rand() * 64))
            actions = legal_actions()
            act(actions[int(rand() * len(actions))])
        return game.plies

    return play


def random_local_game(make_game: Callable[[], reconchess.LocalGame], rand: Callable[[], float]) -> Callable[[], int]:
    def play() -> int:
        game = make_game()
        game.start()
        plies = 0
        while not game.is_over():
            senses, moves = game.sense_actions(), game.move_actions()
            game.opponent_move_results()
            game.sense(senses[int(rand() * len(senses))])
            game.move(moves[int(rand() * len(moves))])
            game.end_turn()
            plies += 1
        game.end()
        return plies

    return play
