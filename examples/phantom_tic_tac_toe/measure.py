"""What DSMCP's play at phantom tic-tac-toe is worth, beside the best response and the evaluator's bare policy.

A seeded player with a budget of evaluations is deterministic, so the value of its play is exact for each seed (but for
courses of the game less likely than `CUTOFF`); the interval is over seeds. Both seats count equally.

    python -m examples.phantom_tic_tac_toe.measure budgets            # values by budget; --only names other set-ups
    python -m examples.phantom_tic_tac_toe.measure gap                # one change at a time: where is the rest lost?
    python -m examples.phantom_tic_tac_toe.measure best-responses     # the exact values, by enumeration: some minutes
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from unittest import mock

import numpy as np
import numpy.typing as npt

from examples.phantom_tic_tac_toe.domain import Batch, PhantomTicTacToe, Situation
from examples.phantom_tic_tac_toe.evaluators import (
    KnownOpponent,
    LineEvaluator,
    Policy,
    UniformEvaluator,
    evaluator_policy,
)
from examples.phantom_tic_tac_toe.exact import best_response, play_value, policy_value
from examples.phantom_tic_tac_toe.opponents import OPPONENTS
from examples.phantom_tic_tac_toe.player import SETTINGS, Answers
from penumbra.core import Paths
from penumbra.dsmcp import Domain, Evaluator, Settings, agent, playouts
from penumbra.dsmcp.domain import Floats, Ints, Keys, Rows

CUTOFF = 5e-3
BUDGETS = (128, 512, 2048)

# By `best-responses`, for the first and the second seat.
BEST_RESPONSES: Final[Mapping[str, tuple[float, float]]] = {
    "uniform": (0.84714, 0.39153),
    "greedy": (0.96378, 0.26285),
    "in order": (0.99673, 0.95669),
}

BEST_VALUES: Final[Mapping[str, float]] = {opponent: sum(seats) / 2 for opponent, seats in BEST_RESPONSES.items()}
# Student's distribution: how many standard errors from the mean the 95 % interval of n samples ends, from n = 2 on.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201)

Values = npt.NDArray[np.float64]  # [seeds, budgets]


class Estimate(NamedTuple):
    """A mean and half of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.half:.3f}"

    @staticmethod
    def of(samples: Sequence[float] | npt.NDArray[np.float64]) -> Estimate:
        n = len(samples)
        if n < 2:
            return Estimate(float(np.mean(samples)), float("nan"))
        errors = STUDENT[min(n - 2, len(STUDENT) - 1)]
        return Estimate(float(np.mean(samples)), errors * float(np.std(samples, ddof=1)) / n**0.5)


@dataclass(frozen=True)
class Setup:
    """How a player is made: for one opponent, so that its policy can be told to it."""

    evaluator: Callable[[Policy], Evaluator]
    settings: Settings = SETTINGS
    domain: Callable[[], Domain[Situation, Batch]] = PhantomTicTacToe
    patch: Callable[[], AbstractContextManager[object]] = field(default=nullcontext)

    def value(self, policy: Policy, nodes: int, seed: int, cutoff: float = CUTOFF) -> float:
        """Of both seats, on average."""
        with self.patch():
            settings, evaluator = self.settings.replace(seed=seed), self.evaluator(policy)
            answers = [Answers(player, evaluator, nodes, settings, self.domain) for player in (0, 1)]
            return sum(play_value(answer, policy, player, cutoff)[0] for player, answer in enumerate(answers)) / 2

    def values(self, policy: Policy, nodes: int, seeds: range) -> Estimate:
        return Estimate.of([self.value(policy, nodes, seed) for seed in seeds])


def bare_value(evaluator: Evaluator, policy: Policy) -> float:
    return sum(policy_value(evaluator_policy(evaluator), policy, player) for player in (0, 1)) / 2


# -- experiments on the gap


class NeverTheSame(PhantomTicTacToe):
    """The opponent's information states are all different nodes: it always acts by τ̂ and never searches against us."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.player: int | None = None

    def root(self, x: Situation, static_analysis: bool) -> tuple[npt.NDArray[np.int32], int | None]:
        self.player = x.player
        return super().root(x, static_analysis)

    def keys(self, batch: Batch, with_context: bool) -> Keys:
        if not batch.rows or batch.rows[0].player == self.player:
            return super().keys(batch, with_context)
        return np.array([hash((-2, next(self.numbers))) & 0xFFFF_FFFF_FFFF_FFFF for _ in batch.rows], np.uint64)


@contextmanager
def only_the_end_counts() -> Iterator[None]:
    """A playout adds the value of its last node alone; the paper adds that of every node on the way."""

    class LastValues(Paths):
        t = -1

        def append(self, rows: Rows, keys: Keys, actions: Ints, ours: bool) -> None:
            self.t += 1
            super().append(rows, keys, actions, ours)

        def credit(self, rows: Rows, q: Floats, ours: bool, weights: npt.NDArray[np.float64]) -> None:
            ended = (weights > 1) | (self.t + 1 >= LONG.d[0])
            super().credit(rows, q, ours, ended.astype(np.float64))

    with mock.patch.object(playouts, "Paths", LastValues):
        yield


@contextmanager
def known_to_the_belief_alone() -> Iterator[None]:
    """Playouts do without what the evaluator knows of the opponent."""
    make = playouts.Search

    def search(domain: Domain[Situation, Batch], _: Evaluator, *rest: Any) -> playouts.Search[Situation, Batch]:
        return make(domain, UniformEvaluator(), *rest)

    with mock.patch.object(agent, "Search", search):
        yield


def informed(policy: Policy) -> Evaluator:
    return KnownOpponent(UniformEvaluator(), policy)


def uninformed(policy: Policy) -> Evaluator:
    return UniformEvaluator()


def knows_lines(policy: Policy) -> Evaluator:
    return LineEvaluator()


LONG = SETTINGS.replace(d=(18,))
EXPERIMENTS: Final[Mapping[str, Setup]] = {
    "as it is": Setup(uninformed),
    "evaluator that knows lines": Setup(knows_lines),
    "choice = mean": Setup(uninformed, SETTINGS.replace(choice="mean")),
    "weigh_ended off": Setup(uninformed, SETTINGS.replace(weigh_ended=False)),
    "d = 18, the whole game": Setup(uninformed, LONG),
    "d = 18, only the end counts": Setup(uninformed, LONG, patch=only_the_end_counts),
    "m = 0, no tree": Setup(uninformed, SETTINGS.replace(m=0.0)),
    "m = inf": Setup(uninformed, SETTINGS.replace(m=float("inf"))),
    "c = 0.5": Setup(uninformed, SETTINGS.replace(c=0.5)),
    "512 particles": Setup(uninformed, SETTINGS.replace(n_particles=512)),
    "tau known to the belief alone": Setup(informed, patch=known_to_the_belief_alone),
    "tau known": Setup(informed),
    "tau known, opponent never searches": Setup(informed, SETTINGS, NeverTheSame),
    "the same, d = 18, only the end counts": Setup(informed, LONG, NeverTheSame, only_the_end_counts),
}


# -- tables


def print_budgets(seeds: range, names: Sequence[str]) -> None:
    for name in names or ["as it is"]:
        print(f"\n{name}\n")
        setup = EXPERIMENTS[name]
        values = {
            opponent: np.array([[setup.value(policy, nodes, seed) for nodes in BUDGETS] for seed in seeds])
            for opponent, policy in OPPONENTS.items()
        }
        bare = {opponent: bare_value(setup.evaluator(policy), policy) for opponent, policy in OPPONENTS.items()}
        print_table(BUDGETS, bare, values)


def print_table(budgets: Sequence[int], bare: Mapping[str, float], values: Mapping[str, Values]) -> None:
    """Values by opponent, seed and budget, as a table with intervals over seeds; last of all opponents on average. The
    gain is that of the largest budget over the smallest, seed by seed."""
    heads = ["opponent", "bare policy", *(f"{nodes} nodes" for nodes in budgets), "best response", "gain"]
    print("|", " | ".join(heads), "|")
    print("|---" * len(heads) + "|")
    for opponent, rows in [*values.items(), ("all", overall(values))]:
        named = [opponent] if opponent in values else [*values]
        lower, upper = (float(np.mean([worth[o] for o in named])) for worth in (bare, BEST_VALUES))
        cells = [f"{lower:+.3f}", *(str(Estimate.of(column)) for column in rows.T), f"{upper:+.3f}"]
        print("|", " | ".join([opponent, *cells, str(Estimate.of(rows[:, -1] - rows[:, 0]))]), "|", flush=True)


def overall(values: Mapping[str, Values]) -> Values:
    """All opponents on average, seed by seed."""
    return np.asarray(np.mean([*values.values()], axis=0))


def print_gap(seeds: range, nodes: int, names: Sequence[str]) -> None:
    print("| change |", " | ".join(OPPONENTS), "|")
    print("|---" * (len(OPPONENTS) + 1) + "|")
    for name in names or EXPERIMENTS:
        values = [str(EXPERIMENTS[name].values(policy, nodes, seeds)) for policy in OPPONENTS.values()]
        print(f"| {name} |", " | ".join(values), "|", flush=True)
    print("| best response |", " | ".join(f"{BEST_VALUES[opponent]:+.3f}" for opponent in OPPONENTS), "|")


def print_best_responses() -> None:
    for name, policy in OPPONENTS.items():
        values = [best_response(policy, player, symmetric=name != "in order") for player in (0, 1)]
        print(f"{name}: {values[0]:.5f} {values[1]:.5f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="What DSMCP's play at phantom tic-tac-toe is worth.")
    parser.add_argument("what", choices=["budgets", "gap", "best-responses"])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--nodes", type=int, default=1024, help="evaluations for each decision, for `gap`")
    parser.add_argument(
        "--only", nargs="*", default=[], choices=[*EXPERIMENTS], metavar="CHANGE", help="these changes alone"
    )
    arguments = parser.parse_args()
    seeds = range(arguments.seeds)
    match arguments.what:
        case "budgets":
            print_budgets(seeds, arguments.only)
        case "gap":
            print_gap(seeds, arguments.nodes, arguments.only)
        case _:
            print_best_responses()


if __name__ == "__main__":
    main()
