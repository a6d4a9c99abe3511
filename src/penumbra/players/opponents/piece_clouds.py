"""Where each opposing piece may be, as a distribution over squares for each piece by itself.

Pieces are taken as independent of each other, which is wrong: what one piece's place says about another's is lost. Own
pieces are always known. Squares are the player's own view, contents as everywhere (7..12 opposing P N B R Q K).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(7, 13)
SMALL = 0.01  # less likely places are not followed

_STRAIGHT = [(0, 1), (1, 0), (0, -1), (-1, 0)]
_DIAGONAL = [(1, 1), (1, -1), (-1, -1), (-1, 1)]
_LEAPS = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
_STEPS = {
    KNIGHT: (_LEAPS, 1),
    BISHOP: (_DIAGONAL, 7),
    ROOK: (_STRAIGHT, 7),
    QUEEN: (_STRAIGHT + _DIAGONAL, 7),
    KING: (_STRAIGHT + _DIAGONAL, 1),
}
# How often a piece is the one that moves, against the others.
_EAGER = {PAWN: 0.5, KNIGHT: 1.5, BISHOP: 1.2, ROOK: 0.7, QUEEN: 1.2, KING: 0.4}


def _lines(square: int, steps: Sequence[tuple[int, int]], most: int) -> list[list[int]]:
    """For each direction the squares that a piece passes, at most so many."""
    lines: list[list[int]] = []
    for ranks, files in steps:
        rank, file = square // 8 + ranks, square % 8 + files
        line: list[int] = []
        while 0 <= rank < 8 and 0 <= file < 8 and len(line) < most:
            line.append(rank * 8 + file)
            rank, file = rank + ranks, file + files
        if line:
            lines.append(line)
    return lines


_LINES = {kind: [_lines(s, steps, most) for s in range(64)] for kind, (steps, most) in _STEPS.items()}
# Opposing pawns go down the board: a second square from the seventh rank.
_PUSHES = [_lines(s, [(-1, 0)], 2 if s // 8 == 6 else 1) for s in range(64)]
_PAWN_CAPTURES = [_lines(s, [(-1, -1), (-1, 1)], 1) for s in range(64)]


class PieceClouds:
    """`kinds[i]` is what piece i is, `p[i]` (float64[64], of sum 1) where it may be; there is always one king."""

    def __init__(self, board: Sequence[int]) -> None:
        places = [s for s in range(64) if board[s] > 6]
        self.kinds = [board[s] for s in places]
        self.p = np.zeros((len(places), 64))
        self.p[range(len(places)), places] = 1

    def move(self, board: Sequence[int]) -> None:
        """Some piece has moved and taken nothing."""
        eager = np.array([_EAGER[kind] for kind in self.kinds])
        chance = eager / eager.sum()
        own = np.array([1 <= content <= 6 for content in board])
        empty = np.clip(1 - self.p.sum(axis=0), 0, 1) * ~own  # float64[64]
        spread = np.array([self._spread(i, empty) for i in range(len(self.kinds))])
        self.p = (1 - chance[:, None]) * self.p + chance[:, None] * spread

    def take(self, square: int, board: Sequence[int]) -> None:
        """Some piece has taken ours on this square, most likely the one that could best do so."""
        own = np.array([1 <= content <= 6 for content in board])
        empty = np.clip(1 - self.p.sum(axis=0), 0, 1) * ~own
        reach = [self._reach(i, square, empty) for i in range(len(self.kinds))]
        self._put(int(np.argmax(reach)), square)

    def see(self, seen: Mapping[int, int]) -> None:
        """The contents of these squares are known."""
        found: set[int] = set()
        for square, content in seen.items():
            if content > 6:
                i = self._likeliest(content, square, found)
                self._put(i, square)
                found.add(i)
        self.clear(seen, found)

    def clear(self, squares: Iterable[int], but: Iterable[int] = ()) -> None:
        """No piece but these stands on the squares."""
        gone, stay = list(squares), set(but)
        for i in range(len(self.kinds)):
            if i not in stay:
                self.p[i, gone] = 0
                total = self.p[i].sum()
                self.p[i] = self.p[i] / total if total > 1e-9 else self._anywhere(self.kinds[i], gone)

    def remove(self, square: int) -> None:
        """The piece on this square, not the king, has been taken."""
        chances = [-1.0 if kind == KING else self.p[i, square] for i, kind in enumerate(self.kinds)]
        i = int(np.argmax(chances))
        if self.kinds[i] != KING:
            del self.kinds[i]
            self.p = np.delete(self.p, i, axis=0)
        self.clear([square])

    def block(self, square: int) -> None:
        """Some piece stands on this square, most likely the one that was likeliest there."""
        self._put(int(np.argmax(self.p[:, square] + 1e-6 * self.p.max(axis=1))), square)

    def boards(self, own: Sequence[int], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """int64[n, 64]: whole boards, each piece drawn in its turn where no other stands; the king first."""
        base = np.array([content if content <= 6 else 0 for content in own])
        result = np.tile(base, (n, 1))
        order = sorted(range(len(self.kinds)), key=lambda i: (self.kinds[i] != KING, -self.p[i].max()))
        for i in order:
            weights = self.p[i] * (result == 0)
            if self.kinds[i] == KING:
                weights += 1e-9 * (result == 0)
            total = weights.sum(axis=1)
            cumulative = np.cumsum(weights, axis=1)
            at = np.minimum((cumulative <= rng.random(n)[:, None] * total[:, None]).sum(axis=1), 63)
            rows = np.flatnonzero((total > 0) & (weights[np.arange(n), at] > 0))
            result[rows, at[rows]] = self.kinds[i]
        return result

    def _spread(self, i: int, empty: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where piece i is if it has moved to an empty square; where it was if it cannot."""
        spread = np.zeros(64)
        for s in np.flatnonzero(self.p[i] > SMALL).tolist():
            targets = np.zeros(64)
            for line in _PUSHES[s] if self.kinds[i] == PAWN else _LINES[self.kinds[i]][s]:
                clear = 1.0
                for t in line:
                    clear *= float(empty[t])
                    if clear < SMALL or (self.kinds[i] == PAWN and t < 8):
                        break
                    targets[t] += clear
            total = targets.sum()
            if total > 0:
                spread += self.p[i, s] * targets / total
            else:
                spread[s] += self.p[i, s]
        total = spread.sum()
        return np.asarray(spread / total if total > 0 else self.p[i])

    def _reach(self, i: int, square: int, empty: NDArray[np.float64]) -> float:
        """How likely piece i could take on the square, and what it would risk."""
        chance = 0.0
        for s in np.flatnonzero(self.p[i] > SMALL).tolist():
            for line in _PAWN_CAPTURES[s] if self.kinds[i] == PAWN else _LINES[self.kinds[i]][s]:
                clear = 1.0
                for t in line:
                    if t == square:
                        chance += float(self.p[i, s]) * clear
                    clear *= float(empty[t])
        return chance * (2 if self.kinds[i] == PAWN else 1)

    def _put(self, i: int, square: int) -> None:
        if self.kinds[i] == PAWN and not 8 <= square < 56:
            self.kinds[i] = QUEEN
        self.p[i] = 0
        self.p[i, square] = 1

    def _likeliest(self, kind: int, square: int, found: set[int]) -> int:
        """The piece of that kind most likely there; where there is none left, a pawn has become it."""
        for wanted in (kind, PAWN):
            places = [i for i, k in enumerate(self.kinds) if k == wanted and i not in found]
            if places:
                i = max(places, key=lambda i: float(self.p[i, square]))
                self.kinds[i] = kind
                return i
        self.kinds.append(kind)
        self.p = np.vstack([self.p, np.zeros(64)])
        return len(self.kinds) - 1

    @staticmethod
    def _anywhere(kind: int, barred: Sequence[int]) -> NDArray[np.float64]:
        p = np.ones(64)
        p[list(barred)] = 0
        if kind == PAWN:
            p[:8] = p[56:] = 0
        return np.asarray(p / p.sum())


def attackers_of(square: int) -> Mapping[int, NDArray[np.bool_]]:
    """For each kind, bool[64]: from where it would attack the square on an empty board."""
    masks = {}
    for kind in (PAWN, KNIGHT, BISHOP, ROOK, QUEEN):
        lines = _PAWN_CAPTURES if kind == PAWN else _LINES[kind]
        masks[kind] = np.array([any(square in line for line in lines[s]) for s in range(64)])
    return masks
