"""The documents: their Python runs, their pictures exist, and the table of planes is the list of planes."""

import re

import pytest

from penumbra.rbc.synopsis import PLANES
from tests.support import ROOT

DOCS = ROOT / "docs"


@pytest.mark.parametrize("page", ["synopsis.md", "rules.md", "server.md", "reproduction.md"])
def test_the_python_of_a_page_runs_and_its_links_lead_somewhere(page: str) -> None:
    text = (DOCS / page).read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, page, "exec"), names)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (DOCS / target).is_file(), target


def test_the_table_of_planes_has_every_plane_once() -> None:
    rows = re.findall(r"^\| ([\d–, ]+) \| (.*?) \|", (DOCS / "synopsis.md").read_text(), re.MULTILINE)
    numbers = [number for cell, _ in rows for number in numbers_of(cell)]
    assert numbers == [plane.number for plane in PLANES]
    single = {int(cell): name for cell, name in rows if cell.isdigit()}
    assert len(single) > 20
    for number, name in single.items():
        assert PLANES[number].name.lower() == name


def numbers_of(cell: str) -> list[int]:
    ends = [int(word) for word in re.findall(r"\d+", cell)]
    return list(range(ends[0], ends[-1] + 1))
