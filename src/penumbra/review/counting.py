"""What is true in how many states of a set: kings that can be taken, before a move and after it, and what senses tell.

Every state counts alike. Squares and moves are those of the view of the set's owner; rows are states in the order of
the set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penumbra import core
from penumbra.core import MOVE, Game, Infostates, StateSet
from penumbra.rbc.actions import sense_window
from penumbra.rbc.sense_partitions import boards

QUEEN, KING = 11, 12  # contents: the opponent's

Flags = NDArray[np.bool_]
Groups = NDArray[np.int64]


def listed_moves(states: StateSet) -> NDArray[np.int32]:
    """int32[A]: what the owner, to act, may ask for; the pass comes last. Its own pieces decide, so it is one list."""
    moves, _ = Infostates.draw(states, 1, MOVE, 1).legal()
    return moves


def takes_king(states: StateSet, moves: NDArray[np.int32]) -> Flags:
    """bool[S, A]: whether each request takes the opponent's king in each state."""
    takes = np.zeros((len(states), len(moves)), np.bool_)
    for row, fen in enumerate(states.fens()):
        if core.settle_set(StateSet(fen, states.owner), MOVE, False)[1] >= 0:  # some move does
            takes[row] = [_ends(fen, int(move)) for move in moves]
    return takes


def _ends(fen: str, move: int) -> bool:
    """Whether a request of the player to move ends the game."""
    game = Game(fen, None, None)
    game.sense(None)
    game.move(move)
    return game.over


def loses_king(states: StateSet, moves: NDArray[np.int32]) -> Flags:
    """bool[S, A]: whether each request leaves the owner's king where the opponent can take it at once."""
    singles = (StateSet.from_fens([fen], states.owner) for fen in states.fens())
    return np.array([core.danger(single, moves) for single in singles]) > 0


def groups_of(contents: NDArray[np.uint8], square: int) -> Groups:
    """int64[S]: states with the same number show the same to a sense of `square`; `contents` are their boards."""
    shown = contents[:, list(sense_window(square, True))]
    _, numbers = np.unique(shown, axis=0, return_inverse=True)
    return np.asarray(numbers, np.int64).ravel()


def all_groups(states: StateSet) -> list[Groups]:
    """The groups of each of the 64 senses."""
    contents = boards(states)
    return [groups_of(contents, square) for square in range(64)]


def best_moves(works: Flags, groups: Groups) -> int:
    """In how many states one's move works, where it may be chosen by what was shown. `works` is bool[S, A]."""
    return sum(int(works[groups == group].sum(axis=0).max()) for group in range(groups.max() + 1))


def places(contents: NDArray[np.uint8], piece: int) -> Groups:
    """int64[S]: states with the same number have that opposing piece, or those of its kind, on the same squares."""
    _, numbers = np.unique(contents == piece, axis=0, return_inverse=True)
    return np.asarray(numbers, np.int64).ravel()


def told(where: Groups, groups: Groups) -> int:
    """In how many states what is shown leaves one place alone."""
    return sum(
        int(members.sum()) for members in (groups == group for group in range(groups.max() + 1)) if one(where[members])
    )


def one(numbers: Groups) -> bool:
    """Whether all are the same."""
    return bool((numbers == numbers[0]).all())


def best_of(counts: Sequence[int]) -> tuple[list[int], int, int]:
    """Where the greatest count stands, that count, and the greatest below it (-1: there is none)."""
    most = max(counts)
    return [at for at, n in enumerate(counts) if n == most], most, max((n for n in counts if n < most), default=-1)
