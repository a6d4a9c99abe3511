"""Games that are quickly made."""

from __future__ import annotations

from penumbra.arena.game_loop import play_strictly
from penumbra.core import Game, GameRecord
from penumbra.players.opponents.random_player import RandomPlayer


def random_game(seed: int, white: str = "A", black: str = "B") -> GameRecord:
    record = play_strictly(RandomPlayer(seed), RandomPlayer(seed + 1_000_000), Game(None, 100, 20)).record()
    record.white_name, record.black_name = white, black
    return record
