"""Python and the command line in processes of their own, which find what this process finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def environment(*first: Path, **more: str) -> dict[str, str]:
    """This process's variables and `more`; modules are looked for in the folders `first`, then where they are here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, first), *sys.path]), **more}


def run_python(*arguments: str | Path, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """`python ARGUMENTS`, with what it printed."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**more),
        timeout=120,
        check=False,
    )


def run_penumbra(*arguments: str | Path, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """`penumbra ARGUMENTS`, with what it printed; `command_line.penumbra` does the same faster, in this process."""
    return run_python("-m", "penumbra", *arguments, cwd=cwd, COLUMNS="120", **more)
