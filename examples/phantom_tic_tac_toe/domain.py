"""Phantom tic-tac-toe as a domain of DSMCP.

Two players mark the cells of a 3 × 3 board in turn, and neither sees the other's marks. A player tries a cell: if the
opponent holds it, the attempt fails, the turn is lost, and the cell is learnt; otherwise the player marks it. The
opponent is told nothing but that the game goes on. Three marks in a line win; a full board is a draw. A cell that a
player holds or knows to be taken cannot be tried again, so that each turn uses up one cell of the player who acts.

    0 1 2
    3 4 5       cells and bits of a mask
    6 7 8

A world state is a pair of `Side`s. Each player knows its own, so a set of states is a set of the other's sides, and two
information states that meet in a playout stand in one state: the own side of the one and the own side of the other.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import or_
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penumbra.dsmcp.domain import Flags, Floats, Ints, Keys, Legal, Rows

CELLS = 9
FULL = (1 << CELLS) - 1
LINES = tuple(
    sum(1 << cell for cell in line)
    for line in [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
)
PLANES = np.array([[mask >> cell & 1 for cell in range(CELLS)] for mask in range(FULL + 1)], np.float32)  # [512, 9]


class Side(NamedTuple):
    """What one player has done, as masks of cells: its marks, and the cells it has found taken."""

    marks: int = 0
    learnt: int = 0

    @property
    def tried(self) -> int:
        return self.marks | self.learnt


@cache
def cells(mask: int) -> tuple[int, ...]:
    return tuple(cell for cell in range(CELLS) if mask >> cell & 1)


@cache
def has_line(marks: int) -> bool:
    return any(marks & line == line for line in LINES)


def attempt(actor: Side, other: Side, cell: int) -> Side:
    """The actor's side after it tried a cell."""
    bit = 1 << cell
    return Side(actor.marks, actor.learnt | bit) if other.marks & bit else Side(actor.marks | bit, actor.learnt)


def result(actor: Side, other: Side) -> float | None:
    """The actor's result after its attempt; None while the game goes on."""
    if has_line(actor.marks):
        return 1.0
    return 0.0 if actor.marks | other.marks == FULL else None


@cache
def successors(actor: Side, other: Side) -> tuple[Side, ...]:
    """Every side that the actor may have after an attempt that does not end the game."""
    tries = (attempt(actor, other, cell) for cell in cells(FULL & ~actor.tried))
    return tuple(side for side in tries if result(side, other) is None)


@lru_cache(1 << 16)
def expand(own: Side, others: frozenset[Side]) -> frozenset[Side]:
    """What the other's side may be after its attempt, if it may have been any of `others`."""
    return frozenset(after for side in others for after in successors(side, own))


class Situation(NamedTuple):
    """X: the player (0 moves first), its own side, and every side that its opponent may have. Also one row of a batch,
    where `others` is a part of them."""

    player: int
    own: Side
    others: frozenset[Side]

    @property
    def ours(self) -> bool:
        """Whether the player is to act: turns alternate, and each uses up a cell."""
        mine, theirs = self.own.tried.bit_count(), next(iter(self.others)).tried.bit_count()
        return mine == theirs if self.player == 0 else mine < theirs


@dataclass(frozen=True)
class Batch:
    """Approximate information states of one player."""

    rows: list[Situation]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: npt.NDArray[np.int64], /) -> Batch:
        return Batch([self.rows[row] for row in rows])

    @property
    def counts(self) -> Ints:
        return np.array([len(row.others) for row in self.rows], np.int32)


# -- what a player learns


def start(player: int) -> tuple[Situation, Batch]:
    """The first situation of a game, and the opponent's information state in it."""
    nothing = frozenset([Side()])
    return Situation(player, Side(), nothing), Batch([Situation(1 - player, Side(), nothing)])


def tried(x: Situation, cell: int, placed: bool) -> Situation:
    """After our attempt, which the game has survived: the states that would have answered alike."""
    bit = 1 << cell
    own = Side(x.own.marks | bit, x.own.learnt) if placed else Side(x.own.marks, x.own.learnt | bit)
    return Situation(x.player, own, answering(x.own, own, x.others))


@lru_cache(1 << 16)
def answering(before: Side, after: Side, others: frozenset[Side]) -> frozenset[Side]:
    """The sides of the opponent that turn our own side from one into the other and leave the game going on."""
    failed = after.learnt & ~before.learnt
    if failed:
        return frozenset(side for side in others if side.marks & failed)
    placed = after.marks & ~before.marks
    return frozenset(side for side in others if not side.marks & placed and result(after, side) is None)


def opponent_tried(x: Situation) -> Situation:
    """After the opponent's attempt, of which we are told nothing but that the game goes on."""
    return x._replace(others=expand(x.own, x.others))


@lru_cache(1 << 16)
def sure_win(own: Side, others: frozenset[Side]) -> int | None:
    """A cell that ends one of our lines and is free in every state."""
    taken = reduce(or_, (side.marks for side in others))
    ends = (cell for cell in cells(FULL & ~own.tried & ~taken) if has_line(own.marks | 1 << cell))
    return next(ends, None)


# -- the domain


class PhantomTicTacToe:
    """The protocol `penumbra.dsmcp.Domain`. There is one kind of step, and the players take turns."""

    def after(self, kind: int) -> tuple[int, bool]:
        return 0, False

    def kind(self, x: Situation) -> int:
        return 0

    def ours(self, x: Situation) -> bool:
        return x.ours

    # Information states

    def advance(
        self, actor: Batch, other: Batch, actions: Ints, actor_ell: Ints, other_ell: Ints, seed: int, keyed: bool
    ) -> tuple[Batch, Batch, Floats]:
        results = np.full(len(actor), np.nan, np.float32)
        actors, others, cutter = list(actor.rows), list(other.rows), Cutter(seed, keyed)
        for row, (a, o, cell) in enumerate(zip(actor.rows, other.rows, actions.tolist(), strict=True)):
            own = attempt(a.own, o.own, cell)
            ended = result(own, o.own)
            if ended is not None:
                results[row] = ended
                continue
            seen, possible = answering(a.own, own, a.others), expand(o.own, o.others)
            actors[row] = Situation(a.player, own, cutter.cut(seen, int(actor_ell[row]), o.own))
            others[row] = Situation(o.player, o.own, cutter.cut(possible, int(other_ell[row]), own))
        return Batch(actors), Batch(others), results

    def legal(self, batch: Batch, prune: bool) -> Legal:
        return ragged(cells(FULL & ~row.own.tried) for row in batch.rows)

    def settle(self, batch: Batch, ours: bool) -> Floats:
        sure = [(ours or len(row.others) > 1) and sure_win(row.own, row.others) is not None for row in batch.rows]
        return np.where(sure, np.float32(1), np.float32(np.nan)).astype(np.float32)

    def exposed(self, batch: Batch) -> Floats:
        return np.full(len(batch), np.nan, np.float32)  # nothing is said about it

    def sigma(self, batch: Batch, rows: Rows | None = None) -> Floats:
        some = batch if rows is None else batch.take(rows)
        return np.stack([synopsis(row.own, row.others) for row in some.rows])

    def keys(self, batch: Batch, with_context: bool) -> Keys:
        return np.array([hash(row) & 0xFFFF_FFFF_FFFF_FFFF for row in batch.rows], np.uint64)

    def concatenate(self, batches: list[Batch]) -> Batch:
        return Batch([row for batch in batches for row in batch.rows])

    # Exact sets and beliefs

    def size(self, x: Situation) -> int:
        return len(x.others)

    def nbytes(self, x: Situation) -> int:
        return 100 * len(x.others)

    def particle_nbytes(self, ell: int) -> int:
        return 100 * ell

    def draw(self, x: Situation, rows: int, ell: int, seed: int, keyed: bool, truths: Batch | None) -> Batch:
        cutter = Cutter(seed, keyed)
        kept: list[Side | None] = [None] * rows if truths is None else [truth.own for truth in truths.rows]
        return Batch([x._replace(others=cutter.cut(x.others, ell, truth)) for truth in kept])

    def root(self, x: Situation, static_analysis: bool) -> tuple[Ints, int | None]:
        return np.array(cells(FULL & ~x.own.tried), np.int32), sure_win(x.own, x.others) if static_analysis else None

    def meets(self, particles: Batch, x: Situation) -> Flags:
        return np.array([row.own in x.others and x.own in row.others for row in particles.rows], np.bool_)

    def leads_into(
        self, particles: Batch, before: Situation, after: Situation, actions: Ints, rows: Rows | None = None
    ) -> Flags:
        some = particles if rows is None else particles.take(rows)
        flags = np.zeros(len(some), np.bool_)
        for row, (particle, cell) in enumerate(zip(some.rows, actions.tolist(), strict=True)):
            own, their = before.own, particle.own
            actor, other = (own, their) if before.ours else (their, own)
            moved = attempt(actor, other, cell)
            own, their = (moved, their) if before.ours else (own, moved)
            flags[row] = result(moved, other) is None and own == after.own and their in after.others
        return flags

    def advance_particles(
        self, particles: Batch, rows: Rows, x: Situation, actions: Ints, ell: int, seed: int
    ) -> Batch:
        J = particles.take(rows)
        truth = self.draw(x, len(J), 1, 0, False, J)
        ells, one = (np.full(len(J), n, np.int32) for n in (ell, 1))
        if x.ours:
            return self.advance(truth, J, actions, one, ells, seed, False)[1]
        return self.advance(J, truth, actions, ells, one, seed, False)[0]

    def singletons(self, before: Situation | None, after: Situation, rows: int, ell: int, seed: int) -> Batch:
        sides = random.Random(seed).choices(sorted(after.others), k=rows)
        return Batch([Situation(1 - after.player, side, frozenset([after.own])) for side in sides])

    def parents(self, before: Situation, after: Situation) -> Situation:
        if before.ours:  # our attempt leaves the opponent's side as it was
            kept = before.others & after.others
        else:
            kept = frozenset(
                side for side in before.others if not after.others.isdisjoint(successors(side, before.own))
            )
        return before if len(kept) == len(before.others) else before._replace(others=kept)


class Cutter:
    """Cuts sets to a limit: at random, or to the smallest hashes under one salt, so that equal sets are cut alike."""

    def __init__(self, seed: int, keyed: bool) -> None:
        self.salt = seed
        self.random = None if keyed else random.Random(seed)

    def cut(self, others: frozenset[Side], ell: int, truth: Side | None) -> frozenset[Side]:
        """At most `ell` of them, the truth kept if there is one."""
        if len(others) <= ell:
            return others
        rest = [side for side in others if side != truth]
        n = ell if truth is None else ell - 1
        kept = (
            heapq.nsmallest(n, rest, key=lambda side: hash((self.salt, side)))
            if self.random is None
            else self.random.sample(sorted(rest), n)
        )
        return frozenset(kept if truth is None else [*kept, truth])


def ragged(rows: Iterable[tuple[int, ...]]) -> Legal:
    listed = list(rows)
    offsets = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    return Legal(np.array([cell for row in listed for cell in row], np.int32), offsets)


@lru_cache(1 << 16)
def synopsis(own: Side, others: frozenset[Side]) -> Floats:
    """float32[36], by cell: our marks, what we have learnt, and in which share of the states the opponent has marked it
    and has learnt of our mark."""
    theirs = PLANES[np.array(list(others))].mean(axis=0)  # [2, 9]
    return np.concatenate([PLANES[own.marks], PLANES[own.learnt], theirs.ravel()]).astype(np.float32)
