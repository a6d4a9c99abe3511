"""The planes of raw knowledge as the page lists them, and the sizes of all observations."""

from __future__ import annotations

import re
from typing import Any

import pytest

from penumbra.core import GameFleet
from penumbra.env import KNOWLEDGE_PLANES
from penumbra.env.observation import space_of
from tests.support import ROOT

PAGE = (ROOT / "docs" / "environments.md").read_text()


def test_the_page_lists_every_plane_of_knowledge() -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| (flag|age|scalar) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert rows == [(str(plane.number), plane.name, plane.sort, plane.description) for plane in KNOWLEDGE_PLANES]
    assert len(rows) == GameFleet.planes("knowledge")


@pytest.mark.parametrize(
    ("observation", "planes", "largest"),
    [("binary", 104, 1), ("shares", 77, 255), ("graded", 150, 255), ("knowledge", 24, 255)],
)
def test_observations_have_the_sizes_that_the_page_gives(observation: Any, planes: int, largest: int) -> None:
    space = space_of(observation)
    assert (space.shape, space.high.max()) == ((planes, 8, 8), largest)
    assert re.search(rf'\b{planes}\b[^,.|]*\(`"{observation}"`\)', PAGE)
