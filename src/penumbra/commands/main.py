"""The command line put together. Whatever a user does wrong is answered by one line and a failing exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

import penumbra
from penumbra.commands import (
    analyse,
    archive,
    bench,
    connect,
    demo,
    doctor,
    evaluate,
    export,
    generate,
    improve,
    infer,
    match,
    new_bot,
    planes,
    players,
    puzzles,
    rate,
    replay,
    report,
    reproduce,
    selfplay,
    serve,
    situation,
    tournament,
    train,
)
from penumbra.commands.checks import checked
from penumbra.commands.errors import FAILED, INTERRUPTED, MISUSED, complain, hear_interrupts
from penumbra.commands.options import examples
from penumbra.extras import missing_extra
from penumbra.whole_files import WriteError, reason_of

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter


class CommandsInPanels(TyperGroup):
    """Lists commands under the headings of their panels, in the order in which they were added, as plain text."""

    def invoke(self, ctx: Context) -> Any:
        """An interrupt that no command has answered is answered here: typer would end without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            panels.setdefault(command.rich_help_panel, []).append((name, command.get_short_help_str(limit=1000)))
        widest = max(len(name) for rows in panels.values() for name, _ in rows)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(widest), text) for name, text in rows])


app = typer.Typer(
    name="penumbra",
    cls=CommandsInPanels,
    epilog=examples(
        "penumbra serve",
        "penumbra match penumbra hunter --games 10 --nodes 200 --clock none",
        "penumbra analyse --help",
    ),
    rich_markup_mode=None,  # help in plain text, readable in a pipe too
    pretty_exceptions_enable=False,
)


def _add(panel: str, *commands: tuple[Callable[..., None], str]) -> None:
    for function, shown in commands:
        app.command(rich_help_panel=panel, epilog=shown)(function)


_add("Play", (serve.serve, serve.EXAMPLES), (demo.demo, demo.EXAMPLES), (players.players, players.EXAMPLES))
_add(
    "Study a game",
    (replay.replay, replay.EXAMPLES),
    (analyse.analyse, analyse.EXAMPLES),
    (situation.situation, situation.EXAMPLES),
    (planes.planes, planes.EXAMPLES),
    (puzzles.puzzles, puzzles.EXAMPLES),
)
_add(
    "Compete",
    (new_bot.new_bot, new_bot.EXAMPLES),
    (connect.connect, connect.EXAMPLES),
    (match.match, match.EXAMPLES),
    (tournament.tournament, tournament.EXAMPLES),
    (rate.rate, rate.EXAMPLES),
)
_add("Train", (generate.generate, generate.EXAMPLES))
app.add_typer(checked(archive.app), name="archive", rich_help_panel="Train")
_add(
    "Train",
    (train.train, train.EXAMPLES),
    (evaluate.evaluate, evaluate.EXAMPLES),
    (selfplay.selfplay, selfplay.EXAMPLES),
    (improve.improve, improve.EXAMPLES),
    (export.export, export.EXAMPLES),
    (infer.infer, infer.EXAMPLES),
)
_add("Reproduce the paper", (reproduce.reproduce, reproduce.EXAMPLES), (report.report, report.EXAMPLES))
_add("Maintain", (doctor.doctor, doctor.EXAMPLES), (bench.bench, bench.EXAMPLES))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"penumbra {penumbra.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Play and study reconnaissance blind chess with deep synoptic Monte Carlo planning.

    `penumbra COMMAND --help` explains a command and shows examples.
    """


checked(app)


def main() -> None:
    """The entry point: errors of the user and of files become one line."""
    hear_interrupts()
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        _fail(error.format_message(), MISUSED)
    except ModuleNotFoundError as error:
        _fail(missing_extra(error) or error, FAILED)
    except BrokenPipeError:  # whoever read the output has seen enough
        _drop_output()
        sys.exit(FAILED)
    except OSError as error:
        _drop_output()
        _fail(_described(error), FAILED)
    except (ValueError, ImportError) as error:
        _fail(error, FAILED)
    except typer.Abort:
        _fail("interrupted", INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _described(error: OSError) -> str:
    """Which file it is about, and what the system says."""
    if isinstance(error, WriteError):
        return str(error)
    files = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    return ": ".join([*files, reason_of(error)])


def _drop_output() -> None:
    """What could not be written is not tried again when the program ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(problem: object, status: int) -> None:
    complain(problem)
    sys.exit(status)
