"""From the states that were possible to those that an observation leaves possible."""

from __future__ import annotations

from penumbra.core import ImpossibleObservation, StateSet
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed


def possible_after(states: StateSet, observation: Observation, cap: int = 0, seed: int = 0) -> StateSet:
    """The states possible after an observation; `ImpossibleObservation` if none agrees with it.

    Of more than `cap` successors of an opponent's move (0: no cap) a random subset stays, drawn by `seed`.
    """
    match observation:
        case OpponentMoved(capture):
            return states.expand(capture, cap=cap, seed=seed)
        case Sensed(square, contents):
            if square is not None:
                return states.filter_sense(square, list(contents))
            if contents:
                raise ImpossibleObservation(f"{observation}, and yet it showed something")
            return states
        case Moved(requested, taken, capture, ended):
            return states.apply_move(requested, taken, capture, ended)
