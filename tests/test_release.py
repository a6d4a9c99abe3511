"""A release: its version is said alike everywhere, and its wheel plays where nothing else is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import penumbra
from tests.support import ROOT


def test_one_version_is_said_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited and newest
    assert {project["version"], cited[1], newest[1]} == {penumbra.__version__}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an empty environment with the wheel in it: one built here, or the file PENUMBRA_WHEEL."""
    folder = tmp_path_factory.mktemp("release")
    wheel = os.environ.get("PENUMBRA_WHEEL")
    if wheel is None:
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder / "dist", ROOT, cwd=folder)
        wheel = str(next((folder / "dist").glob("penumbra-*.whl")))
    run(sys.executable, "-m", "venv", folder / "environment", cwd=folder)
    programs = folder / "environment" / "bin"
    run(programs / "python", "-m", "pip", "install", wheel, "-c", ROOT / ".ci" / "constraints.txt", cwd=folder)
    return programs


@pytest.mark.evidence
def test_the_wheel_plays_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    played = run(
        *(installed / "penumbra", "match", "penumbra", "random", "--games", "1", "--nodes", "50", "--clock", "none"),
        cwd=tmp_path,
    )
    assert "penumbra v random: 1 of 1" in played
    assert "extras               none" in run(installed / "penumbra", "doctor", cwd=tmp_path)
    where = run(installed / "python", "-c", "import penumbra; print(penumbra.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)


def run(*command: str | Path, cwd: Path) -> str:
    """What it printed, run without anything of this environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
