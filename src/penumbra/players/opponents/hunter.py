"""A greedy player that tracks every possible state, senses where it knows least and takes what it expects to find.

It looks one move ahead, and only at the marginals of its set of states, p[s, c]: how likely content c is on square s.
Squares are taken as independent of each other, which is wrong but enough to hunt a careless king.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from penumbra.players.player import Player
from penumbra.rbc.actions import PASS, move_squares, sense_window
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed
from penumbra.rbc.tracker import Follower

# What a piece is worth in pawns, by kind P N B R Q K; losing or taking the king is the game.
VALUES = np.array([1.0, 3.0, 3.0, 5.0, 9.0, 100.0])
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)

# Senses whose window lies wholly on the board; every other sense shows less than one of these.
INNER_SQUARES = [rank * 8 + file for rank in range(1, 7) for file in range(1, 7)]

_KNIGHT_STEPS = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
_STRAIGHT = [(0, 1), (1, 0), (0, -1), (-1, 0)]
_DIAGONAL = [(1, 1), (1, -1), (-1, -1), (-1, 1)]


class Hunter(Player):
    """Chooses by material expected to be won and lost on the next two moves, ties broken at random."""

    name = "Hunter"

    def __init__(self, seed: int = 0, cap: int = 1_000_000) -> None:
        """`cap` bounds the states tracked; beyond it they are a random draw."""
        self._random = random.Random(seed)
        self._cap = cap
        self._color = True
        self._follower = Follower(True)

    def start(self, color: bool, fen: str) -> None:
        """Starts from the one state that everybody knows."""
        self._color = color
        self._follower = Follower(color, fen, cap=self._cap, seed=self._random.getrandbits(32))

    def opponent_moved(self, capture: int | None) -> None:
        """Considers everything the opponent may have done."""
        self._follower.observe(OpponentMoved(capture))

    def choose_sense(self) -> int:
        """The inner square around which the contents are least certain, by the entropy of their marginals."""
        states = self._follower.states
        if states is None:
            return self._random.choice(INNER_SQUARES)
        p = states.marginals() / len(states)
        entropy = -np.sum(p * np.log2(np.maximum(p, 1e-12)), axis=1)  # float64[64]
        return self._best(INNER_SQUARES, lambda s: float(entropy[list(sense_window(s, self._color))].sum()))

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        """Forgets the states that would have shown something else."""
        self._follower.observe(Sensed(square, tuple(contents)))

    def choose_move(self, actions: Sequence[int]) -> int:
        """The move with the best expected balance of material."""
        states = self._follower.states
        if states is None:
            return self._random.choice(actions)
        p = states.marginals() / len(states)
        attacked = attack_probabilities(p)
        return self._best(actions, lambda action: expected_gain(p, attacked, action))

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        """Keeps the states that would have answered so."""
        self._follower.observe(Moved(requested, taken, capture))

    def _best(self, choices: Sequence[int], score: Callable[[int], float]) -> int:
        return max(choices, key=lambda choice: (score(choice), self._random.random()))


def squares_along(square: int, directions: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """For each direction (ranks, files), the squares from the next one to the edge."""
    for ranks, files in directions:
        rank, file = divmod(square, 8)
        line = []
        while 0 <= (rank := rank + ranks) < 8 and 0 <= (file := file + files) < 8:
            line.append(rank * 8 + file)
        yield line


def attack_probabilities(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[64]: how likely the opponent attacks each square, given marginals p[64, 13]."""
    opposing = p[:, 6:]  # opposing[s, kind], kind 1..6
    empty = p[:, 0]
    safe = np.ones(64)
    for s in range(64):
        rank = s // 8
        for line in squares_along(s, _DIAGONAL):
            if line and line[0] // 8 == rank + 1:
                safe[s] *= 1 - opposing[line[0], PAWN]
        for line in squares_along(s, _KNIGHT_STEPS):
            if line:
                safe[s] *= 1 - opposing[line[0], KNIGHT]
        for directions, slider in ((_STRAIGHT, ROOK), (_DIAGONAL, BISHOP)):
            for line in squares_along(s, directions):
                if line:
                    safe[s] *= 1 - opposing[line[0], KING]
                clear = 1.0
                for t in line:
                    safe[s] *= 1 - clear * (opposing[t, slider] + opposing[t, QUEEN])
                    clear *= empty[t]
                    if clear < 0.01:
                        break
    return 1 - safe


def expected_gain(p: NDArray[np.float64], attacked: NDArray[np.float64], action: int) -> float:
    """Material the move can expect to take, less what it risks where it lands, plus what it saves by leaving.

    A little is added for going forward and to the middle, so that something happens while nothing can be taken.
    """
    if action == PASS:
        return 0.0
    start, end = move_squares(action)
    kind = int(np.argmax(p[start, 1:7])) + 1
    happens, gain = _chances(p, kind, start, end)
    if kind == PAWN and end >= 56:
        gain += happens * float(VALUES[QUEEN - 1] - VALUES[PAWN - 1])
    if kind != KING:
        gain += happens * 0.02 * (end // 8 - start // 8 + _centrality(end) - _centrality(start))
    return gain + happens * float(VALUES[kind - 1] * (attacked[start] - attacked[end]))


def _chances(p: NDArray[np.float64], kind: int, start: int, end: int) -> tuple[float, float]:
    """(how likely the move happens at all, the value it can expect to take)."""
    value = p[:, 7:] @ VALUES  # float64[64]: expected value of the opposing piece on a square
    some = p[:, 7:].sum(axis=1)  # float64[64]: how likely there is one
    if kind == PAWN:
        return (float(some[end]), float(value[end])) if (end - start) % 8 else (float(1 - some[end]), 0.0)
    gain, clear = 0.0, 1.0
    for s in path(start, end):
        gain += clear * float(value[s])
        clear *= float(1 - some[s])
    return 1.0, gain


def _centrality(square: int) -> int:
    """0 on the edge to 3 in the middle."""
    rank, file = divmod(square, 8)
    return min(rank, 7 - rank, file, 7 - file)


def path(start: int, end: int) -> list[int]:
    """The squares a piece passes and the one it aims at; a knight and a castling king pass none."""
    ranks, files = end // 8 - start // 8, end % 8 - start % 8
    distance = max(abs(ranks), abs(files))
    if ranks and files and abs(ranks) != abs(files):
        return [end]
    return [start + i * (ranks // distance * 8 + files // distance) for i in range(1, distance + 1)]
