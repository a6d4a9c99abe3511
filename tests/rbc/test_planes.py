"""The list of planes is complete and names what the paper's two tables name."""

import re
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from penumbra.rbc.synopsis import (
    LAYOUTS,
    PLANES,
    SHARES,
    ShareSort,
    Sort,
    Synopsis,
    check_features,
    layout_of,
    synopsis_read_by_all,
)
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


def test_shares_are_numbered_on_from_the_binary_planes() -> None:
    assert [plane.number for plane in SHARES] == list(range(104, 104 + len(SHARES)))
    assert len({plane.name for plane in [*PLANES, *SHARES]}) == 104 + len(SHARES)
    assert all(plane.description for plane in SHARES)
    assert {plane.sort for plane in SHARES} == set(get_args(ShareSort))


def test_every_feature_that_is_joined_over_the_states_has_a_share() -> None:
    """But for what a share cannot add: 36 and 39 ask for one kind in every state, own knights (44) attack the same in
    every state, and 80 is plane 18 without the own pieces.
    """
    joined = {plane.number for plane in PLANES if plane.sort in ("and", "or", "derived")} | set(range(86, 100))
    ends = [end for plane in SHARES for end in (plane.always, plane.sometimes) if end is not None]
    assert sorted(ends) == sorted(joined - {36, 39, 44, 80})


def test_a_share_stands_beside_the_and_and_the_or_of_its_feature() -> None:
    for plane in SHARES:
        ends = [PLANES[end] for end in (plane.always, plane.sometimes) if end is not None]
        assert (plane.sort == "scalar") == (not ends)
        for end in ends:
            found = re.match(r"(?:Previous )?(?:definitely|possibly) (.*?)(?: somehow)?$", end.name, re.IGNORECASE)
            assert found is None or plane.name.lower().endswith(f"share {found[1].lower()}")
        if plane.sort == "share":
            assert [end.sort for end in ends] == ["and", "or"][2 - len(ends) :]


def test_the_sorts_of_synopses() -> None:
    """Shares stand beside what is constant, owned or remembered, but for the planes whose shares are remembered."""
    assert list(LAYOUTS) == list(get_args(Synopsis))
    assert LAYOUTS["binary"].planes == PLANES
    assert LAYOUTS["graded"].planes == PLANES + SHARES
    kept = [plane for plane in PLANES if plane.sort in ("constant", "context") and not 86 <= plane.number < 100]
    kept = sorted([*kept, PLANES[44]], key=lambda plane: plane.number)  # own knights attack the same in every state
    assert LAYOUTS["shares"].planes == (*kept, *SHARES)
    for layout in LAYOUTS.values():
        assert layout.words == layout.bits + 8 * (len(layout.planes) - layout.bits)
        assert layout_of(layout.words) == layout


def test_features_of_another_sort_are_refused_in_one_line() -> None:
    features = {synopsis: np.zeros((1, layout.words), np.uint64) for synopsis, layout in LAYOUTS.items()}
    for synopsis, rows in features.items():
        check_features(rows, synopsis)
    with pytest.raises(ValueError, match=r"^the network reads graded synopses and was given binary ones$"):
        check_features(features["binary"], "graded")
    with pytest.raises(ValueError, match=r"^features of 105 words a row are of no sort of synopsis; there are 104 bin"):
        check_features(np.zeros((1, 105), np.uint64), "binary")


def test_evaluators_of_one_player_read_one_sort() -> None:
    graded, plain = SimpleNamespace(synopsis="graded"), object()
    assert synopsis_read_by_all(graded, None, graded) == "graded"
    assert synopsis_read_by_all(plain) == "binary"
    with pytest.raises(ValueError, match="read different synopses: binary, graded"):
        synopsis_read_by_all(plain, graded)
