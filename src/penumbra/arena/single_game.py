"""One game between any two players, for programs: `penumbra.play_game`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penumbra.arena.entrants import PlayerPool, entrant
from penumbra.arena.game_loop import NO_CLOCK, Clock, GameLoop, Outcome, Spectator
from penumbra.core import Game
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.player import Player


def play_game(
    white: Player | str | Path | Any,
    black: Player | str | Path | Any,
    *,
    nodes: int | None = None,
    seed: int = 0,
    clock: Clock = NO_CLOCK,
    fen: str | None = None,
    watch: Spectator | None = None,
) -> Outcome:
    """Plays one game to its end. What a player does wrong is its loss, and `Outcome.reason` says so.

    A player is one of ours (any `Player`), a player of reconchess, the name of a built-in one (`penumbra players` lists
    them), or the module or file of a reconchess player, which then runs in a process of its own. `nodes` is what
    Penumbra searches for each step where it is given by name, and `seed` makes built-in players repeat themselves.
    `watch` is called with each `Step` of the true game. ValueError if there is no such player or it cannot start.

        >>> outcome = play_game("hunter", "random", seed=6)
        >>> outcome.winner, outcome.reason
        (True, 'king capture')
    """
    pool = PlayerPool()
    try:
        players = {color: _player(given, color, nodes, seed, pool) for color, given in ((True, white), (False, black))}
        return GameLoop(players, clock, Game(fen), watch).play()
    finally:
        pool.close()


def _player(given: Any, color: bool, nodes: int | None, seed: int, pool: PlayerPool) -> Player:
    if isinstance(given, Player):
        return given
    if isinstance(given, str | Path):
        return pool.player(entrant(str(given), Configuration(nodes=nodes)), color, 2 * seed + (not color))
    if hasattr(given, "handle_game_start"):
        from penumbra.interop.adapters import AdaptedPlayer

        return AdaptedPlayer(given)
    raise TypeError(f"{given!r} is no player: neither one of ours, nor one of reconchess, nor a name or a file")
