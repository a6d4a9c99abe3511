"""Exact values of phantom tic-tac-toe against an opponent whose policy is fixed, from -1 to 1, by enumeration.

Notation. The player has marked the cells M and found the cells D taken. A mask s stands for everything the opponent
has tried: of its cells, those in M it has learnt and those outside M it has marked, so M and s make a world state. An
attempt of the opponent on cell c always turns s into s | c, and an attempt of the player leaves s alone; thus after n
turns of the opponent s has n cells, and what the player holds possible is a weight for each of the C(9, n) masks.

    w[s]   probability that the game comes this way, over the opponent's choices, along the player's own history

Weights are not normalised, so the value of a history is a plain sum over what may follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from examples.phantom_tic_tac_toe.domain import CELLS, FULL, Side, cells, has_line
from examples.phantom_tic_tac_toe.evaluators import Policy

Weights = npt.NDArray[np.float64]
Masks = npt.NDArray[np.int64]
History = tuple[tuple[int, bool], ...]  # the player's attempts so far: the cell, and whether it was free
CHUNK = 512  # nodes of one layer that are worked on together

LINE = np.array([has_line(marks) for marks in range(FULL + 1)])  # [512]


@cache
def masks(n: int) -> Masks:
    """The C(9, n) masks of n cells, in order."""
    return np.array([mask for mask in range(FULL + 1) if mask.bit_count() == n])


@cache
def places(n: int) -> Masks:
    """[512] where each mask of n cells stands in `masks(n)`."""
    where = np.zeros(FULL + 1, np.int64)
    where[masks(n)] = np.arange(len(masks(n)))
    return where


class Nodes(NamedTuple):
    """Histories of the player with equally many turns on both sides."""

    marks: Masks  # [B] M
    learnt: Masks  # [B] D
    weights: Weights  # [B, C(9, n)]

    def take(self, rows: npt.NDArray[np.int64] | slice) -> Nodes:
        return Nodes(self.marks[rows], self.learnt[rows], self.weights[rows])


class Opponent:
    """The opponent's policy as arrays, and what it does to weights."""

    def __init__(self, policy: Policy) -> None:
        by_side = np.zeros((FULL + 1, FULL + 1, CELLS))  # [marks, learnt, c]
        for marks, learnt in np.ndindex(FULL + 1, FULL + 1):
            if not marks & learnt and marks | learnt != FULL:
                by_side[marks, learnt] = policy(Side(marks, learnt))
        own, s, cell = np.meshgrid(np.arange(FULL + 1), np.arange(FULL + 1), np.arange(CELLS), indexing="ij")
        chance = by_side[s & ~own, s & own, cell]  # [M, s, c]
        tried = s | 1 << cell
        won = ((own >> cell & 1) == 0) & LINE[tried & ~own]
        over = won | (tried | own == FULL)
        going_on = np.where(over, 0, chance).transpose(0, 2, 1)  # [M, c, s] chance of an attempt that ends nothing
        winning = np.where(won, chance, 0).sum(axis=2)  # [M, s] chance that the opponent ends a line
        self.going_on = [np.ascontiguousarray(going_on[:, :, masks(n)]) for n in range(CELLS)]  # by turn
        self.winning = [np.ascontiguousarray(winning[:, masks(n)]) for n in range(CELLS)]

    def act(self, nodes: Nodes, n: int) -> tuple[Nodes, Weights]:
        """The nodes after the opponent's turn n, and the player's value of the games that it ended."""
        s, after = masks(n), places(n + 1)
        going_on = self.going_on[n][nodes.marks]  # [B, c, s]
        weights = np.zeros((len(nodes.marks), len(masks(n + 1))))
        for cell in range(CELLS):
            columns = np.flatnonzero((s >> cell & 1) == 0)
            weights[:, after[s[columns] | 1 << cell]] += (nodes.weights * going_on[:, cell])[:, columns]
        values = -(nodes.weights * self.winning[n][nodes.marks]).sum(axis=1)
        return Nodes(nodes.marks, nodes.learnt, weights), values


@cache
def prepared(policy: Policy) -> Opponent:
    return Opponent(policy)


def attempt(nodes: Nodes, cell: int, n: int) -> tuple[Nodes, Nodes, Weights]:
    """Nodes after the player tries a cell that is free, after one that is taken, and the value of the games it ended.

    Only the games that go on have weight.
    """
    s, bit = masks(n), 1 << cell
    taken = (s & bit) != 0
    marks = nodes.marks | bit
    free_weights = np.where(taken, 0, nodes.weights)
    won = LINE[marks]
    values = np.where(won, free_weights.sum(axis=1), 0)
    full = (s | marks[:, None]) == FULL  # cells of s outside M are marked
    free = Nodes(marks, nodes.learnt, np.where(won[:, None] | full, 0, free_weights))
    return free, Nodes(nodes.marks, nodes.learnt | bit, np.where(taken, nodes.weights, 0)), values


def first_nodes() -> Nodes:
    return Nodes(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones((1, 1)))


# -- best responses


def best_response(policy: Policy, player: int, symmetric: bool = False) -> float:
    """The value of the best play against this policy; `player` 0 moves first.

    `symmetric`: the policy does not care about turns and reflections of the board, so one corner is as good as another.
    """
    opponent, nodes = prepared(policy), first_nodes()
    if player == 1:
        nodes, _ = opponent.act(nodes, 0)
    return float(best_values(opponent, nodes, player, (0, 1, 4) if symmetric else range(CELLS))[0])


def best_values(opponent: Opponent, nodes: Nodes, n: int, among: Sequence[int] = range(CELLS)) -> Weights:
    """[B] the value of each node, where the player is to act and the opponent has acted n times."""
    best = np.empty(len(nodes.marks))
    for first in range(0, len(best), CHUNK):
        chunk = nodes.take(slice(first, first + CHUNK))
        values = np.full((len(chunk.marks), CELLS), -np.inf)
        children, rows, columns = [], [], []  # nodes after each attempt, and whose value each of them adds to
        for cell in among:
            allowed = np.flatnonzero(((chunk.marks | chunk.learnt) >> cell & 1) == 0)
            free, failed, ended = attempt(chunk.take(allowed), cell, n)
            values[allowed, cell] = ended
            children += [free, failed]
            rows += [allowed, allowed]
            columns += [np.full(2 * len(allowed), cell)]
        after = joined(children)
        where = np.concatenate(rows), np.concatenate(columns)
        np.add.at(values, where, values_after(opponent, after, n))
        best[first : first + CHUNK] = values.max(axis=1)
    return best


def values_after(opponent: Opponent, nodes: Nodes, n: int) -> Weights:
    """[B] the value of each node, where the opponent is to act."""
    values = np.zeros(len(nodes.marks))
    going_on = np.flatnonzero(nodes.weights.any(axis=1))
    if len(going_on):
        moved, values[going_on] = opponent.act(nodes.take(going_on), n)
        alive = np.flatnonzero(moved.weights.any(axis=1))
        if len(alive):
            values[going_on[alive]] += best_values(opponent, moved.take(alive), n + 1)
    return values


def joined(parts: list[Nodes]) -> Nodes:
    return Nodes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


# -- given players


def policy_value(ours: Policy, policy: Policy, player: int) -> float:
    """The value of a player whose policy, like the opponent's, depends on its own side alone."""
    opponent, nodes, total = prepared(policy), first_nodes(), 0.0
    n = 0
    if player == 1:
        nodes, ended = opponent.act(nodes, 0)
        total += float(ended.sum())
        n = 1
    while len(nodes.marks):
        chances = np.stack([ours(Side(int(m), int(d))) for m, d in zip(nodes.marks, nodes.learnt, strict=True)])
        parts = []
        for cell in range(CELLS):
            rows = np.flatnonzero(chances[:, cell] > 0)
            part = nodes.take(rows)
            weighted = part._replace(weights=part.weights * chances[rows, cell, None])
            free, failed, values = attempt(weighted, cell, n)
            total += float(values.sum())
            parts += [free, failed]
        nodes, ended = opponent.act(merged(parts), n)
        total += float(ended.sum())
        nodes = nodes.take(np.flatnonzero(nodes.weights.any(axis=1)))
        n += 1
    return total


def merged(parts: list[Nodes]) -> Nodes:
    """Nodes with equal sides as one, for players who forget the order of events."""
    marks, learnt, weights = joined(parts)
    sides, where = np.unique(marks << CELLS | learnt, return_inverse=True)
    order = np.argsort(where, kind="stable")
    firsts = np.searchsorted(where[order], np.arange(len(sides)))
    return Nodes(sides >> CELLS, sides & FULL, np.add.reduceat(weights[order], firsts))


def play_value(
    choose: Callable[[History], int], policy: Policy, player: int, cutoff: float = 0.0
) -> tuple[float, float]:
    """The value of a deterministic player, who answers each history with one cell, and how much it may be wrong.

    Every course that the game can take is followed, but for those less likely than `cutoff`, which count as drawn.
    """
    opponent, nodes = prepared(policy), first_nodes()
    if player == 1:
        nodes, _ = opponent.act(nodes, 0)

    def value(nodes: Nodes, history: History, n: int) -> tuple[float, float]:
        weight = float(nodes.weights.sum())
        if weight <= cutoff:
            return 0.0, weight
        cell = choose(history)
        if cell not in cells(FULL & ~int(nodes.marks[0] | nodes.learnt[0])):
            raise ValueError(f"cell {cell} cannot be tried after {history}")
        free, failed, values = attempt(nodes, cell, n)
        total, doubt = float(values.sum()), 0.0
        for after, placed in ((free, True), (failed, False)):
            moved, ended = opponent.act(after, n)
            more, unsure = value(moved, (*history, (cell, placed)), n + 1)
            total, doubt = total + float(ended.sum()) + more, doubt + unsure
        return total, doubt

    return value(nodes, (), player)
