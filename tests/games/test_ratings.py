"""Ratings: known strengths are found again, intervals hold what they promise, and what cannot be rated is refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from penumbra.core import GameRecord
from penumbra.games.archive import Archive, NewGame, results_of
from penumbra.games.ratings import SCALE, Result, largest_part, rate
from tests.support.command_line import penumbra
from tests.support.evidence import scale

LEAGUES = scale(100, 2_000)
STRENGTHS = {"Fish": 1900.0, "Oracle": 1700.0, "Monte": 1500.0, "Trout": 1450.0, "Attacker": 1250.0, "Random": 1200.0}


def league(
    rng: np.random.Generator,
    games: int,
    advantage: float = 0.0,
    draw_width: float = 0.0,
    strengths: dict[str, float] = STRENGTHS,
) -> list[Result]:
    """Each plays `games` with each colour against each, by the probabilities of the model."""
    results: list[Result] = []
    for white, black in itertools.permutations(strengths, 2):
        d = strengths[white] - strengths[black] + advantage
        wins, losses = (1 / (1 + math.exp(-(side * d - draw_width) / SCALE)) for side in (1, -1))
        counts = rng.multinomial(games, [wins, losses, max(0.0, 1 - wins - losses)]).tolist()
        results += [(white, black, winner, n) for winner, n in zip((True, False, None), counts, strict=True) if n]
    return results


def test_known_strengths_are_found_again() -> None:
    ratings = rate(league(np.random.default_rng(1), 20_000, advantage=35.0))
    assert [rating.name for rating in ratings.players] == list(STRENGTHS)
    for rating in ratings.players:
        assert rating.elo == pytest.approx(STRENGTHS[rating.name], abs=8)
        assert rating.margin < 8
    assert ratings.advantage == pytest.approx(35, abs=3)
    assert ratings.games == 20_000 * 30


def test_the_largest_part_is_the_one_with_the_most_games() -> None:
    """Not the one with the most players."""
    many = [("A", "B", True, 1), ("B", "C", None, 1), ("D", "C", False, 1)]
    few = [("X", "Y", True, 3), ("Y", "X", False, 2), ("X", "X", True, 9)]
    part, outside = largest_part([*many, *few])
    assert part == few and outside == ["A", "B", "C", "D"]
    assert [rating.name for rating in rate(part).players] == ["X", "Y"]
    assert largest_part(many) == (many, [])


def test_draws_are_part_of_the_model() -> None:
    ratings = rate(league(np.random.default_rng(2), 20_000, draw_width=60.0))
    for rating in ratings.players:
        assert rating.elo == pytest.approx(STRENGTHS[rating.name], abs=8)
    assert ratings.draw_width == pytest.approx(60, abs=2)
    assert ratings.of("Monte").draws > 10_000
    alone = rate([("A", "B", None, 10), ("B", "A", None, 10)])
    assert [rating.elo for rating in alone.players] == pytest.approx([1500, 1500])
    assert alone.advantage == pytest.approx(0)
    assert rate(league(np.random.default_rng(2), 100)).draw_width == 0


@pytest.mark.parametrize("draw_width", [0.0, 80.0])
def test_intervals_hold_the_truth_nineteen_times_in_twenty(draw_width: float) -> None:
    """Of ratings, and of the first move's advantage."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(LEAGUES):
        ratings = rate(league(rng, 30, advantage=20.0, draw_width=draw_width))
        inside += [abs(rating.elo - STRENGTHS[rating.name]) <= rating.margin for rating in ratings.players]
        inside.append(abs(ratings.advantage - 20) <= ratings.advantage_margin)
    tolerance = scale(0.03, 0.012)
    assert abs(np.mean(inside) - 0.95) < tolerance


def test_a_likelihood_of_superiority_is_how_often_it_is_right() -> None:
    """Two players whose difference is drawn from a wide range: of all who are better by 60 to 90 %, so many are."""
    rng = np.random.default_rng(9)
    said, right = [], []
    for _ in range(LEAGUES * 6):
        strength = float(rng.uniform(-200, 200))
        ratings = rate(league(rng, 20, strengths={"A": strength, "B": 0.0}))
        for first, second, better in (("A", "B", strength > 0), ("B", "A", strength < 0)):
            if 0.6 < ratings.is_better(first, second) < 0.9:
                said.append(ratings.is_better(first, second))
                right.append(better)
    assert len(said) > LEAGUES
    assert abs(np.mean(said) - np.mean(right)) < scale(0.08, 0.03)


def test_superiority_is_that_of_the_difference() -> None:
    """Two players alone: their difference is twice a margin's standard deviation; shuffling players changes nothing."""
    pair = rate([("A", "B", True, 30), ("B", "A", True, 20), ("A", "B", False, 15), ("B", "A", False, 21)])
    a = pair.of("A")
    z = (a.elo - 1500) / (a.margin / 1.959964)
    assert pair.is_better("A", "B") == pytest.approx(0.5 * (1 + math.erf(z / math.sqrt(2))))
    ratings = rate(league(np.random.default_rng(7), 40))
    for i, first in enumerate(ratings.players):
        for second in ratings.players[i:]:
            forth = ratings.is_better(first.name, second.name)
            assert forth >= 0.5
            assert forth + ratings.is_better(second.name, first.name) == pytest.approx(1)
    equal = rate([("A", "B", True, 10), ("B", "A", True, 10)])
    assert equal.is_better("A", "B") == pytest.approx(0.5)


def test_without_draws_or_colours_ratings_are_those_of_choix() -> None:
    """Every result is entered for both colours, so the first move is worth nothing; the prior is next to nothing."""
    choix = pytest.importorskip("choix", reason="choix is not installed")
    results = league(np.random.default_rng(8), 25)
    both = [*results, *((black, white, not winner, n) for white, black, winner, n in results)]
    ratings = rate(both, prior=1e-9)
    names = list(STRENGTHS)
    games = [
        (names.index(white), names.index(black)) if winner else (names.index(black), names.index(white))
        for white, black, winner, n in results
        for _ in range(n)
    ]
    expected = choix.opt_pairwise(len(names), games, alpha=0, tol=1e-12)
    assert ratings.advantage == pytest.approx(0, abs=1e-6)
    for name, theta in zip(names, expected - expected.mean(), strict=True):
        assert (ratings.of(name).elo - 1500) / SCALE == pytest.approx(theta, abs=1e-4)


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
    ratings = rate([("A", "B", True, 7), ("A", "B", False, 3), ("B", "A", True, 7), ("B", "A", False, 3)], prior=prior)
    difference = (ratings.of("A").elo - ratings.of("B").elo) / SCALE
    gamma = ratings.advantage / SCALE
    as_white, as_black = (1 / (1 + math.exp(-(difference + side * gamma))) for side in (1, -1))
    assert (10 + prior) * as_white == pytest.approx(7 + prior / 2)
    assert (10 + prior) * as_black == pytest.approx(3 + prior / 2)


def test_the_slope_is_zero_at_the_top_with_draws() -> None:
    """Any small step away from what was found is less likely."""
    results: list[Result] = [("A", "B", True, 7), ("A", "B", None, 5), ("B", "A", True, 4), ("B", "C", None, 3)]
    results += [("C", "A", False, 6), ("C", "A", None, 2)]
    ratings = rate(results, prior=1e-6)
    theta = {rating.name: rating.elo / SCALE for rating in ratings.players}

    def likelihood(theta: dict[str, float], gamma: float, delta: float) -> float:
        total = 0.0
        for white, black, winner, n in results:
            d = theta[white] - theta[black] + gamma
            wins, losses = (1 / (1 + math.exp(-(side * d - delta))) for side in (1, -1))
            total += n * math.log(1 - wins - losses if winner is None else wins if winner else losses)
        draws = math.tanh(delta / 2)  # of two equals: the prior's half draw, quarter of a win and quarter of a loss
        return total + 0.5 * math.log(draws) + 0.5 * math.log((1 - draws) / 2)

    gamma, delta = ratings.advantage / SCALE, ratings.draw_width / SCALE
    top = likelihood(theta, gamma, delta)
    for step in (-0.05, 0.05):
        assert likelihood(theta, gamma + step, delta) < top
        assert likelihood(theta, gamma, delta + step) < top
        for name in theta:
            assert likelihood({**theta, name: theta[name] + step}, gamma, delta) < top


def test_top_is_the_top_third() -> None:
    ratings = rate(league(np.random.default_rng(5), 2_000))
    assert [rating.name for rating in ratings.players if rating.top] == ["Fish", "Oracle"]


def test_what_cannot_be_rated_is_refused() -> None:
    with pytest.raises(ValueError, match="no finished games"):
        rate([("A", "A", True, 3)])
    with pytest.raises(ValueError, match=r"no games connect these 3 groups, .*: A, B; C, D, G; E, F"):
        rate([("A", "B", True, 3), ("C", "D", True, 3), ("F", "E", None, 1), ("D", "G", True, 1)])
    with pytest.raises(ValueError, match="the anchor 'X' has no games"):
        rate([("A", "B", True, 3)], anchor="X")
    with pytest.raises(ValueError, match="prior"):
        rate([("A", "B", True, 3)], prior=0)


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    results = league(np.random.default_rng(6), 10)
    with Archive.create(path) as archive:
        for number, (white, black, winner, count) in enumerate(results):
            for i in range(count):
                record = GameRecord(white, black)
                record.add_turn(i % 64, number + 1)
                record.winner, record.reason = winner, "MOVE_LIMIT" if winner is None else "RESIGN"
                archive.add([NewGame(record, "simulated")])
    for arguments in (
        ("--anchor", "Trout=1000"),
        ("--anchor", "Trout", "--elo", "1000"),
        (path, "--anchor", "Trout=1000"),
    ):
        result = penumbra("rate", path, *arguments)
        lines = result.stdout.splitlines()
        assert len(lines) == len(STRENGTHS) + 2
        assert lines[1].split()[1] == "Fish"
        assert [line.split()[1] for line in lines[1:-1] if line.endswith("*")] == [
            line.split()[1] for line in lines[1:3]
        ]
        assert any(line.split()[1:4] == ["Trout", "1000", "±0"] for line in lines)
        assert f"{sum(result[3] for result in results):,} games" in lines[-1]  # the second time each is known
    data = json.loads(penumbra("rate", path, "--json").stdout)
    assert len(data["players"]) == len(data["superiority"]) == len(STRENGTHS)
    for wrong in ("X", "X=1500", "Trout=high"):
        answer = penumbra("rate", path, "--anchor", wrong)
        assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)


def test_a_game_that_was_made_twice_counts_twice(tmp_path: Path) -> None:
    record = GameRecord("A", "B")
    record.add_turn(1, 0)
    record.winner, record.reason = True, "RESIGN"
    other = GameRecord("B", "A")
    other.winner, other.reason = None, "MOVE_LIMIT"
    for name, numbers in (("few", (0,)), ("more", (0, 1, 2))):
        with Archive.create(tmp_path / name) as archive:
            archive.add([NewGame(record, "x", made=("run", number)) for number in numbers] + [NewGame(other, "x")])
    with Archive.open(tmp_path / "more") as archive:
        assert sorted(archive.results(), key=str) == [("A", "B", True, 3), ("B", "A", None, 1)]
        assert archive.statistics().players == {"A": (1, 1, 0), "B": (0, 1, 1)}  # what is there is there once
    expected = [("A", "B", True, 3), ("B", "A", None, 1)]
    for order in (("few", "more"), ("more", "few")):
        assert sorted(results_of([tmp_path / name for name in order]), key=str) == expected
