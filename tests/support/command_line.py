"""The command line, called in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from penumbra.commands.main import main


@dataclass(frozen=True)
class Answer:
    returncode: int
    stdout: str
    stderr: str


def penumbra(*arguments: str | Path) -> Answer:
    """`penumbra ARGUMENTS`."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        patch.object(sys, "argv", ["penumbra", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return Answer(code, out.getvalue(), err.getvalue())
