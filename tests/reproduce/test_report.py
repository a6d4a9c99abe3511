"""What the page says first, and how much would tell what cannot be told."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from penumbra.games.ratings import rate
from penumbra.reproduce import published
from penumbra.reproduce.elo_grids import caution_claims, exploration_claims
from penumbra.reproduce.experiments import WHERE
from penumbra.reproduce.league import stronger
from penumbra.reproduce.report import SUBJECTS, collect, verdict, write_report
from penumbra.reproduce.result import Claim, Grid, Result
from penumbra.reproduce.telling import ENOUGH, ONE_SIDE, games_for_gap, games_for_order, points_for_correlation


def test_as_many_games_tell_a_gap_in_four_tries_of_five() -> None:
    """Two players who meet as often as is said, by a simulation of their scores."""
    share = 1 / (1 + 10 ** (-50 / 400))
    elo_of_one = 400 / math.log(10) / math.sqrt(share * (1 - share))  # deviation of the difference after one game
    games = games_for_gap(1, elo_of_one, 50.0, ONE_SIDE)
    assert games is not None and 200 < games < 450
    rng = np.random.default_rng(1)
    scores = rng.binomial(games, share, 4_000) / games
    told = scores - 0.5 > ONE_SIDE * np.sqrt(scores * (1 - scores) / games)
    assert told.mean() == pytest.approx(0.8, abs=0.03)
    assert games_for_gap(1, elo_of_one, 25.0, ONE_SIDE) == pytest.approx(4 * games, rel=0.1)
    assert games_for_gap(100, 60.0, 0.0) is None and games_for_gap(100, math.inf, 10.0) is None


def test_as_many_points_tell_a_correlation_in_four_tries_of_five() -> None:
    assert points_for_correlation(0.3) == pytest.approx(85, abs=1)  # as any table of sample sizes has it
    assert points_for_correlation(-0.208) == points_for_correlation(0.208)
    assert points_for_correlation(0.0) is None and points_for_correlation(1.0) is None


def test_an_order_takes_more_games_the_less_clear_it_is() -> None:
    paper = [float(row["elo"]) for row in published.rows("table2")]
    few, many = (games_for_order(300, [deviation] * len(paper), paper) for deviation in (300.0, 1_000.0))
    assert few is not None and many is not None and 300 <= few < many / 5
    assert games_for_order(300, [10.0] * len(paper), paper) == 300
    assert games_for_order(10, [1e6] * len(paper), paper) is None


def test_a_rating_that_cannot_tell_says_how_many_games_would() -> None:
    found = rate([("A", "B", True, 11), ("A", "B", False, 9), ("B", "A", True, 9), ("B", "A", False, 11)])
    margin = 1.959964 * found.deviation("A", "B")
    assert margin == pytest.approx(2 * found.of("A").margin, rel=1e-6)  # each is half the difference from the average
    claim = stronger(found, "A", "B", (1600.0, 1500.0))
    assert claim.holds is None and claim.needs == f"{claim.more:,} games of each"
    assert claim.more is not None and 40 < claim.more < 400
    assert stronger(found, "A", "B", (2500.0, 1500.0)).needs == ENOUGH
    closer = stronger(found, "A", "B", (1510.0, 1500.0))
    assert closer.more == pytest.approx(100 * claim.more, rel=0.1)


def test_wide_grids_say_how_many_games_would_tell() -> None:
    paper = {
        (row["paranoia"], row["caution"]): (float(row["elo"]), float(row["margin"])) for row in published.rows("table3")
    }
    wide = {key: (elo, 200.0) for key, (elo, _) in paper.items()}
    paranoia, caution = caution_claims(paper, wide, 200)
    assert paranoia.more is not None and caution.more is not None and 2_000 < paranoia.more < caution.more
    (claim,) = exploration_claims(paper, wide, 100)
    assert claim.more is not None and claim.more > 1_000


def test_the_page_opens_with_a_verdict_of_ten_lines(tmp_path: Path) -> None:
    claims = {
        "table1": [Claim("order of the players", "1", "0.5", None, 15, "players")],
        "table2": [
            Claim("A is stronger than B", "2 against 1", "2 against 1", True),
            Claim("B is stronger than C", "1 against 0", "0 against 1", False),
            Claim("C is stronger than D", "1 against 0", "0 against 0", None, 120, "games of each"),
            Claim("D is stronger than E", "1 against 0", "0 against 0", None, 9_000, "games of each"),
        ],
    }
    for name, each in claims.items():
        result = Result(name, name.title(), Grid(["a"], [["b"]]), Figure(), ["Ours: some."], each, public=["Trout"])
        result.write(tmp_path / "small", "small", "about 1 second", 1.0)
    old = json.loads((tmp_path / "small/table1.json").read_text())
    del old["public"], old["claims"][0]["more"]  # as results of earlier versions are
    (tmp_path / "small/table1.json").write_text(json.dumps(old))
    write_report(tmp_path, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    opening = text.split("## ")[1].splitlines()
    assert opening[0] == "The verdict" and len([line for line in opening if line]) <= 10
    said = verdict(collect(tmp_path))
    assert "Of 5 statements of the paper 1 hold in what was measured here, 1 do not, and 3 cannot be told." in said
    assert "1 of 4 confirmed (A is stronger than B); 1 not confirmed (B is stronger than C); " in said
    assert "2 unknown: 120 to 9,000 games of each." in said
    assert "Baselines that were the public programs: Trout." in said and "Not reproduced yet: fig1, " in said
    assert "| C is stronger than D | 1 against 0 | 0 against 0 | cannot be told | 120 games of each |" in text


def test_every_experiment_has_a_place_in_the_verdict() -> None:
    assert sorted(name for names in SUBJECTS.values() for name in names) == sorted(WHERE)
