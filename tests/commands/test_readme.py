"""What README.md says can be run, runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.processes import run_penumbra as run


def test_the_readmes_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


def test_the_readmes_commands_run(tmp_path: Path) -> None:
    commands = re.findall(r"^\.venv/bin/penumbra (.*?) *#", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        extra = ["--time", "0.05"] if command.startswith("bench") else []
        result = run(*command.split(), *extra, cwd=tmp_path)
        assert result.returncode == 0 or command == "doctor", (command, result.stderr)


def test_the_readmes_make_targets_exist() -> None:
    targets = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert set(targets) >= {"demo", "test"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
