"""Decisions as JSON, to be looked at later: what was chosen, what else was considered, and what was believed.

Squares are those of the real board. Values are win probabilities. `belief` is how likely each opposing piece stands on
each square, over the states in which the particles stand; `possible` is the same over the set of states.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penumbra.core import MOVE, Infostates
from penumbra.dsmcp import Decision, Settings
from penumbra.rbc.actions import SQUARE_NAMES, action_name, mirror_action, view
from penumbra.rbc.domain import Situation

PIECES = "PNBRQK"
FAINT = 0.005  # likelihoods below it are left out
MOST_PARTICLES = 512  # that a belief is summed over


def belief_marginals(x: Situation, particles: Infostates | None) -> npt.NDArray[np.float64]:
    """float64[64, 6]: how likely each opposing piece stands on each viewer square, by the particles."""
    if particles is None or not len(particles):
        return set_marginals(x)
    rows = np.linspace(0, len(particles) - 1, min(len(particles), MOST_PARTICLES)).astype(np.int64)
    truths = Infostates.draw(x.states, len(rows), x.kind, 1, x.memory, 0, False, particles.take(rows))
    planes = truths.synopsis()[:, 19:25]  # of one state each, what is definite is what is there
    bits = (planes[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)  # uint64[rows, 6, 64]
    return np.asarray(bits.mean(axis=0).T)


def set_marginals(x: Situation) -> npt.NDArray[np.float64]:
    """float64[64, 6]: the same, with every state of the set as likely as any other."""
    return np.asarray(x.states.marginals()[:, 7:] / len(x.states))


def real_action(action: int, color: bool) -> str:
    """The action's name in real squares."""
    return action_name(action if color else mirror_action(action))


def decision_to_json(
    decision: Decision, x: Situation, particles: Infostates | None, turn: int, color: bool
) -> dict[str, Any]:
    """One decision, taken at `x` with these particles."""
    order = np.lexsort((-decision.policy, -decision.visits))
    return {
        "turn": turn,
        "step": "move" if x.kind == MOVE else "sense",
        "action": real_action(decision.action, color),
        "reason": decision.reason,
        "value": _number(decision.value),
        "states": decision.states,
        "complete": x.states.complete,
        "particles": decision.particles,
        "nodes": decision.nodes,
        "playouts": decision.playouts,
        "seconds": _number(decision.seconds),
        "actions": [
            {
                "action": real_action(int(decision.actions[i]), color),
                "policy": _number(decision.policy[i]),
                "visits": _number(decision.visits[i]),
                "value": _number(decision.values[i]),
            }
            for i in order
        ],
        "belief": _sparse(belief_marginals(x, particles), color),
        "possible": _sparse(set_marginals(x), color),
    }


def write_decisions(
    path: str | Path,
    decisions: list[dict[str, Any]],
    *,
    player: str,
    color: bool,
    opponent: str,
    settings: Settings,
) -> None:
    """Writes a game's decisions to a file of their own."""
    data = {
        "type": "PenumbraDecisions",
        "player": player,
        "color": "white" if color else "black",
        "opponent": opponent,
        "settings": {name: _plain(value) for name, value in dataclasses.asdict(settings).items()},
        "decisions": decisions,
    }
    Path(path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _sparse(p: npt.NDArray[np.float64], color: bool) -> Mapping[str, Mapping[str, float]]:
    squares: dict[str, dict[str, float]] = {}
    for square, kind in zip(*np.nonzero(p >= FAINT), strict=True):
        name = SQUARE_NAMES[view(int(square), color)]
        squares.setdefault(name, {})[PIECES[kind]] = round(float(p[square, kind]), 3)
    return squares


def _number(value: float | np.floating[Any]) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return round(float(value), 6) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
