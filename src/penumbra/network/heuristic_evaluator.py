"""An evaluator without a network: material as the value, captures and uncertainty as the policy.

It reads nothing but the synopsis, as a network would, so every part of the search can be used and tested without
weights.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penumbra.core import PASS
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.rbc.synopsis import Synopsis

VALUES = np.array([1.0, 3.0, 3.0, 5.0, 9.0], dtype=np.float32)  # P N B R Q
SCALE = 6.0  # pawns of material that make a value of tanh(1)
OWN = slice(12, 17)
DEFINITE = slice(19, 24)  # definitely opposing P N B R Q
POSSIBLE = slice(26, 31)
EMPTY_FOR_SURE, KNOWN, MAYBE_ATTACKED = 80, 68, 52
POSSIBLE_KING, MAYBE_ATTACKABLE = 31, 38
BITS = np.uint64(1) << np.arange(64, dtype=np.uint64)


def counts(planes: npt.NDArray[np.uint64]) -> Floats:
    """Squares set in each plane."""
    return np.bitwise_count(planes).astype(np.float32)


class HeuristicEvaluator:
    """Captures weigh more the more they may take; moves into attack less; senses go where little is known.

    `sharpness` 0 is the uniform policy. It reads binary synopses.
    """

    synopsis: Synopsis = "binary"

    def __init__(self, sharpness: float = 1.0) -> None:
        self.sharpness = sharpness

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        return self.policy(features, legal), self.value(features)

    def value(self, features: Features) -> Floats:
        """Material, pieces of the opponent that may or may not be there counted half; worse where the king hangs."""
        own = counts(features[:, OWN]) @ VALUES
        definite, possible = counts(features[:, DEFINITE]), counts(features[:, POSSIBLE])
        starting = np.array([8, 2, 2, 2, 1], dtype=np.float32)
        theirs = ((definite + np.minimum(possible, starting)) / 2) @ VALUES
        king_attacked = (features[:, 17] & features[:, MAYBE_ATTACKED]) != 0
        chance = (features[:, POSSIBLE_KING] & features[:, MAYBE_ATTACKABLE]) != 0
        balance = own - theirs - 2.0 * king_attacked + 1.0 * chance
        return np.asarray(np.tanh(balance / SCALE), np.float32)

    def policy(self, features: Features, legal: Legal) -> Floats:
        rows = np.repeat(np.arange(len(features)), np.diff(legal.offsets))
        actions = legal.actions
        logits = np.zeros(len(actions), dtype=np.float32)
        if self.sharpness:
            is_sense = actions < 64
            logits[is_sense] = self.sense_logits(features, rows[is_sense], actions[is_sense])
            is_move = (actions >= 64) & (actions < PASS)
            logits[is_move] = self.move_logits(features, rows[is_move], actions[is_move])
            logits[actions == PASS] = -3.0
        weights = np.exp(self.sharpness * logits)
        total = np.add.reduceat(weights, legal.offsets[:-1])
        return np.asarray(weights / np.repeat(total, np.diff(legal.offsets)), np.float32)

    def sense_logits(self, features: Features, rows: npt.NDArray[np.int64], squares: npt.NDArray[np.int32]) -> Floats:
        """Unknown squares in the window, those around our king and theirs most of all."""
        unknown = ~features[:, KNOWN]
        near = features[:, 69] | features[:, 17] | features[:, POSSIBLE_KING]
        plain = counts(unknown[rows] & WINDOWS[squares])
        urgent = counts((unknown & near)[rows] & WINDOWS[squares])
        return (0.6 * plain + 0.4 * urgent).astype(np.float32)

    def move_logits(self, features: Features, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int32]) -> Floats:
        start, target = BITS[(actions - 64) >> 6], BITS[(actions - 64) & 63]
        logits = np.zeros(len(actions), dtype=np.float32)
        for kind, worth in enumerate([*VALUES, 40.0]):
            certain = (features[rows, 19 + kind] & target) != 0
            possible = (features[rows, 26 + kind] & target) != 0
            logits += 0.25 * worth * certain + 0.12 * worth * (possible & ~certain)
            if kind < 5:
                moving = (features[rows, 12 + kind] & start) != 0
                danger = (features[rows, MAYBE_ATTACKED] & target) != 0
                logits -= 0.12 * worth * (moving & danger)
        fails = ((features[rows, EMPTY_FOR_SURE] & target) != 0) & is_pawn_diagonal(features[rows, 12], start, target)
        logits[fails] -= 6.0
        return np.clip(logits, -8, 8).astype(np.float32)


def is_pawn_diagonal(
    pawns: npt.NDArray[np.uint64], start: npt.NDArray[np.uint64], target: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """A pawn's capture, seen from its own side."""
    steps = (target == start << np.uint64(7)) | (target == start << np.uint64(9))
    return np.asarray(((pawns & start) != 0) & steps)


def _windows() -> npt.NDArray[np.uint64]:
    masks = []
    for square in range(64):
        rank, file = divmod(square, 8)
        cells = [
            (r, f) for r in range(rank - 1, rank + 2) for f in range(file - 1, file + 2) if 0 <= r < 8 and 0 <= f < 8
        ]
        masks.append(sum(1 << (8 * r + f) for r, f in cells))
    return np.array(masks, dtype=np.uint64)


WINDOWS = _windows()
