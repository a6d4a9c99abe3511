"""The paper's numbers as they stand in the files: complete, and consistent with what the paper says of them."""

from __future__ import annotations

import pytest

from penumbra.rbc.synopsis import PLANES
from penumbra.reproduce import published
from penumbra.reproduce.cross_tables import best_of_columns
from penumbra.reproduce.elo_grids import caution_claims, exploration_claims
from penumbra.reproduce.orders import chance, correlation, rank_correlation, ranks, verdict
from penumbra.reproduce.table_saliency import published_column

FILES = sorted(path.stem for path in published.FOLDER.glob("*.csv"))


@pytest.mark.parametrize("name", FILES)
def test_every_file_names_its_source_and_is_rectangular(name: str) -> None:
    assert "NeurIPS 2021" in published.source(name)
    rows = published.rows(name)
    assert rows and all(None not in row and None not in row.values() for row in rows)


def test_the_tables_have_all_their_rows() -> None:
    sizes = {name: len(published.rows(name)) for name in FILES}
    assert sizes["table1"] == 14 and sizes["table2"] == 14 and sizes["table3"] == 16 and sizes["table4"] == 6
    assert sizes["planes"] == 104 and sizes["example_game"] == 8
    assert all(len(published.cross(name)) == 14 * 14 for name in ("cross1", "cross5", "crosswin"))


@pytest.mark.parametrize(("table", "measure"), [("cross1", "top1"), ("cross5", "top5"), ("crosswin", "winner")])
def test_table_1_is_the_diagonal_of_the_cross_tables(table: str, measure: str) -> None:
    cross = published.cross(table)
    for headset, value in published.column("table1", "headset", measure).items():
        assert cross[headset, headset] == value


def test_the_best_of_each_column_is_what_the_paper_prints_in_bold() -> None:
    for name in ("cross1", "cross5"):
        assert all(headset == data for data, headset in best_of_columns(published.cross(name)).items())
    others = {data for data, headset in best_of_columns(published.cross("crosswin")).items() if headset != data}
    assert others == {"StrangeFish"}


@pytest.mark.parametrize("name", ["loss PBS", "action PbS"])
def test_the_correlation_with_the_ablation_is_the_papers(name: str) -> None:
    """From numbers rounded to two digits."""
    ours = correlation(published_column(name), published_column("ablation"))
    assert ours == pytest.approx(published.fact(f"{name} and ablation"), abs=0.003)


def test_ranks_go_by_action_saliency() -> None:
    assert sorted(published_column("rank")) == list(range(len(PLANES)))
    assert rank_correlation(published_column("rank"), published_column("action PbS")) < -0.999
    for both, zero, one in zip(*map(published_column, ("action PbS", "action PbS 0", "action PbS 1")), strict=True):
        assert min(zero, one) - 0.01 <= both <= max(zero, one) + 0.01


def test_planes_are_ours() -> None:
    for row, plane in zip(published.rows("planes"), PLANES, strict=True):
        assert int(row["plane"]) == plane.number
        assert row["description"].split()[0].lower() == plane.name.split()[0].lower()


def test_the_anchor_of_table_2() -> None:
    rows = {(row["bot"], row["recognized as"]): row for row in published.rows("table2")}
    assert rows["StockyInference", "StockyInference"]["elo"] == "1500"
    assert rows["PenumbraMixture", "unrecognized"]["elo"] == "1747"


def test_ranks_of_equals_are_shared() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [2.5, 0.0, 2.5, 1.0]
    assert rank_correlation([1, 2, 3, 4], [10, 20, 30, 5]) == pytest.approx(-0.2)
    assert rank_correlation([1, 2], [1, 2]) != rank_correlation([1, 2], [1, 2])  # NaN: two points say nothing


def test_a_correlation_that_chance_would_give_says_nothing() -> None:
    """0.632 is the critical value of 10 points, 0.195 of 102, in any table of them."""
    assert chance(10) == pytest.approx(0.632, abs=0.01) and chance(102) == pytest.approx(0.195, abs=0.003)
    assert verdict(0.5, 10, positive=True) is None and verdict(float("nan"), 10, positive=True) is None
    assert verdict(0.7, 10, positive=True) is True and verdict(0.7, 10, positive=False) is False
    assert verdict(-0.25, 104, positive=False) is True and verdict(1.0, 3, positive=True) is None


def test_the_papers_own_grids_say_what_the_paper_says() -> None:
    paper = {
        name: {(row[a], row[b]): (float(row["elo"]), float(row["margin"])) for row in published.rows(name)}
        for name, a, b in (("table3", "paranoia", "caution"), ("table4", "rule", "c"))
    }
    paranoia, caution = caution_claims(paper["table3"], paper["table3"], 12_000)
    assert paranoia.holds is True and caution.holds is True
    assert exploration_claims(paper["table4"], paper["table4"], 4_500)[0].holds is True
    wide = {key: (elo, 200.0) for key, (elo, _) in paper["table4"].items()}
    assert exploration_claims(paper["table4"], wide, 4_500)[0].holds is None
    loose = {key: (elo, 200.0) for key, (elo, _) in paper["table3"].items()}
    assert [claim.holds for claim in caution_claims(paper["table3"], loose, 100)] == [None, None]
