"""The folders of the native core include downwards only, and only bindings/ knows Python (docs/architecture.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ROOT

BELOW = {
    "base": set[str](),
    "chess": {"base"},
    "rbc": {"base", "chess"},
    "dsmcp": {"base"},
    "network": {"base"},
    "bindings": {"base", "chess", "rbc", "dsmcp", "network"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def violations(native: Path) -> list[str]:
    """Each include that breaks the order, as 'file includes file'."""
    found = []
    for path in sorted([*native.rglob("*.h"), *native.rglob("*.cpp")]):
        folder = path.relative_to(native).parts[0]
        for bracket, included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if bracket == '"':
                allowed = (
                    included.split("/")[0] in BELOW.get(folder, set()) | {folder} and (native / included).is_file()
                )
            else:
                allowed = folder == "bindings" or not re.match(r"nanobind/|[Pp]ython", included)
            if not allowed:
                found.append(f"{path.relative_to(native)} includes {included}")
    return found


def test_the_native_core_includes_downwards_only() -> None:
    assert violations(ROOT / "native") == []
    assert {path.name for path in (ROOT / "native").iterdir()} == set(BELOW)


@pytest.mark.parametrize(
    ("path", "line", "allowed"),
    [
        ("base/threads.cpp", '#include "base/random.h"', True),
        ("base/threads.cpp", '#include "chess/board.h"', False),
        ("chess/board.h", '#include "base/random.h"', True),
        ("chess/board.h", '#include "rbc/state.h"', False),
        ("rbc/state.h", '  #  include "chess/board.h"', True),
        ("rbc/state.h", '#include "dsmcp/table.h"', False),
        ("rbc/state.h", '#include "network/kernels.h"', False),
        ("dsmcp/table.h", '#include "chess/board.h"', False),
        ("dsmcp/table.h", '#include "rbc/state.h"', False),
        ("network/kernels.h", '#include "rbc/state.h"', False),
        ("network/kernels.h", '#include "kernels.h"', False),
        ("dsmcp/table.h", '#include "bindings/arrays.h"', False),
        ("rbc/state.h", "#include <nanobind/nanobind.h>", False),
        ("base/threads.cpp", "#include <Python.h>", False),
        ("base/threads.cpp", "#include <thread>", True),
        ("bindings/arrays.h", "#include <nanobind/nanobind.h>", True),
        ("bindings/arrays.h", '#include "network/kernels.h"', True),
        ("loose.h", '#include "base/random.h"', False),
    ],
)
def test_a_wrong_include_is_found(tmp_path: Path, path: str, line: str, allowed: bool) -> None:
    for known in ("base/random.h", "chess/board.h", "rbc/state.h", "dsmcp/table.h", "network/kernels.h"):
        (tmp_path / known).parent.mkdir(exist_ok=True)
        (tmp_path / known).write_text("#pragma once\n")
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(f"#pragma once\n{line}\n")
    assert bool(violations(tmp_path)) is not allowed
