"""The command line, called in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from penumbra.commands.main import main

CHESS = ("chess", "reconchess")  # packages that only `interop` and what stands above it may need


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


def run(
    *arguments: object, cwd: Path | None = None, without: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """`penumbra ARGUMENTS` in a process of its own, in which, and in whose children, some packages are missing."""
    with tempfile.TemporaryDirectory() as missing:
        for name in without:
            error = f'ModuleNotFoundError("No module named {name!r}", name={name!r})'
            (Path(missing) / f"{name}.py").write_text(f"raise {error}\n")
        return subprocess.run(
            [sys.executable, "-m", "penumbra", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([missing, *sys.path]), "COLUMNS": "120", **environment},
            timeout=120,
            check=False,
        )
