"""What every command checks of its arguments before it does anything.

Numbers have an upper bound, and files and folders to be written are tried: what could only fail after hours of work, or
never end, is refused at once.
"""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context

CHECKS = "penumbra.checks"  # of the arguments that were given, in a context
MOST = 1_000_000_000  # of anything that is counted
MOST_OF = {"seed": 2**62, "workers": 1024, "threads": 1024, "seconds": 86_400}  # where it is less, or more


class CheckedCommand(TyperCommand):
    """A command that begins with numbers within bounds and files that are there or can be."""

    def invoke(self, ctx: Context) -> Any:
        for name, value in ctx.params.items():
            for number in value if isinstance(value, list | tuple) else [value]:
                if isinstance(number, int | float):
                    check_number(f"--{name.replace('_', '-')}", number, MOST_OF.get(name, MOST))
        for check in ctx.meta.get(CHECKS, ()):
            check()
        return super().invoke(ctx)


def check_number(option: str, number: float, most: float) -> None:
    if not math.isfinite(number):
        raise typer.BadParameter(f"{number} is not a finite number", param_hint=option)
    if abs(number) > most:
        raise typer.BadParameter(f"{number:,} is too much; at most {most:,}", param_hint=option)


def checked(app: typer.Typer) -> typer.Typer:
    """The same app, all of whose commands are checked."""
    for command in app.registered_commands:
        command.cls = CheckedCommand
    return app


def first(check: Callable[[Path], object]) -> Callable[[typer.Context, Any], Any]:
    """A callback of an option or argument: its path, or each of its paths, is checked when the command begins."""

    def note(context: typer.Context, value: Any) -> Any:
        for path in value if isinstance(value, list | tuple) else [value]:
            if path is not None:
                context.meta.setdefault(CHECKS, []).append(functools.partial(check, path))
        return value

    return note


# -- paths


def file_to_read(path: Path) -> None:
    """A file that is there."""
    if not path.is_file():
        raise ValueError(f"{path} cannot be read: there is no such file")


def file_to_write(path: Path) -> None:
    """A file that can be written; what is there stays as it is."""
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    was_there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not was_there:
            path.unlink()
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None


def folder_to_fill(path: Path) -> None:
    """A folder that can be made and written to; none is made here."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise ValueError(f"{path} cannot be written to: {there} is not a folder")
    try:
        tempfile.TemporaryDirectory(dir=there).cleanup()
    except OSError as error:
        raise ValueError(f"{path} cannot be written to: {error.strerror}") from None
