"""Assistance for a person: what the exact tracker makes of that person's own observations, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penumbra.rbc.marginals import opposing_pieces
from penumbra.rbc.observations import Observation
from penumbra.rbc.tracker import Follower

CAP = 100_000  # states held; past it they are a random draw


class Assistant:
    """Follows one side of a game. Where a set cut to its cap has lost the truth, it has nothing more to say."""

    def __init__(self, color: bool, fen: str, observations: Sequence[Observation]) -> None:
        self._follower = Follower(color, fen, cap=CAP)
        self.report(observations)

    def report(self, observations: Sequence[Observation]) -> dict[str, Any]:
        """After these further observations: the number of states, whether it is exact, and the opposing pieces."""
        for observation in observations:
            self._follower.observe(observation)
        states = self._follower.states
        if states is None:
            return {"states": None, "complete": False, "pieces": {}}
        return {
            "states": len(states),
            "complete": states.complete,
            "pieces": opposing_pieces(states),
        }

    def close(self) -> None:
        """Nothing is kept open."""
