"""`penumbra doctor`: what this installation runs on, and what is missing from it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

import penumbra
from penumbra.commands.errors import FAILED, complain
from penumbra.commands.options import examples
from penumbra.extras import EXTRAS, ExtraMissing, is_installed

EXAMPLES = examples("penumbra doctor", "penumbra doctor --deep --archive games.db")
PACKAGES = ("numpy", "chess", "reconchess", "safetensors", "typer", "rich")


def doctor(
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also look at weights, a search by everything that evaluates here, the clock and the disks."
        ),
    ] = False,
    archive: Annotated[Path | None, typer.Option(help="With --deep, an archive of games to look at too.")] = None,
) -> None:
    """Say what this installation runs on; fail if something is missing or, with --deep, does not work."""
    if archive is not None and not deep:
        raise ValueError("--archive needs --deep, which looks at it")
    found, problems = report()
    for what, value in found:
        print(f"{what:<20} {value}")
    for problem in problems:
        complain(problem)
    is_wrong = bool(problems)
    if deep and not is_wrong:
        from penumbra.commands.diagnosis import diagnose

        for finding in diagnose(archive):
            print(finding.line(), flush=True)
            is_wrong |= finding.is_wrong
    if is_wrong:
        raise typer.Exit(FAILED)


def report() -> tuple[list[tuple[str, str]], list[str]]:
    """(what was found, what is wrong); nothing is wrong in an installation that works."""
    found = [
        ("penumbra", penumbra.__version__),
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("machine", f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"),
    ]
    problems: list[str] = []
    _check_core(found, problems)
    for package in PACKAGES:
        try:
            found.append((package, importlib.metadata.version(package)))
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{package} is not installed: python -m pip install {package}")
    found.append(("extras", ", ".join(_extras()) or "none"))
    engine = os.environ.get("STOCKFISH_EXECUTABLE") or shutil.which("stockfish") or "not found (Trout needs it)"
    found.append(("stockfish", engine))
    return found, problems


def _check_core(found: list[tuple[str, str]], problems: list[str]) -> None:
    """Loads the core and counts the moves of chess' first three plies on it."""
    try:
        from penumbra import core
        from penumbra.core import _cpu
    except ImportError as error:
        problems.append(f"the native core does not load: {error}")
        return
    found.append(("native core", f"{core.BUILD}, {core.threads()} threads"))
    found.append(("processor features", ", ".join(_cpu.features()) or "none that the core uses"))
    if kernels := _kernels():
        found.append(("network kernels", kernels))
    else:
        problems.append(str(ExtraMissing("a network on this processor", "onnxruntime")))
    if core.perft(core.START_FEN, 3, True) != 8902:
        problems.append("the native core counts chess moves wrongly: build it again")


def _extras() -> list[str]:
    """Those of which every package is here."""
    lacking = {extra for package, extra in EXTRAS.items() if not is_installed(package)}
    return [extra for extra in dict.fromkeys(EXTRAS.values()) if extra not in lacking]


def _kernels() -> str:
    """What evaluates networks on this processor; nothing if there is nothing."""
    from penumbra.network.quantization.int8_evaluator import builds

    if builds():
        return f"our own for {builds()[0]}, in eight bits"
    if not is_installed("onnxruntime"):
        return ""
    from penumbra.network.quantization.calibration import is_fast_here

    return "onnxruntime, in eight bits" if is_fast_here() else "onnxruntime, in 32 bits"
