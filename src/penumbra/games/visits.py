"""What searches came to, kept beside their games for networks to learn from: how the visits of roots were shared out.

The searches of a game are one row of uint16, compressed: for each the ply, the number of actions, the actions and their
shares of the visits in 65535ths. Actions are seen from the player who acts, and say themselves whether they are senses.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penumbra.rbc.actions import SENSES

WHOLE = 65_535  # all visits


@dataclass(frozen=True)
class Searched:
    """One decision: the actions that were visited, and their shares of the visits."""

    ply: int  # of the game, from 0
    actions: NDArray[np.int32]
    shares: NDArray[np.float32]

    @property
    def is_sense(self) -> bool:
        return bool(self.actions[0] < SENSES)


def pack(searches: Iterable[Searched]) -> bytes:
    """b"" for none."""
    row: list[int] = []
    for searched in searches:
        row += [searched.ply, len(searched.actions), *searched.actions.tolist()]
        row += np.rint(searched.shares * WHOLE).astype(np.int64).tolist()
    return zlib.compress(np.array(row, "<u2").tobytes()) if row else b""


def unpack(data: bytes) -> list[Searched]:
    """ValueError if these are not the bytes of searches."""
    try:
        row = np.frombuffer(zlib.decompress(data), "<u2").astype(np.int32)
    except (zlib.error, ValueError):
        raise ValueError("not the searches of a game") from None
    found = []
    at = 0
    while at < len(row):
        ply, count = row[at : at + 2].tolist() if at + 2 <= len(row) else (0, len(row))
        end = at + 2 + 2 * count
        if end > len(row):
            raise ValueError("not the searches of a game")
        if count:
            shares = (row[at + 2 + count : end] / WHOLE).astype(np.float32)
            found.append(Searched(ply, row[at + 2 : at + 2 + count], shares))
        at = end
    return found
