"""Assistance for a person: what the exact tracker makes of that person's own observations, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penumbra.core import ImpossibleObservation
from penumbra.rbc.marginals import opposing_pieces
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.tracker import Tracker

CAP = 100_000  # states held; past it they are a random draw


class Assistant:
    """Follows one side of a game. Where a set cut to its cap has lost the truth, it has nothing more to say."""

    def __init__(self, color: bool, fen: str, observations: Sequence[Observation]) -> None:
        self._tracker: Tracker | None = Tracker(color, fen, cap=CAP, memory=0)
        self._color = color
        self.report(observations)

    def report(self, observations: Sequence[Observation]) -> dict[str, Any]:
        """After these further observations: the number of states, whether it is exact, and the opposing pieces."""
        for observation in observations:
            self._observe(observation)
        if self._tracker is None:
            return {"states": None, "complete": False, "pieces": {}}
        states = self._tracker.current
        return {
            "states": len(states),
            "complete": states.complete,
            "pieces": opposing_pieces(states),
        }

    def close(self) -> None:
        self._tracker = None

    def _observe(self, observation: Observation) -> None:
        if self._tracker is None:
            return
        try:
            match observation:
                case OpponentMoved(capture):
                    self._tracker.opponent_moved(capture)
                case Sensed(square, contents):
                    self._tracker.sensed(square, contents)
                case Moved(requested, taken, capture, ended):
                    self._tracker.moved(requested, taken, capture, ended)
        except ImpossibleObservation:
            self._tracker = None
