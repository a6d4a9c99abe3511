"""A sequential test for matches: games are played until it is clear enough which of two claims holds.

The claims are that A is better than B by `elo0` or by `elo1` Elo. With s̄ the mean score of N games, v the variance of a
score, and s₀, s₁ the scores that the claims expect, the logarithm of the likelihood ratio of the second claim to the
first is nearly

    N (s₁ − s₀) (2 s̄ − s₀ − s₁) / (2 v).

Past ln((1 − β)/α) the second holds, below ln(β/(1 − α)) the first; α and β bound how often either is wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penumbra.games.ratings import SCALE

SMOOTH = 0.5  # games added to the wins, draws and losses, so that the variance is never 0


@dataclass(frozen=True)
class Sprt:
    elo0: float = 0.0
    elo1: float = 30.0
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(f"the test needs two claims: elo1 = {self.elo1:g} is not above elo0 = {self.elo0:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def log_ratio(self, wins: int, draws: int, losses: int) -> float:
        """Of the likelihoods, by A's games."""
        w, d, n = wins + SMOOTH, draws + SMOOTH, wins + draws + losses + 3 * SMOOTH
        mean = (w + d / 2) / n
        variance = (w + d / 4) / n - mean**2
        s0, s1 = (1 / (1 + math.exp(-elo / SCALE)) for elo in (self.elo0, self.elo1))
        return n * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)

    def verdict(self, wins: int, draws: int, losses: int) -> float | None:
        """The Elo of the claim that holds; None: not yet clear."""
        ratio, (low, high) = self.log_ratio(wins, draws, losses), self.bounds
        return self.elo1 if ratio >= high else self.elo0 if ratio <= low else None

    def line(self, wins: int, draws: int, losses: int) -> str:
        """`sequential test of 0 against 30 Elo: 30 holds (log-likelihood ratio 2.96 of -2.94 to 2.94)`."""
        ratio, (low, high) = self.log_ratio(wins, draws, losses), self.bounds
        verdict = self.verdict(wins, draws, losses)
        said = "not yet clear" if verdict is None else f"{verdict:g} holds"
        return (
            f"sequential test of {self.elo0:g} against {self.elo1:g} Elo: {said} "
            f"(log-likelihood ratio {ratio:.2f} of {low:.2f} to {high:.2f})"
        )
