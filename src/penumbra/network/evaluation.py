"""What a network says of information states, for programs: `penumbra.evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penumbra.core import ACTIONS, Infostates
from penumbra.dsmcp.domain import Evaluator, Floats, Ints, Legal
from penumbra.network.loading import load_evaluator
from penumbra.rbc.synopsis import synopsis_read_by

ROWS = 1024  # evaluated at a time, so that any number of rows fits into memory


@dataclass(frozen=True)
class Evaluation:
    """Policies and values of B information states. Row r has actions[offsets[r]:offsets[r + 1]], and so many priors."""

    actions: Ints  # int32[A], as `penumbra.action_name` names them, in the view of the player to act
    offsets: npt.NDArray[np.int64]  # int64[B + 1]
    priors: Floats  # float32[A]; those of a row sum to 1
    values: Floats  # float32[B], from -1 (lost) to 1 (won) for the player to act

    def __len__(self) -> int:
        return len(self.values)

    def row(self, r: int) -> tuple[Ints, Floats]:
        """The actions of one row and their priors."""
        within = slice(self.offsets[r], self.offsets[r + 1])
        return self.actions[within], self.priors[within]

    def policy(self) -> Floats:
        """float32[B, 4161]: the priors by action number, 0 where an action is not legal."""
        dense = np.zeros((len(self), ACTIONS), np.float32)
        dense[np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.actions] = self.priors
        return dense


def evaluate(
    infostates: Infostates,
    evaluator: Evaluator | str | Path | None = None,
    *,
    device: str = "auto",
    opponent: bool = False,
) -> Evaluation:
    """Policy and value of each row of a batch, for whoever is to act there.

    `evaluator` is one from `load_evaluator`, or any object with its method, or else weights by their file or name
    (`lite`, `full`), which are loaded once; `device` says where those run: `cpu`, `cuda`, or `auto`. With `opponent` it
    is the opponent's policy that is asked for, in place of one's own.

        >>> start = StateSet(START_FEN, True)
        >>> result = evaluate(Infostates.draw(start, 1, MOVE))
        >>> result.policy().shape, result.values.shape
        ((1, 4161), (1,))
    """
    if not hasattr(evaluator, "evaluate"):
        evaluator = load_evaluator(evaluator, device)  # type: ignore[arg-type]
    synopsis = synopsis_read_by(evaluator)
    legal = Legal(*infostates.legal())
    priors, values = np.empty(len(legal.actions), np.float32), np.empty(len(infostates), np.float32)
    for first in range(0, len(infostates), ROWS):
        rows = np.arange(first, min(first + ROWS, len(infostates)))
        begin, end = legal.offsets[first], legal.offsets[rows[-1] + 1]
        part = Legal(legal.actions[begin:end], legal.offsets[first : rows[-1] + 2] - begin)
        features = infostates.features(synopsis, rows)
        priors[begin:end], values[rows] = evaluator.evaluate(features, part, opponent)  # type: ignore[union-attr]
    return Evaluation(legal.actions, legal.offsets, priors, values)
