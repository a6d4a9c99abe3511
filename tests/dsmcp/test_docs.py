"""The code of docs/domains.md runs."""

from __future__ import annotations

import re

from tests.support import ROOT

PAGE = ROOT / "docs" / "domains.md"


def test_the_blocks_of_the_page_run_in_order() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
