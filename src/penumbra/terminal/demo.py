"""`penumbra demo`: one whole game between two built-in players, drawn as it is played, and written as JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.live import Live

from penumbra.core import Game
from penumbra.interop.history import write_record
from penumbra.players.hunter import Hunter
from penumbra.players.player import Player, play_game
from penumbra.players.random_player import RandomPlayer
from penumbra.terminal.board import plain_board
from penumbra.terminal.frames import Frame, Shadows, result_line

PLAYERS: dict[str, Callable[[int], Player]] = {"hunter": Hunter, "random": RandomPlayer}


class FrameSpectator:
    """Hands each frame of a game to whoever draws it."""

    def __init__(self, fen: str, draw: Callable[[Frame], None]) -> None:
        self._shadows = Shadows(fen)
        self._draw = draw

    def sensed(self, game: Game, color: bool, square: int | None, contents: Sequence[int]) -> None:
        """Draws the board with the sensed squares lit."""
        self._draw(self._shadows.sensed(game, color, square, contents))

    def moved(self, game: Game, color: bool, requested: int, taken: int, capture: int | None) -> None:
        """Draws the board after the move."""
        self._draw(self._shadows.moved(game, color, requested, taken, capture))


def demo(white: str, black: str, seed: int, delay: float, out: Path, console: Console) -> None:
    """Plays the game. `delay` is the time each frame stays on a terminal; elsewhere there is none."""
    players = _player(white, seed), _player(black, seed + 1)
    if not out.parent.is_dir():
        raise ValueError(f"{out} cannot be written: there is no folder {out.parent}")
    title = f"{players[0].name} v {players[1].name}"
    game = Game()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:

            def show(frame: Frame) -> None:
                live.update(frame.panel(title), refresh=True)
                time.sleep(delay)

            play_game(*players, game, FrameSpectator(game.fen(), show))
    else:
        print(title)
        play_game(*players, game, FrameSpectator(game.fen(), lambda frame: print(frame.line)))
        print(plain_board(game.fen()))
    print(result_line(game.winner, game.reason))
    write_record(out, game.record())
    print(f"The game is in {out}; look at it again with: penumbra replay {out}")


def _player(name: str, seed: int) -> Player:
    if name not in PLAYERS:
        raise ValueError(f"there is no player {name!r}; known are {', '.join(PLAYERS)}")
    return PLAYERS[name](seed)
