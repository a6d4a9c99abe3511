"""Playing needs few packages; what needs another one says in one line which extra has it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from penumbra.extras import EXTRAS
from penumbra.interop.history import write_record
from tests.support import ROOT
from tests.support.processes import environment
from tests.support.processes import run_penumbra as run
from tests.support.random_games import random_game

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = ("dev", "docs", "audit")
OUTSIDE = tuple(EXTRAS)


def test_every_package_of_an_extra_is_known() -> None:
    listed = {
        (Requirement(each).name, extra)
        for extra, packages in PROJECT["optional-dependencies"].items()
        if extra not in FOR_DEVELOPERS
        for each in packages
        if not each.startswith("penumbra[")
    }
    assert listed - set(EXTRAS.items()) == set()
    assert set(EXTRAS.values()) == {extra for _, extra in listed}


def test_playing_needs_few_packages() -> None:
    found = [Requirement(each) for each in PROJECT["dependencies"]]
    on_a_pc = {
        each.name for each in found if each.marker is None or each.marker.evaluate({"platform_machine": "x86_64"})
    }
    with_reconchess = {"requests"}  # which reconchess needs as well
    assert on_a_pc - with_reconchess == {"numpy", "chess", "reconchess", "typer", "rich", "safetensors"}


def test_the_package_loads_nothing_until_it_is_asked_for() -> None:
    """That is why `import penumbra` takes milliseconds."""
    code = "import sys; before = set(sys.modules); import penumbra; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(), timeout=60
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "penumbra" in loaded
    assert loaded - {"penumbra"} <= set(sys.stdlib_module_names)


def test_without_any_extra_games_are_played_and_studied(tmp_path: Path) -> None:
    write_record(tmp_path / "game.json", random_game(1))
    commands = [
        "match penumbra random --games 1 --nodes 10 --clock none --workers 1",
        "replay game.json --html game.html",
        "analyse game.json --turn 2 --nodes 20",
    ]
    for command in commands:
        done = run(*command.split(), cwd=tmp_path, without=OUTSIDE)
        assert (done.returncode, done.stderr) == (0, ""), (command, done.stdout)
    done = run("doctor", without=OUTSIDE)
    assert "extras               none" in done.stdout.splitlines()
    assert "onnx" not in done.stderr or "network kernels" not in done.stdout


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("serve --port 0", "this needs fastapi: pip install 'penumbra[web]'"),
        ("planes game.json --turn 1", "drawing pictures needs matplotlib: pip install 'penumbra[figures]'"),
        ("situation game.json --turn 1", "drawing pictures needs matplotlib: pip install 'penumbra[figures]'"),
        ("train lite --archive games.db --out run", "this needs torch: pip install 'penumbra[training]'"),
        ("bench env --time 0.01", "penumbra.env needs pettingzoo: pip install 'penumbra[env]'"),
        ("bench network --time 0.01", "this needs onnxruntime: pip install 'penumbra[onnx]'"),
        ("reproduce table1", "table1 needs matplotlib: pip install 'penumbra[figures]'"),
        ("reproduce fig-synopsis", "drawing pictures needs matplotlib: pip install 'penumbra[figures]'"),
    ],
)
def test_what_is_missing_is_one_line_that_names_the_extra(command: str, said: str, tmp_path: Path) -> None:
    done = run(*command.split(), cwd=tmp_path, without=OUTSIDE)
    assert (done.returncode, done.stderr) == (1, f"penumbra: {said}\n")
