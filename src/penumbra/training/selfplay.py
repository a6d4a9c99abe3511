"""Games of bare networks by the thousand, which `penumbra selfplay` plays.

A network player needs no search to make a move, so many games advance together: each step one synopsis for each game,
one batch of inference, and one action drawn from a headset's policy for each. Game i is between two headsets at two
temperatures, drawn by the seed and i. Players are named after their headsets, as "NetworkTop".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penumbra.core import GameBatch
from penumbra.dsmcp.domain import Evaluator, Legal
from penumbra.games.archive import Archive, NewGame
from penumbra.rbc.synopsis import synopsis_read_by_all

SOURCE = "selfplay"
NAME = "Network"
WRITE_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class SelfPlay:
    """What is to be played."""

    games: int = 1000
    at_once: int = 1024
    headsets: tuple[str, ...] = ("Top",)
    temperatures: tuple[float, ...] = (1.0,)
    cap: int = 1000  # states tracked by each player
    ell: int = 128
    ply_limit: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.headsets or not self.temperatures or min(self.temperatures) < 0:
            raise ValueError("self-play needs headsets, and temperatures from 0")

    def sides(self, number: int) -> tuple[tuple[str, float], tuple[str, float]]:
        """(headset, temperature) of White and of Black in a game."""
        rng = np.random.default_rng((self.seed, number))
        white, black = (
            (self.headsets[rng.integers(len(self.headsets))], self.temperatures[rng.integers(len(self.temperatures))])
            for _ in range(2)
        )
        return white, black


def play(
    plan: SelfPlay,
    evaluators: Callable[[str], Evaluator],
    archive: Archive,
    report: Callable[[int, int], None] = lambda games, steps: None,
) -> int:
    """Plays all games into the archive; `report(games, steps)` after each step. How many steps were taken."""
    synopsis = synopsis_read_by_all(*map(evaluators, plan.headsets))
    batch = GameBatch(plan.games, plan.at_once, plan.ell, plan.cap, plan.seed, plan.ply_limit, synopsis=synopsis)
    rng = np.random.default_rng(plan.seed)
    cast: dict[int, tuple[tuple[str, float], tuple[str, float]]] = {}
    ended: list[NewGame] = []  # not yet in the archive
    steps = done = 0
    written = time.monotonic()
    try:
        while len(batch):
            numbers, players = batch.numbers(), batch.players()
            cast |= {number: plan.sides(number) for number in numbers.tolist() if number not in cast}
            sides = [cast[number][0 if white else 1] for number, white in zip(numbers.tolist(), players, strict=True)]
            batch.act(choose(batch, sides, evaluators, rng))
            steps += len(sides)
            for number, record in batch.take_finished():
                record.white_name, record.black_name = (NAME + headset for headset, _ in cast.pop(number))
                ended.append(NewGame(record, SOURCE, made=(str(plan), number)))
                done += 1
            if time.monotonic() - written >= WRITE_EVERY:
                archive.add(ended)
                ended, written = [], time.monotonic()
            report(done, steps)
    finally:
        archive.add(ended)
    return steps


def choose(
    batch: GameBatch,
    sides: Sequence[tuple[str, float]],
    evaluators: Callable[[str], Evaluator],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """An action for each row, drawn from the policy of its headset at its temperature."""
    features, legal = batch.synopsis(), Legal(*batch.legal())
    chosen = np.empty(len(sides), np.int32)
    names = np.array([headset for headset, _ in sides])
    temperatures = np.array([temperature for _, temperature in sides])
    for headset in dict.fromkeys(names.tolist()):
        rows = np.flatnonzero(names == headset)
        some = _rows_of(legal, rows)
        priors, _ = evaluators(headset).evaluate(features[rows], some, False)
        chosen[rows] = draw(priors, some, temperatures[rows], rng)
    return chosen


def draw(
    priors: NDArray[np.float32], legal: Legal, temperatures: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """One legal action a row, with probability ∝ prior^(1 / temperature); at temperature 0 the likeliest.

    The largest of log prior / temperature plus Gumbel noise has just that distribution.
    """
    counts = np.diff(legal.offsets)
    each = np.repeat(temperatures, counts)
    noise = rng.gumbel(size=len(priors))
    with np.errstate(divide="ignore"):
        scores = np.log(priors.astype(np.float64)) + each * noise
    best = np.maximum.reduceat(scores, legal.offsets[:-1])
    is_best = np.flatnonzero(scores == np.repeat(best, counts))
    rows = np.repeat(np.arange(len(counts)), counts)[is_best]
    _, first = np.unique(rows, return_index=True)
    return legal.actions[is_best[first]]


def _rows_of(legal: Legal, rows: NDArray[np.int64]) -> Legal:
    counts = np.diff(legal.offsets)[rows]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    return Legal(legal.actions[np.repeat(legal.offsets[rows], counts) + within], offsets)


def network_policies(weights: str | None, device: str) -> Callable[[str], Evaluator]:
    """Evaluators with the policy of a headset, from the shipped weights or others."""
    from penumbra.network.loading import policy_evaluator

    return lambda headset: policy_evaluator(weights, device, headset)
