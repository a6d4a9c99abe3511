"""Ratings: known strengths are found again, intervals hold what they promise, and what cannot be rated is refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from penumbra.arena.archive import Archive, NewGame
from penumbra.arena.rating import SCALE, Result, rate
from penumbra.core import GameRecord
from tests.command_line import penumbra

STRENGTHS = {"Fish": 1900.0, "Oracle": 1700.0, "Monte": 1500.0, "Trout": 1450.0, "Attacker": 1250.0, "Random": 1200.0}


def league(
    rng: np.random.Generator,
    games: int,
    advantage: float = 0.0,
    draws: float = 0.0,
    strengths: dict[str, float] = STRENGTHS,
) -> list[Result]:
    """Each plays `games` with each colour against each; a share of the games, whoever plays, is drawn."""
    results: list[Result] = []
    for white, black in itertools.permutations(strengths, 2):
        p = 1 / (1 + math.exp(-(strengths[white] - strengths[black] + advantage) / SCALE))
        drawn = int(rng.binomial(games, 2 * draws * min(p, 1 - p)))
        won = int(rng.binomial(games - drawn, (p - drawn / games / 2) / (1 - drawn / games)))
        results += [(white, black, None, drawn), (white, black, True, won), (white, black, False, games - drawn - won)]
    return [result for result in results if result[3]]


def test_known_strengths_are_found_again() -> None:
    ratings = rate(league(np.random.default_rng(1), 20_000, advantage=35.0))
    assert [rating.name for rating in ratings.players] == list(STRENGTHS)
    for rating in ratings.players:
        assert rating.elo == pytest.approx(STRENGTHS[rating.name], abs=8)
        assert rating.margin < 8
    assert ratings.advantage == pytest.approx(35, abs=3)
    assert ratings.games == 20_000 * 30


def test_draws_are_half_a_point() -> None:
    ratings = rate(league(np.random.default_rng(2), 20_000, draws=0.4))
    for rating in ratings.players:
        assert rating.elo == pytest.approx(STRENGTHS[rating.name], abs=8)
    assert ratings.of("Monte").draws > 10_000
    alone = rate([("A", "B", None, 10), ("B", "A", None, 10)])
    assert [rating.elo for rating in alone.players] == pytest.approx([1500, 1500])
    assert alone.advantage == pytest.approx(0)


def test_intervals_hold_the_truth_nineteen_times_in_twenty() -> None:
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(100):
        ratings = rate(league(rng, 40, advantage=20.0))
        inside += [abs(rating.elo - STRENGTHS[rating.name]) <= rating.margin for rating in ratings.players]
        inside.append(abs(ratings.advantage - 20) <= ratings.advantage_margin)
    assert 0.92 < np.mean(inside) < 0.98


def test_the_anchor_stands_where_it_is_put() -> None:
    results = league(np.random.default_rng(4), 100)
    free, anchored = rate(results), rate(results, anchor="Trout", anchor_elo=1000.0)
    trout = anchored.of("Trout")
    assert trout.elo == pytest.approx(1000)
    assert trout.margin == pytest.approx(0, abs=1e-5)
    for rating in free.players:
        difference = rating.elo - free.of("Trout").elo
        assert anchored.of(rating.name).elo - 1000 == pytest.approx(difference, abs=1e-6)
    assert np.mean([rating.elo for rating in free.players]) == pytest.approx(1500)


def test_who_wins_everything_has_a_finite_rating_that_grows_with_the_games() -> None:
    elos = [rate([("A", "B", True, n), ("B", "A", False, n)]).of("A").elo for n in (5, 50, 500)]
    assert 1500 < elos[0] < elos[1] < elos[2] < 3500
    strict = rate([("A", "B", True, 50), ("B", "A", False, 50)], prior=8.0).of("A").elo
    assert strict < elos[1]


def test_the_slope_is_zero_at_the_top() -> None:
    """Points scored, virtual draws included, are the points expected."""
    prior = 2.0
    ratings = rate([("A", "B", True, 7), ("A", "B", False, 3), ("B", "A", True, 4), ("B", "A", None, 6)], prior=prior)
    difference = (ratings.of("A").elo - ratings.of("B").elo) / SCALE
    gamma = ratings.advantage / SCALE
    as_white, as_black = (1 / (1 + math.exp(-(difference + side * gamma))) for side in (1, -1))
    assert (10 + prior) * as_white == pytest.approx(7 + prior / 2)
    assert (10 + prior) * as_black == pytest.approx(3 + prior / 2)


def test_top_is_the_top_third() -> None:
    ratings = rate(league(np.random.default_rng(5), 2_000))
    assert [rating.name for rating in ratings.players if rating.top] == ["Fish", "Oracle"]


def test_what_cannot_be_rated_is_refused() -> None:
    with pytest.raises(ValueError, match="no finished games"):
        rate([("A", "A", True, 3)])
    with pytest.raises(ValueError, match="no games connect A, B with"):
        rate([("A", "B", True, 3), ("C", "D", True, 3)])
    with pytest.raises(ValueError, match="the anchor 'X' has no games"):
        rate([("A", "B", True, 3)], anchor="X")
    with pytest.raises(ValueError, match="prior"):
        rate([("A", "B", True, 3)], prior=0)


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        for number, (white, black, winner, count) in enumerate(league(np.random.default_rng(6), 10)):
            for i in range(count):
                record = GameRecord(white, black)
                record.add_turn(i % 64, number + 1)
                record.winner, record.reason = winner, "MOVE_LIMIT" if winner is None else "RESIGN"
                archive.add([NewGame(record, "simulated")])
    result = penumbra("rate", path, "--anchor", "Trout", "--elo", "1000")
    lines = result.stdout.splitlines()
    assert len(lines) == len(STRENGTHS) + 2
    assert lines[1].split()[1] == "Fish"
    assert [line.split()[1] for line in lines[1:-1] if line.endswith("*")] == [line.split()[1] for line in lines[1:3]]
    assert any(line.split()[1:4] == ["Trout", "1000", "±0"] for line in lines)
    assert len(json.loads(penumbra("rate", path, "--json").stdout)["players"]) == len(STRENGTHS)
    result = penumbra("rate", path, "--anchor", "X")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
