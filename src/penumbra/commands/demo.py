"""`penumbra demo`: one whole game, drawn as it is played, with what Penumbra believes; and written as JSON.

The game repeats itself by seed: Penumbra thinks for so many nodes, not for so long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.options import PlayerOption, Seed, examples

if TYPE_CHECKING:
    from penumbra.commands.terminal.frames import Frame
    from penumbra.commands.terminal.thoughts import Thoughts
    from penumbra.core import Game
    from penumbra.players.player import Player

EXAMPLES = examples("penumbra demo --seed 9", "penumbra demo --white penumbra --black random --delay 1 --out game.json")
NODES = 160  # for each step: a few tenths of a second on two cores
CAP = 20_000  # states held, or a game in which both wait takes minutes
ADAPTED = ("attacker",)


class FrameSpectator:
    """Hands each frame of a game, and what the player who acted thought, to whoever draws it."""

    def __init__(self, fen: str, players: dict[bool, Player], draw: Callable[[Frame, Thoughts | None], None]) -> None:
        from penumbra.commands.terminal.frames import Shadows

        self._shadows = Shadows(fen)
        self._players = players
        self._draw = draw

    def sensed(self, game: Game, color: bool, square: int | None, contents: Sequence[int]) -> None:
        """Draws the board with the sensed squares lit."""
        self._draw(self._shadows.sensed(game, color, square, contents), self._thoughts(color))

    def moved(self, game: Game, color: bool, requested: int, taken: int, capture: int | None) -> None:
        """Draws the board after the move."""
        self._draw(self._shadows.moved(game, color, requested, taken, capture), self._thoughts(color))

    def _thoughts(self, color: bool) -> Thoughts | None:
        from penumbra.commands.terminal.thoughts import thoughts_of
        from penumbra.players.penumbra.player import PenumbraPlayer

        player = self._players[color]
        return thoughts_of(player) if isinstance(player, PenumbraPlayer) and player.decisions else None


def demo(
    white: PlayerOption = "penumbra",
    black: PlayerOption = "hunter",
    seed: Seed = 3,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds for which each step of the game stays on the terminal.")
    ] = 0.2,
    out: Annotated[Path, typer.Option(help="The file to write the game to.")] = Path("demo.json"),
) -> None:
    """Play one game, drawn as it goes, with what Penumbra believes."""
    from rich.columns import Columns
    from rich.console import Console, RenderableType
    from rich.live import Live

    from penumbra.commands.terminal.board import plain_board
    from penumbra.commands.terminal.frames import result_line
    from penumbra.core import Game
    from penumbra.interop.history import write_record
    from penumbra.players.player import play_game
    from penumbra.review.page import write_replay_page

    console = Console()
    players = {True: _player(white, seed), False: _player(black, seed + 1)}
    if not out.parent.is_dir():
        raise ValueError(f"{out} cannot be written: there is no folder {out.parent}")
    title = f"{players[True].name} v {players[False].name}"
    game = Game()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            last: Thoughts | None = None

            def show(frame: Frame, thoughts: Thoughts | None) -> None:
                nonlocal last
                last = thoughts or last
                parts: list[RenderableType] = [frame.panel(title)]
                live.update(Columns([*parts, last.panel()] if last else parts), refresh=True)
                time.sleep(delay)

            play_game(players[True], players[False], game, FrameSpectator(game.fen(), players, show))
    else:
        print(title)
        play_game(players[True], players[False], game, FrameSpectator(game.fen(), players, _print_step))
        print(plain_board(game.fen()))
    print(result_line(game.winner, game.reason))
    write_record(out, game.record())
    write_replay_page(game.record(), out.with_suffix(".html"))
    print(f"The game is in {out}; look at it again with: penumbra replay {out}")
    print(f"or open {out.with_suffix('.html')} in a browser")


def _print_step(frame: Frame, thoughts: Thoughts | None) -> None:
    print(frame.line)
    if thoughts is not None:
        print(f"{'':<16} {thoughts.line}")


def _player(name: str, seed: int) -> Player:
    from penumbra.players import registry
    from penumbra.players.penumbra.configuration import Configuration

    if name in ADAPTED:
        return _attacker(seed)
    if name not in registry.names():
        raise ValueError(f"there is no player {name!r}; known are {', '.join([*registry.names(), *ADAPTED])}")
    return registry.make(name, seed, Configuration(nodes=NODES, cap=CAP))


def _attacker(seed: int) -> Player:
    import random

    from reconchess.bots.attacker_bot import AttackerBot

    from penumbra.interop.adapters import AdaptedPlayer

    random.seed(seed)
    return AdaptedPlayer(AttackerBot(), "Attacker")
