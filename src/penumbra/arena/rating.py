"""Ratings: Bradley–Terry with draws and the advantage of the first move.

With ratings θ and an advantage γ, both in units of 400 / ln 10 Elo, White i takes a point from Black j with probability
σ(θ_i − θ_j + γ); a draw is half a point to each. As in BayesElo every player also has a few virtual draws, spread
evenly over its opponents and both colours, so that one who won everything has a finite rating. The log-likelihood is
concave; Newton's method finds its top, and the inverse of the Hessian there gives the 95 % intervals: of the difference
to the players' average or, with an anchor, to the anchor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SCALE = 400 / math.log(10)  # Elo for each unit of θ
AVERAGE = 1500.0  # Elo of the average player, or of the anchor
PRIOR = 2.0  # virtual draws of each player
Z = 1.959964  # of a 95 % interval

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
    games: int

    def of(self, name: str) -> Rating:
        return next(rating for rating in self.players if rating.name == name)


@dataclass(frozen=True)
class _League:
    """Results by pairs: row r is a White and a Black, their games, and White's points."""

    names: list[str]
    white: NDArray[np.int64]  # int64[R]
    black: NDArray[np.int64]  # int64[R]
    games: Floats  # float64[R]
    points: Floats  # float64[R]
    draws: Floats  # float64[R]


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
    theta, covariance = _fit(_with_prior(league, prior))
    n = len(league.names)
    if anchor is None:
        base = np.full(n, 1 / n)
    else:
        base = np.zeros(n)
        base[league.names.index(anchor)] = 1
    relative = np.hstack([np.eye(n) - base, np.zeros((n, 1))])  # float64[n, n + 1]: θ and γ to θ less the base
    elo = anchor_elo + SCALE * (relative @ theta)
    variance = np.einsum("ij,jk,ik->i", relative, covariance, relative)
    margins = Z * SCALE * np.sqrt(np.maximum(variance, 0))
    return Ratings(
        _table(league, elo, margins),
        SCALE * float(theta[n]),
        Z * SCALE * math.sqrt(max(0.0, float(covariance[n, n]))),
        int(league.games.sum()),
    )


def _gather(results: Iterable[Result]) -> _League:
    pairs: dict[tuple[str, str], list[float]] = {}
    for white, black, winner, count in results:
        if white != black:
            row = pairs.setdefault((white, black), [0.0, 0.0, 0.0])
            row[0] += count
            row[1] += count * (0.5 if winner is None else float(winner))
            row[2] += count * (winner is None)
    if not pairs:
        raise ValueError("there are no finished games between two players")
    names = sorted({name for pair in pairs for name in pair})
    index = {name: i for i, name in enumerate(names)}
    sums = np.array(list(pairs.values()))
    sides = np.array([(index[white], index[black]) for white, black in pairs], np.int64)
    return _League(names, sides[:, 0], sides[:, 1], sums[:, 0], sums[:, 1], sums[:, 2])


def _check_connected(league: _League) -> None:
    group = np.arange(len(league.names))
    for white, black in zip(league.white, league.black, strict=True):
        group[group == group[white]] = group[black]
    if len(set(group)) > 1:
        apart = [name for name, g in zip(league.names, group, strict=True) if g == group[0]]
        raise ValueError(f"no games connect {', '.join(apart)} with the other players, so they cannot be compared")


def _with_prior(league: _League, prior: float) -> _League:
    """The league with each player's virtual draws."""
    opponents: dict[int, set[int]] = {}
    for white, black in zip(league.white.tolist(), league.black.tolist(), strict=True):
        opponents.setdefault(white, set()).add(black)
        opponents.setdefault(black, set()).add(white)
    rows = [
        (side, prior / len(others) / 2)
        for player, others in opponents.items()
        for other in others
        for side in ((player, other), (other, player))
    ]
    sides = np.array([side for side, _ in rows], np.int64)
    games = np.array([share for _, share in rows])
    return _League(
        league.names,
        np.concatenate([league.white, sides[:, 0]]),
        np.concatenate([league.black, sides[:, 1]]),
        np.concatenate([league.games, games]),
        np.concatenate([league.points, games / 2]),
        np.concatenate([league.draws, games]),
    )


def _fit(league: _League) -> tuple[Floats, Floats]:
    """(θ and γ at the top, float64[n + 1]; their covariance). θ sums to 0: only differences count."""
    n = len(league.names)
    rows = np.arange(len(league.games))
    design = np.zeros((len(rows), n + 1))
    design[rows, league.white] = 1
    design[rows, league.black] = -1
    design[:, n] = 1
    level = np.zeros((n + 1, n + 1))
    level[:n, :n] = 1 / n  # fills the one direction in which nothing changes, and is taken out of the covariance again
    x = np.zeros(n + 1)
    value = _log_likelihood(design @ x, league)
    while True:
        p = _expected(design @ x)
        gradient = design.T @ (league.points - league.games * p)
        hessian = design.T @ (design * (league.games * p * (1 - p))[:, None])
        step = np.linalg.solve(hessian + level, gradient)
        length = 1.0
        while (better := _log_likelihood(design @ (x + length * step), league)) < value and length > 1e-9:
            length /= 2
        x, gain, value = x + length * step, better - value, better
        if float(np.abs(length * step).max()) < 1e-10 or gain <= 1e-12 * abs(value):
            return x, np.linalg.inv(hessian + level) - level


def _expected(difference: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-difference)))


def _log_likelihood(difference: Floats, league: _League) -> float:
    lost = league.games - league.points
    return -float(league.points @ np.logaddexp(0, -difference) + lost @ np.logaddexp(0, difference))


def _table(league: _League, elo: Floats, margins: Floats) -> tuple[Rating, ...]:
    n = len(league.names)
    games, points, draws = np.zeros(n), np.zeros(n), np.zeros(n)
    for side, won in ((league.white, league.points), (league.black, league.games - league.points)):
        np.add.at(games, side, league.games)
        np.add.at(points, side, won)
        np.add.at(draws, side, league.draws)
    order = np.argsort(-elo, kind="stable")
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
