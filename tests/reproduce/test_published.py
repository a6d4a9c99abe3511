"""The paper's numbers as they stand in the files: complete, and consistent with what the paper says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penumbra.rbc.synopsis import PLANES
from penumbra.reproduce import published
from penumbra.reproduce.cross_tables import best_of_columns, diagonal
from penumbra.reproduce.elo_grids import caution_claims, exploration_claims
from penumbra.reproduce.orders import chance, correlation, rank_correlation, ranks, verdict
from penumbra.reproduce.result import Claim
from penumbra.reproduce.table_saliency import published_column
from penumbra.reproduce.telling import ENOUGH
from penumbra.training.evaluation import Evaluation

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


def judged(random: tuple[float, float], examples: int, trout: float = 0.2) -> Claim:
    """What is said of three players' columns: Oracle's own wins, Trout's has `trout`, Random's and Trout's `random`."""
    cross = np.array([[0.5, 0.2, 0.01], [0.3, trout, random[1]], [0.1, 0.1, random[0]]])
    names, counts = ("Oracle", "Trout", "Random"), np.full(3, examples)
    return diagonal(
        Evaluation(names, names, counts, {"top1": cross}, np.empty((0, 3))), "top1", published.cross("cross1")
    )


def test_a_diagonal_that_is_lost_by_chance_cannot_be_told() -> None:
    """Of 63 examples 3 against 2 say nothing; of 10,000 as many times more say that it does not hold."""
    won = judged((0.05, 0.03), 63, trout=0.4)
    assert (won.holds, won.ours) == (True, "3 of 3")
    chance_only = judged((2 / 63, 3 / 63), 63, trout=0.4)
    assert chance_only.holds is None and chance_only.ours == "2 of 3; within chance on Random (Trout)"
    assert chance_only.more is not None and chance_only.more > 1_000 and chance_only.of == "examples of Random"
    lost = judged((0.03, 0.05), 10_000, trout=0.4)
    assert (lost.holds, lost.ours) == (False, "2 of 3; not on Random (Trout)")
    both = judged((2 / 63, 3 / 63), 63, trout=0.02)
    assert (both.holds, both.ours) == (False, "1 of 3; not on Trout (Oracle); within chance on Random (Trout)")


def test_a_diagonal_lost_where_the_paper_has_a_large_gap_is_told_by_few_examples() -> None:
    """Its Trout predicts Trout 5.2 points better than All does."""
    cross = np.array([[0.30, 0.23], [0.26, 0.22]])
    names, counts = ("All", "Trout"), np.array([2_000, 2_000])
    evaluation = Evaluation(names, names, counts, {"top1": cross}, np.empty((0, 3)))
    claim = diagonal(evaluation, "top1", published.cross("cross1"))
    assert (claim.holds, claim.more, claim.of) == (None, None, ENOUGH)
    few = diagonal(replace(evaluation, examples=counts // 10), "top1", published.cross("cross1"))
    assert few.holds is None and few.more == 1_100


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
