"""What senses would show: the boards of a set of states as an array, and the groups each sense parts them into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penumbra.core import StateSet
from penumbra.rbc.actions import sense_window

# Senses whose window lies wholly on the board; every other sense shows less than one of these.
INNER_SQUARES = [rank * 8 + file for rank in range(1, 7) for file in range(1, 7)]
WINDOWS = np.array([sense_window(square, True) for square in INNER_SQUARES])  # int64[36, 9]

_EMPTY = str.maketrans({"/": "", **{str(n): "." * n for n in range(1, 9)}})


def _contents_of_letters(owner: bool) -> NDArray[np.uint8]:
    """uint8[256]: the content that a letter of a FEN stands for in the owner's view."""
    table = np.zeros(256, dtype=np.uint8)
    for kind, letter in enumerate("PNBRQK", 1):
        own, opposing = (letter, letter.lower()) if owner else (letter.lower(), letter)
        table[ord(own)], table[ord(opposing)] = kind, kind + 6
    return table


_CONTENTS = {owner: _contents_of_letters(owner) for owner in (False, True)}
_KEYS = np.random.default_rng(0).integers(1 << 63, size=(64, 13), dtype=np.uint64)


def boards(states: StateSet) -> NDArray[np.uint8]:
    """uint8[states, 64]: contents in the owner's view, 0 empty, 1..6 own P N B R Q K, 7..12 opposing."""
    text = "".join(fen.partition(" ")[0].translate(_EMPTY) for fen in states.fens())
    ranks = np.frombuffer(text.encode(), dtype=np.uint8).reshape(-1, 8, 8)  # the eighth rank first
    seen = ranks[:, ::-1] if states.owner else ranks
    return np.asarray(_CONTENTS[states.owner][seen].reshape(-1, 64))


def sense_groups(states: StateSet) -> NDArray[np.int64]:
    """int64[36, states]: for each of INNER_SQUARES, states with the same number would show the same.

    The numbers of a sense go from 0 without a gap.
    """
    keys = _KEYS[np.arange(64), boards(states)]  # uint64[states, 64]
    shown = keys[:, WINDOWS].sum(axis=2).T  # uint64[36, states]
    order = np.argsort(shown, axis=1)
    ordered = np.take_along_axis(shown, order, axis=1)
    numbers = np.zeros(shown.shape, dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=numbers[:, 1:])
    groups = np.empty_like(numbers)
    np.put_along_axis(groups, order, numbers, axis=1)
    return groups
