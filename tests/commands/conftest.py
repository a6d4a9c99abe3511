"""A game that several commands show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import run_penumbra as run


@pytest.fixture(scope="package")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game of Hunter and Random that `penumbra demo` wrote."""
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    assert run("demo", "--white", "hunter", "--black", "random", "--seed", "1", "--out", path).returncode == 0
    return path
