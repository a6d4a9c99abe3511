"""Python and the command line in processes of their own, which find what this process finds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CHESS = ("chess", "reconchess")  # packages that only `interop` and what stands above it may need

MISSING = """\
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {names} else super().find_spec(name, path, target)

sys.meta_path[:] = [Finder if finder is PathFinder else finder for finder in sys.meta_path]
"""  # the names are those of packages that cannot be found


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
        env={**environment(), **more},
        timeout=120,
        check=False,
    )


def run_penumbra(
    *arguments: object, cwd: Path | None = None, without: Sequence[str] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    """`penumbra ARGUMENTS`, with what it printed; `command_line.penumbra` does the same faster, in this process.

    The packages `without` are missing there, and in its children.
    """
    with tempfile.TemporaryDirectory() as missing:
        if without:
            (Path(missing) / "sitecustomize.py").write_text(MISSING.format(names=tuple(without)))
        paths = environment(Path(missing))["PYTHONPATH"]
        return run_python(
            "-m", "penumbra", *map(str, arguments), cwd=cwd, **{"COLUMNS": "120", "PYTHONPATH": paths, **more}
        )
