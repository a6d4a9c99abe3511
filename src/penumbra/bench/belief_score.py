"""How much a belief says about the true state, at one decision.

    X_t   the states that the player holds possible, the true one among them
    J     a particle: an information state of the opponent. It and X_t have exactly one state in common, the one it
          stands for, because the own pieces of both players are a whole state

The belief's distribution over X_t is the histogram of the states that its particles stand for. It is mixed with
`MIXED` of the uniform distribution over X_t, so that a truth that no particle stands for costs a finite amount, and
compared with the uniform distribution itself. Losses are in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from penumbra.core import Infostates
from penumbra.rbc.domain import Situation

MIXED = 0.01  # the share of the uniform distribution in every belief
CONTENTS = slice(18, 25)  # planes: no opposing piece, or which kind; of one state, what is definite is what is there

Marginals = npt.NDArray[np.float64]  # float64[64, 7]: nothing of the opponent's, then P N B R Q K
P = TypeVar("P", float, Marginals)


@dataclass(frozen=True)
class Score:
    """One distribution over X_t beside the truth."""

    squares: float  # log loss of what stands on each square under the marginals, summed over the board
    state: float  # log loss of the true state: -ln of its probability
    rank: float  # of the true state by probability, from 1; the mean of the ranks that equal ones share

    @property
    def probability(self) -> float:
        return math.exp(-self.state)


@dataclass(frozen=True)
class Comparison:
    """A belief beside the uniform distribution over the same set."""

    belief: Score
    uniform: Score
    states: int  # |X_t|
    particles: int
    distinct: int  # states that some particle stands for
    missing: bool  # no particle stands for the true state


def compare(x: Situation, particles: Infostates, truth: str) -> Comparison:
    """Scores these particles at `x`, where the true state is `truth` (FEN), a member of the set."""
    if truth not in x.states:
        raise ValueError(f"the true state is not among those held possible: {truth}")
    size = len(x.states)
    stands = Infostates.draw(x.states, len(particles), x.kind, 1, x.context, 0, False, particles)
    keys, first, counts = np.unique(stands.keys(), return_index=True, return_counts=True)
    there = Infostates.from_fens([[truth]], x.states.owner, x.kind, 1)
    found = int(counts[keys == there.keys()[0]].sum())  # particles that stand for the truth

    true = contents(there)[0]  # float64[64, 7], one 1 for each square
    uniform = uniform_marginals(x)
    shares = np.tensordot(counts / len(particles), contents(stands.take(first)), axes=1)
    share = found / len(particles)
    return Comparison(
        Score(squares_loss(mixed(shares, uniform), true), -math.log(mixed(share, 1 / size)), rank(counts, found, size)),
        Score(squares_loss(uniform, true), math.log(size), (size + 1) / 2),
        size,
        len(particles),
        len(keys),
        not found,
    )


def mixed(belief: P, uniform: P) -> P:
    return (1 - MIXED) * belief + MIXED * uniform


def contents(batch: Infostates) -> Marginals:
    """float64[B, 64, 7]: what stands on each viewer square, for rows of one state each."""
    planes = np.ascontiguousarray(batch.synopsis()[:, CONTENTS]).astype("<u8")
    bits = np.unpackbits(planes.view(np.uint8).reshape(len(batch), 7, 8), axis=2, bitorder="little")  # [B, 7, 64]
    return np.asarray(bits.transpose(0, 2, 1), np.float64)


def uniform_marginals(x: Situation) -> Marginals:
    """Every state of the set as likely as any other."""
    opposing = x.states.marginals()[:, 7:] / len(x.states)
    return np.column_stack([1 - opposing.sum(axis=1), opposing])


def squares_loss(marginals: Marginals, true: Marginals) -> float:
    return float(-np.log((marginals * true).sum(axis=1)).sum())


def rank(counts: npt.NDArray[np.int64], found: int, size: int) -> float:
    """Of a state for which `found` particles stand, among all `size` states; `counts` are those of the others too."""
    above = int((counts > found).sum())
    equal = int((counts == found).sum()) if found else size - len(counts)
    return above + (equal + 1) / 2
