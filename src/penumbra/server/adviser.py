"""Hints for a person: what Penumbra would do, from that person's own observations and nothing else.

A hint is thought about for a number of nodes, not of seconds, so that the same observations give the same hint.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penumbra.core import StateSet
from penumbra.dsmcp import Decision
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.players.player import tell
from penumbra.rbc.actions import PASS, SQUARE_NAMES, action_to_code, code_to_uci, mirror_code, view
from penumbra.rbc.observations import Observation
from penumbra.rbc.sense_partitions import INNER_SQUARES, sense_groups

NODES = 400  # of a hint
SEED = 1
LOOKED_AT = 2_000  # states, to say what a sense leaves of them


@dataclass(frozen=True)
class AdviceWish:
    """What a hint is asked for with; `actions` are those allowed where the next step is a move."""

    step: int
    observations: tuple[Observation, ...]
    actions: tuple[int, ...]


@dataclass(frozen=True)
class AdviserSpec:
    """The adviser of one side of a game."""

    color: bool
    fen: str
    configuration: Configuration

    def open(self) -> Adviser:
        return Adviser(self)


class Adviser:
    """Follows one side of a game as a Penumbra that is asked now and then."""

    def __init__(self, spec: AdviserSpec) -> None:
        by_nodes = dataclasses.replace(spec.configuration, seconds=None, nodes=NODES, seed=SEED)
        self._player = make_penumbra(dataclasses.replace(by_nodes, ponder=False, record=None))
        self._player.start(spec.color, spec.fen)
        self._color = spec.color
        self._told = 0

    def advise(self, wish: AdviceWish) -> dict[str, Any]:
        """The best sense or move now, and what is gained by it."""
        player = self._player
        for observation in wish.observations[self._told :]:
            tell(player, observation)
        self._told = len(wish.observations)
        if wish.actions:
            player.choose_move(wish.actions)
        else:
            player.choose_sense()
        if player.faults:
            raise RuntimeError(player.faults[-1])
        decision, states = player.decisions[-1], player.situation.states
        return self._move(decision, states) if wish.actions else self._sense(decision, states)

    def _sense(self, decision: Decision, states: StateSet) -> dict[str, Any]:
        square = int(decision.action)
        after = left_by(states, square)
        name = SQUARE_NAMES[view(square, self._color)]
        return {"kind": "sense", "square": name, "states": len(states), "after": round(after, 2)}

    def _move(self, decision: Decision, states: StateSet) -> dict[str, Any]:
        chosen = int(decision.action)
        others = [(action, value) for action, _, _, value in decision.best(8) if action != chosen]
        other = next((pair for pair in others if math.isfinite(pair[1])), None)
        king = king_taken(states, chosen)
        return {
            "kind": "move",
            "move": self._word(chosen),
            "value": _number(decision.value),
            "other": None if other is None else {"move": self._word(other[0]), "value": _number(other[1])},
            "king": round(king, 3),
            "states": len(states),
        }

    def _word(self, action: int) -> str | None:
        if action == PASS:
            return None
        code = action_to_code(action)
        return code_to_uci(code if self._color else mirror_code(code))

    def close(self) -> None:
        self._player.game_over(None, None)
        self._player.close()


def left_by(states: StateSet, square: int) -> float:
    """How many of the states would be left after this sense, on average over them."""
    some = states if len(states) <= LOOKED_AT else states.sample(LOOKED_AT, SEED)
    nearest = min(INNER_SQUARES, key=lambda inner: max(abs(inner // 8 - square // 8), abs(inner % 8 - square % 8)))
    counts = np.bincount(sense_groups(some)[INNER_SQUARES.index(nearest)])
    return float((counts**2).sum()) / len(some) * len(states) / len(some)


def king_taken(states: StateSet, action: int) -> float:
    """The share of the states in which a move takes the opponent's king where it stands."""
    if action == PASS:
        return 0.0
    target = (action - 64) % 64
    return float(states.marginals()[target, 12]) / len(states)


def _number(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None
