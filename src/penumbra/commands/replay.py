"""`penumbra replay`: a recorded game, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import file_to_write, first
from penumbra.commands.options import GameFile, examples

if TYPE_CHECKING:
    from rich.console import Console

    from penumbra.commands.terminal.frames import Frame

EXAMPLES = examples("penumbra replay demo.json", "penumbra replay demo.json --html demo.html")
_HELP = "Enter: next step   b: back   a number: that turn   q: quit"


def replay(
    file: GameFile,
    plain: Annotated[bool, typer.Option("--plain", help="Print the whole game as text.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write the game as one self-contained page for the browser instead.", callback=first(file_to_write)
        ),
    ] = None,
) -> None:
    """Step through a game: the board, and how many states each player holds possible."""
    from rich.console import Console

    from penumbra.commands.terminal.frames import frames_of, result_line
    from penumbra.interop.history import read_record

    record = read_record(file)
    if html is not None:
        from penumbra.review.page import write_replay_page

        write_replay_page(record, html)
        print(f"The game is in {html}; open it in a browser")
        return
    console = Console()
    title = f"{record.white_name or 'White'} v {record.black_name or 'Black'}"
    result = result_line(record.winner, record.reason)
    if plain or not console.is_terminal:
        print(title)
        for frame in frames_of(record):
            print(frame.plain())
        print(result)
    else:
        _browse(frames_of(record), console, title, result)


def _browse(frames: Iterator[Frame], console: Console, title: str, result: str) -> None:
    """Frames are made when first reached, so that a long game starts at once; those seen are kept for going back."""
    seen: list[Frame] = []
    at = 0
    while True:
        while len(seen) <= at and (frame := next(frames, None)) is not None:
            seen.append(frame)
        if at >= len(seen):
            console.print(result)
            return
        console.clear()
        console.print(seen[at].panel(title))
        answer = console.input(f"[dim]{_HELP}[/dim] ").strip().lower()
        if answer == "q":
            return
        if answer == "b":
            at = max(at - 1, 0)
        elif answer.isdigit():
            at = _find_turn(int(answer), seen, frames)
        else:
            at += 1


def _find_turn(number: int, seen: list[Frame], frames: Iterator[Frame]) -> int:
    """The index of the first frame of a turn, or of the last frame where there is no such turn."""
    for i, frame in enumerate(seen):
        if frame.number >= number:
            return i
    for frame in frames:
        seen.append(frame)
        if frame.number >= number:
            break
    return len(seen) - 1
