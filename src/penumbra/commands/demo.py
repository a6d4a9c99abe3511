"""`penumbra demo`: one whole game, drawn as it is played, with what Penumbra believes; and written as JSON.

The game repeats itself by seed: Penumbra thinks for so many nodes, not for so long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import file_to_write, first
from penumbra.commands.options import PlayerOption, Seed, examples

if TYPE_CHECKING:
    from penumbra.commands.terminal.frames import Frame
    from penumbra.commands.terminal.thoughts import Thoughts
    from penumbra.players.player import Player
    from penumbra.rbc.walk import Step

EXAMPLES = examples("penumbra demo --seed 9", "penumbra demo --white penumbra --black random --delay 1 --out game.json")
NODES = 160  # for each step: a few tenths of a second on two cores
CAP = 20_000  # states held, or a game in which both wait takes minutes


class FrameSpectator:
    """Hands each frame of a game, and what the player who acted thought, to whoever draws it."""

    def __init__(self, fen: str, players: dict[bool, Player], draw: Callable[[Frame, Thoughts | None], None]) -> None:
        from penumbra.commands.terminal.frames import FrameMaker

        self._frames = FrameMaker(fen)
        self._players = players
        self._draw = draw

    def __call__(self, step: Step) -> None:
        from penumbra.commands.terminal.thoughts import thoughts_of
        from penumbra.players.penumbra.player import PenumbraPlayer

        player = self._players[step.color]
        thoughts = thoughts_of(player) if isinstance(player, PenumbraPlayer) and player.decisions else None
        self._draw(self._frames.frame(step), thoughts)


def demo(
    white: PlayerOption = "penumbra",
    black: PlayerOption = "hunter",
    seed: Seed = 3,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds for which each step of the game stays on the terminal.")
    ] = 0.2,
    out: Annotated[Path, typer.Option(help="The file to write the game to.", callback=first(file_to_write))] = Path(
        "demo.json"
    ),
) -> None:
    """Play one game, drawn as it goes, with what Penumbra believes."""
    from rich.columns import Columns
    from rich.console import Console, RenderableType
    from rich.live import Live

    from penumbra.arena.entrants import PlayerPool, entrant
    from penumbra.arena.game_loop import play_strictly
    from penumbra.commands.terminal.frames import result_line
    from penumbra.core import Game
    from penumbra.interop.history import write_record
    from penumbra.players.penumbra.configuration import Configuration
    from penumbra.rbc.text_board import plain_board
    from penumbra.review.page import write_replay_page

    console = Console()
    thinking = Configuration(nodes=NODES, cap=CAP, recognize_as="none")
    pool = PlayerPool()
    sides = ((True, white, seed), (False, black, seed + 1))
    players = {color: pool.player(entrant(name, thinking), color, number) for color, name, number in sides}
    file_to_write(out.with_suffix(".html"))
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

            play_strictly(players[True], players[False], game, FrameSpectator(game.fen(), players, show))
    else:
        print(title)
        play_strictly(players[True], players[False], game, FrameSpectator(game.fen(), players, _print_step))
        print(plain_board(game.fen()))
    for player in players.values():
        player.close()
    pool.close()
    print(result_line(game.winner, game.reason))
    write_record(out, game.record())
    write_replay_page(game.record(), out.with_suffix(".html"))
    print(f"The game is in {out}; look at it again with: penumbra replay {out}")
    print(f"or open {out.with_suffix('.html')} in a browser")


def _print_step(frame: Frame, thoughts: Thoughts | None) -> None:
    print(frame.line)
    if thoughts is not None:
        print(f"{'':<16} {thoughts.line}")
