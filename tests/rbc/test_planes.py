"""The list of planes is complete and names what the paper's two tables name."""

import re
from typing import get_args

from penumbra.rbc.synopsis import PLANES, Sort
from tests.support import DATA

PAPER = DATA / "paper_planes.txt"


def in_full(name: str) -> str:
    """A name of the paper's tables without its abbreviations and asides."""
    name = re.sub(r"\s*\((constant|move or sense)\)", "", name).lower().replace("w/o", "without")
    name = re.sub(r"by opp\.(?= without|$)", "by opponent", name)
    return re.sub(r"opposing kings$", "opposing king", name.replace("opp.", "opposing"))


def test_names_are_the_papers() -> None:
    rows = (line.split(maxsplit=1) for line in PAPER.read_text().splitlines())
    paper = {int(number): in_full(name) for number, name in rows}
    assert {plane.number: plane.name.lower() for plane in PLANES} == paper


def test_list_is_complete() -> None:
    assert [plane.number for plane in PLANES] == list(range(104))
    assert len({plane.name for plane in PLANES}) == 104
    assert all(plane.description for plane in PLANES)


def test_sorts_follow_the_names() -> None:
    assert {plane.sort for plane in PLANES} == set(get_args(Sort))
    assert [plane.number for plane in PLANES if plane.sort == "constant"] == list(range(10))
    assert [plane.number for plane in PLANES if plane.sort == "derived"] == [36, 39, 68]
    for plane in PLANES:
        assert plane.sort in ("and", "derived") or not plane.name.startswith("Definitely")
        assert plane.sort == "or" or not plane.name.startswith("Possibl")
    remembered_or_owned = [*range(10, 18), *range(32, 36), 69, 70, 79, 81, *range(86, 104)]
    assert [plane.number for plane in PLANES if plane.sort == "context"] == remembered_or_owned


def test_previous_planes_name_the_planes_they_repeat() -> None:
    for plane in PLANES[86:]:
        repeated = PLANES[plane.number - 68]
        assert f"plane {repeated.number} " in plane.description
        assert set(plane.name.lower().split()) - {"previous"} <= set(repeated.name.lower().split())
