"""How the tests are kept: what several of them share is no test's own."""

import re
from pathlib import Path

from tests.support import ROOT


def test_no_test_imports_from_another_test() -> None:
    """It belongs into tests/support, tests/oracles, or a module of its folder."""
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in sorted(Path(ROOT / "tests").rglob("*.py"))
        for line in path.read_text().splitlines()
        if re.match(r"\s*(from|import) tests(\.\w+)*\.test_\w+", line)
    ]
    assert found == []
