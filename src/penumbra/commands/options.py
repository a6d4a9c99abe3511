"""Arguments and options that several commands share: each has one name, one meaning and one explanation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.checks import file_to_read, file_to_write, first


class Side(StrEnum):
    """A player by colour."""

    WHITE = "white"
    BLACK = "black"


class Step(StrEnum):
    """The two steps of a turn."""

    SENSE = "sense"
    MOVE = "move"


class Sort(StrEnum):
    """The sorts of synopses."""

    BINARY = "binary"
    SHARES = "shares"
    GRADED = "graded"


def examples(*lines: str) -> str:
    """The end of a command's help: command lines as they are typed, each on its own line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _player_names(incomplete: str) -> list[str]:
    from penumbra.players import registry

    return [name for name in registry.names() if name.startswith(incomplete)]


THE_FILES = "as the file says"  # shown as the default of an option that replaces a number of a TOML file
ARCHIVE = "An archive of games to read; may be repeated."
GAMES = "How many games to play."
SEED = "Seed of the random numbers; the same seed gives the same result."
NODES = "Penumbra searches so many nodes (evaluations) for each sense and move."
WORKERS = "How many games to work on at the same time, each in a process of its own."
MINUTES = "Stop after so many minutes; what is done by then is kept."
VALIDATION_EXAMPLES = "Judge each headset by at most so many examples of games kept for validation."
PLAYER = "the name of a built-in player (`penumbra players` lists them)"
PLAYER_OR_FILE = f"{PLAYER}, or a reconchess player by its module or file"

REPRODUCTION = Path("runs/reproduction")  # where `reproduce` writes and `report` reads

# Files
GameFile = Annotated[Path, typer.Argument(help="A game file as reconchess writes it (JSON).")]
ArchiveFile = Annotated[Path, typer.Argument(help="An archive of games.")]
ArchiveToFill = Annotated[Path, typer.Argument(help="The archive that games are added to; made if there is none.")]
ArchiveToFillOption = Annotated[
    Path, typer.Option("--archive", help="The archive that the games are added to; made if there is none.")
]
Archives = Annotated[list[Path], typer.Option("--archive", metavar="FILE", help=ARCHIVE)]
ArchivesIfAny = Annotated[list[Path] | None, typer.Option("--archive", metavar="FILE", help=ARCHIVE)]
WeightsFile = Annotated[
    Path, typer.Argument(help="The weights of a network (.safetensors).", callback=first(file_to_read))
]
Weights = Annotated[
    str | None, typer.Option(help="The weights of a network (.safetensors).", show_default="those of this package")
]
Config = Annotated[Path | None, typer.Option(help="A TOML file with the settings of Penumbra.")]
Picture = Annotated[Path, typer.Option(help="The picture to write, .png or .svg.", callback=first(file_to_write))]

# Moments of a game
Turn = Annotated[int, typer.Option(min=1, help="Which of the player's turns, counted from 1.")]
Seat = Annotated[Side, typer.Option("--player", help="From whose point of view.")]
StepOfTurn = Annotated[Step, typer.Option(help="Before the player's sense, or between the sense and the move.")]

# Players and their thinking
PlayerOption = Annotated[str, typer.Option(help=f"Who plays: {PLAYER_OR_FILE}.", autocompletion=_player_names)]
PlayerArgument = Annotated[str, typer.Argument(help=f"Who plays: {PLAYER_OR_FILE}.", autocompletion=_player_names)]
Seconds = Annotated[
    float | None, typer.Option(min=0.001, help="Penumbra thinks at most so many seconds about each sense and move.")
]
Nodes = Annotated[int | None, typer.Option(min=1, help=NODES)]

# Runs
Games = Annotated[int, typer.Option(min=1, help=GAMES)]
GamesOfFile = Annotated[int | None, typer.Option(min=1, help=GAMES, show_default=THE_FILES)]
Seed = Annotated[int, typer.Option(min=0, help=SEED)]
SeedOfFile = Annotated[int | None, typer.Option(min=0, help=SEED, show_default=THE_FILES)]
Workers = Annotated[int, typer.Option(min=1, help=WORKERS)]
WorkersOfFile = Annotated[int | None, typer.Option(min=1, help=WORKERS, show_default=THE_FILES)]
MinutesOfFile = Annotated[float | None, typer.Option(min=0, help=MINUTES, show_default=THE_FILES)]
Cap = Annotated[
    int, typer.Option(min=10, help="Track at most so many states for each player; beyond it, a random draw of them.")
]
Device = Annotated[str, typer.Option(help="Where networks are evaluated: cpu, cuda, or auto (a GPU if there is one).")]
Anchor = Annotated[
    str | None,
    typer.Option(metavar="NAME[=ELO]", help="A player whose rating is fixed; without one, the average rating is."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs, instead of text.")]

RayOption = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS", help="Let a Ray cluster play; auto: the one of this machine.")
]
