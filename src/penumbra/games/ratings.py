"""Ratings: Bradley–Terry with draws and the advantage of the first move, as BayesElo has them.

With ratings θ, an advantage γ and a width of draws δ ≥ 0, all in units of 400 / ln 10 Elo, and d = θ_i − θ_j + γ,

    White i beats Black j with probability  σ(d − δ)
    and loses with probability              σ(−d − δ),

and a draw is the rest, which is (e^(2δ) − 1) σ(d − δ) σ(−d − δ). The log-likelihood of all games is therefore

    Σ (wins + draws) ln σ(d − δ) + (losses + draws) ln σ(−d − δ) + draws ln (e^(2δ) − 1),

which is concave in all parameters together. Where nothing was drawn, δ is 0. The prior is BayesElo's: every player also
has a few virtual games, spread evenly over its opponents and both colours, half of which it won, so that one who won
everything has a finite rating; and δ has one virtual game between equals, half of it drawn. Newton's method finds the
top; the inverse of the Hessian there is the covariance, and gives the 95 % intervals: of the difference to the players'
average or, with an anchor, to the anchor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SCALE = 400 / math.log(10)  # Elo for each unit of θ
AVERAGE = 1500.0  # Elo of the average player, or of the anchor
PRIOR = 2.0  # virtual games of each player
DRAW_PRIOR = 1.0  # virtual games for δ, half of them drawn
Z = 1.959964  # of a 95 % interval
ROUNDS = 100  # of Newton's method; a league of any shape takes fewer than twenty

Floats = NDArray[np.float64]
Result = tuple[str, str, bool | None, int]  # White, Black, who won, how often


@dataclass(frozen=True)
class Rating:
    """One player. Elo, with the half width of its 95 % interval."""

    name: str
    elo: float
    margin: float
    games: int
    points: float
    draws: int
    top: bool  # in the top third: one of those that `Top` stands for

    @property
    def share(self) -> float:
        """Points for each game."""
        return self.points / self.games


@dataclass(frozen=True)
class Ratings:
    """All players, the best first, and what the first move is worth."""

    players: tuple[Rating, ...]
    advantage: float  # Elo of White
    advantage_margin: float
    draw_width: float  # δ in Elo
    games: int
    superiority: tuple[tuple[float, ...], ...]  # [i][j]: how likely player i is better than player j
    deviations: tuple[tuple[float, ...], ...]  # [i][j]: standard deviation of player i's Elo less player j's

    def of(self, name: str) -> Rating:
        return self.players[self._rank(name)]

    def is_better(self, a: str, b: str) -> float:
        """The likelihood that A is better than B."""
        return self.superiority[self._rank(a)][self._rank(b)]

    def deviation(self, a: str, b: str) -> float:
        """The standard deviation of how much Elo A has more than B."""
        return self.deviations[self._rank(a)][self._rank(b)]

    def _rank(self, name: str) -> int:
        return next(i for i, rating in enumerate(self.players) if rating.name == name)


@dataclass(frozen=True)
class _League:
    """Results by pairs: row r is a White and a Black, and how many games White won, lost and drew."""

    names: list[str]
    white: NDArray[np.int64]  # int64[R]
    black: NDArray[np.int64]  # int64[R]
    won: Floats  # float64[R]
    lost: Floats  # float64[R]
    drawn: Floats  # float64[R]


def rate(
    results: Iterable[Result], *, prior: float = PRIOR, anchor: str | None = None, anchor_elo: float = AVERAGE
) -> Ratings:
    """Ratings of everyone in the results; games against oneself say nothing. ValueError if there can be none."""
    league = _gather(results)
    if anchor is not None and anchor not in league.names:
        raise ValueError(f"the anchor {anchor!r} has no games; players are {', '.join(league.names)}")
    if prior <= 0:
        raise ValueError("the prior must be above 0: without it a player who won everything has no rating")
    _check_connected(league)
    x, covariance = _Posterior(league, prior).top()
    n = len(league.names)
    base = np.full(n, 1 / n)
    if anchor is not None:
        base = np.zeros(n)
        base[league.names.index(anchor)] = 1
    relative = np.eye(n) - base  # float64[n, n]: θ to θ less the base
    elo = anchor_elo + SCALE * (relative @ x[:n])
    margins = Z * SCALE * _deviation(np.einsum("ij,jk,ik->i", relative, covariance[:n, :n], relative))
    order = np.argsort(-elo, kind="stable")
    return Ratings(
        _table(league, elo, margins, order),
        SCALE * float(x[n]),
        Z * SCALE * float(_deviation(covariance[n, n])),
        SCALE * float(x[n + 1]),
        int((league.won + league.lost + league.drawn).sum()),
        *_comparisons(x[:n][order], covariance[np.ix_(order, order)]),
    )


def largest_part(results: Iterable[Result]) -> tuple[list[Result], list[str]]:
    """(the results of the part with the most games whose players some games connect, the players outside it)."""
    results = list(results)
    league = _gather(results)
    group = _groups(league)
    games = np.zeros(len(group))
    np.add.at(games, group[league.white], league.won + league.lost + league.drawn)
    inside = {league.names[i] for i in np.flatnonzero(group == games.argmax())}
    return [result for result in results if result[0] in inside], [n for n in league.names if n not in inside]


def parse_anchor(text: str | None, elo: float = AVERAGE) -> tuple[str | None, float]:
    """`NAME=ELO` or `NAME`, whose rating is then `elo`."""
    name, equals, number = (text or "").rpartition("=")
    if not equals:
        return text, elo
    try:
        return name, float(number)
    except ValueError:
        raise ValueError(f"--anchor {text}: {number!r} is not a number; it is NAME=ELO") from None


def _gather(results: Iterable[Result]) -> _League:
    pairs: dict[tuple[str, str], list[float]] = {}
    for white, black, winner, count in results:
        if white != black:
            row = pairs.setdefault((white, black), [0.0, 0.0, 0.0])
            row[2 if winner is None else 0 if winner else 1] += count
    if not pairs:
        raise ValueError("there are no finished games between two players")
    names = sorted({name for pair in pairs for name in pair})
    index = {name: i for i, name in enumerate(names)}
    ordered = sorted(pairs)  # so that the order of the games does not matter, not even to the last bit
    sums = np.array([pairs[pair] for pair in ordered])
    sides = np.array([(index[white], index[black]) for white, black in ordered], np.int64)
    return _League(names, sides[:, 0], sides[:, 1], sums[:, 0], sums[:, 1], sums[:, 2])


def _groups(league: _League) -> NDArray[np.int64]:
    """int64[n]: equal for players whom games connect."""
    group = np.arange(len(league.names))
    for white, black in zip(league.white, league.black, strict=True):
        group[group == group[white]] = group[black]
    return group


def _check_connected(league: _League) -> None:
    group = _groups(league)
    apart = [[league.names[i] for i in np.flatnonzero(group == g)] for g in dict.fromkeys(group.tolist())]
    if len(apart) > 1:
        groups = "; ".join(", ".join(names) for names in apart)
        raise ValueError(f"no games connect these {len(apart)} groups, so they cannot be compared: {groups}")


class _Posterior:
    """The logarithm of the posterior density of x = (θ_1 .. θ_n, γ, δ), as sums of counts times ln σ(row · x)."""

    def __init__(self, league: _League, prior: float) -> None:
        n = len(league.names)
        self._players = n
        self._draws = float(league.drawn.sum())
        white, black, virtual = _virtual_games(league, prior)
        games = _differences(league.white, league.black, n)
        beside = _differences(white, black, n)
        width = np.zeros(n + 2)
        width[n + 1] = 1.0
        equals = DRAW_PRIOR / 2 if self._draws else 0.0  # a game between equals, half of it drawn
        self._rows = np.vstack([games - width, -games - width, beside, -beside, -width])
        self._counts = np.concatenate(
            [league.won + league.drawn, league.lost + league.drawn, virtual / 2, virtual / 2, [3 * equals]]
        )
        self._draws += equals

    def top(self) -> tuple[Floats, Floats]:
        """(x at the top, its covariance). θ sums to 0: only differences count."""
        n = self._players
        level = np.zeros((n + 2, n + 2))
        level[:n, :n] = 1 / n  # fills the one direction in which nothing changes, and is taken out again below
        if not self._draws:
            level[n + 1, n + 1] = 1.0  # δ stays 0
        x = np.zeros(n + 2)
        x[n + 1] = 0.5 if self._draws else 0.0
        value = self._value(x)
        for _ in range(ROUNDS):
            slope, curvature = self._slopes(x)
            step = np.linalg.solve(curvature + level, slope)
            length = 1.0
            while (better := self._value(x + length * step)) < value and length > 1e-9:
                length /= 2
            x, gain, value = x + length * step, better - value, better
            if float(np.abs(length * step).max()) < 1e-10 or gain <= 1e-13 * abs(value):
                break
        return x, np.linalg.inv(self._slopes(x)[1] + level) - level

    def _value(self, x: Floats) -> float:
        delta = float(x[-1])
        if self._draws and delta <= 0:
            return -math.inf
        value = -float(self._counts @ np.logaddexp(0, -(self._rows @ x)))
        return value + (self._draws * (2 * delta + math.log(-math.expm1(-2 * delta))) if self._draws else 0.0)

    def _slopes(self, x: Floats) -> tuple[Floats, Floats]:
        """(the gradient, the Hessian with its sign changed)."""
        p = 1 / (1 + np.exp(-(self._rows @ x)))
        slope = self._rows.T @ (self._counts * (1 - p))
        curvature = self._rows.T @ (self._rows * (self._counts * p * (1 - p))[:, None])
        if self._draws:
            shrink = -math.expm1(-2 * float(x[-1]))  # 1 − e^(−2δ)
            slope[-1] += self._draws * 2 / shrink
            curvature[-1, -1] += self._draws * 4 * (1 - shrink) / shrink**2
        else:
            slope[-1] = 0.0
            curvature[-1, :] = curvature[:, -1] = 0.0
        return slope, curvature


def _differences(white: NDArray[np.int64], black: NDArray[np.int64], n: int) -> Floats:
    """float64[R, n + 2]: the row of each pair whose product with x is d = θ_i − θ_j + γ."""
    rows = np.zeros((len(white), n + 2))
    each = np.arange(len(white))
    rows[each, white] = 1
    rows[each, black] = -1
    rows[:, n] = 1
    return rows


def _virtual_games(league: _League, prior: float) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """(Whites, Blacks, games) of the prior."""
    opponents: dict[int, dict[int, None]] = {}
    for white, black in zip(league.white.tolist(), league.black.tolist(), strict=True):
        opponents.setdefault(white, {})[black] = None
        opponents.setdefault(black, {})[white] = None
    rows = [
        (side, prior / len(others) / 2)
        for player, others in opponents.items()
        for other in others
        for side in ((player, other), (other, player))
    ]
    sides = np.array([side for side, _ in rows], np.int64)
    return sides[:, 0], sides[:, 1], np.array([share for _, share in rows])


def _deviation(variance: Floats | float) -> Floats:
    return np.sqrt(np.maximum(variance, 0))


_Square = tuple[tuple[float, ...], ...]


def _comparisons(theta: Floats, covariance: Floats) -> tuple[_Square, _Square]:
    """(Φ of each difference in units of its deviation, a half where nothing is known; the deviations in Elo)."""
    spread = np.diag(covariance)
    deviation = _deviation(spread[:, None] + spread - 2 * covariance)
    difference = theta[:, None] - theta
    z = np.divide(difference, deviation, out=np.zeros_like(difference), where=deviation > 1e-12)
    better = tuple(tuple(0.5 * math.erfc(-value / math.sqrt(2)) for value in row) for row in z.tolist())
    return better, tuple(map(tuple, (SCALE * deviation).tolist()))


def _table(league: _League, elo: Floats, margins: Floats, order: NDArray[np.int64]) -> tuple[Rating, ...]:
    n = len(league.names)
    games, points, draws = np.zeros(n), np.zeros(n), np.zeros(n)
    for side, won in ((league.white, league.won), (league.black, league.lost)):
        np.add.at(games, side, league.won + league.lost + league.drawn)
        np.add.at(points, side, won + league.drawn / 2)
        np.add.at(draws, side, league.drawn)
    third = math.ceil(n / 3)
    return tuple(
        Rating(
            league.names[i],
            float(elo[i]),
            float(margins[i]),
            int(games[i]),
            float(points[i]),
            int(draws[i]),
            rank < third,
        )
        for rank, i in enumerate(order.tolist())
    )
