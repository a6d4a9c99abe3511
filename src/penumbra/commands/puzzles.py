"""`penumbra puzzles`: puzzles from recorded games, into a file that the server can offer."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import file_to_read, file_to_write, first
from penumbra.commands.errors import Problems, when_interrupted
from penumbra.commands.options import Seed, examples

if TYPE_CHECKING:
    from penumbra.core import GameRecord

EXAMPLES = examples(
    "penumbra puzzles games.db --out puzzles.jsonl --most 20",
    "penumbra puzzles games.jsonl.gz more.db --out puzzles.jsonl",
)


def puzzles(
    games: Annotated[
        list[Path],
        typer.Argument(
            help="Archives of games, or files of reconchess games (.json, .jsonl, .jsonl.gz).",
            callback=first(file_to_read),
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file of puzzles to fill (.jsonl).", callback=first(file_to_write))],
    most: Annotated[
        int | None,
        typer.Option(min=1, help="At most so many of each kind and grade.", show_default="all that there are"),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Make puzzles of positions of recorded games, each with its solutions, checked in every state that is possible.

    A game takes about half a second. Games are looked through in an order drawn by the seed; a run that was stopped
    goes on where it was.
    """
    from penumbra.commands.terminal.progress import LINE_EVERY, progress
    from penumbra.review.puzzles.finding import puzzles_of, room_for
    from penumbra.review.puzzles.puzzle import GRADES, KINDS, line_of, read_puzzles
    from penumbra.whole_files import append_lines

    if out.suffix != ".jsonl":
        raise typer.BadParameter(f"{out}: its name must end in .jsonl", param_hint="--out")
    done = read_puzzles(out) if out.exists() else {}
    made = [puzzle for found in done.values() for puzzle in found]
    counts = Counter((puzzle.kind, puzzle.grade) for puzzle in made)
    known = {puzzle.id for puzzle in made}
    problems = Problems()
    records = _records(games, problems)
    order = sorted(records)
    random.Random(seed).shuffle(order)
    print(f"{out}: {len(order):,} games to look through; {len(done):,} of the file are done", flush=True)
    kept = f"{out} keeps what was made, and the same command goes on from there"
    with when_interrupted(kept), progress("games", len(order), every=LINE_EVERY) as bar:
        for number, game in enumerate(order, 1):
            if most is not None and all(counts[kind, grade] >= most for kind in KINDS for grade in GRADES):
                break
            if game not in done:
                try:
                    found = puzzles_of(records[game])
                except ValueError as error:
                    problems(f"game {game}: {error}; it is left out")
                    found = []
                chosen = room_for((puzzle for puzzle in found if puzzle.id not in known), counts, most)
                known.update(puzzle.id for puzzle in chosen)
                append_lines(out, line_of(game, chosen))
            bar.show(number, f"{number:,} of {len(order):,} games, {counts.total():,} puzzles")
    for kind in KINDS:
        print(f"{kind:6}" + "".join(f"{counts[kind, grade]:6,} {grade}" for grade in GRADES))
    print(f"{out}: {counts.total():,} puzzles")
    problems.conclude()


def _records(paths: list[Path], problems: Problems) -> dict[str, GameRecord]:
    """All games by their hashes, so that each is there once."""
    from penumbra.games.archive import Archive, is_archive
    from penumbra.interop.game_files import read_games

    records: dict[str, GameRecord] = {}
    for path in paths:
        if is_archive(path):
            with Archive.open(path, report=problems) as archive:
                found = [game.record for game in archive.games()]
        else:
            found = list(read_games(path, problems, note=lambda _: None))
        records |= {f"{record.hash:016x}": record for record in found}
    return records
