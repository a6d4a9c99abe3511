"""Decisions as JSON, to be looked at later: what was chosen, what else was considered, and what was believed.

Squares are those of the real board. Values are win probabilities. `belief` is how likely each opposing piece stands on
each square, over the states in which the particles stand; `possible` is the same over the set of states.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penumbra.core import MOVE, Infostates, StateSet
from penumbra.dsmcp import Decision, Settings
from penumbra.dsmcp.belief import Health
from penumbra.rbc.actions import action_name, mirror_action
from penumbra.rbc.domain import Situation
from penumbra.rbc.marginals import shares
from penumbra.whole_files import AGAIN, write_text

MOST_PARTICLES = 512  # that a belief is summed over
FEW_PARTICLES = 64  # the same where every state of a particle counts


def belief_marginals(x: Situation, particles: Infostates | None) -> npt.NDArray[np.float64]:
    """float64[64, 6]: how likely each opposing piece stands on each viewer square, by the particles."""
    if particles is None or not len(particles):
        return set_marginals(x)
    rows = np.linspace(0, len(particles) - 1, min(len(particles), MOST_PARTICLES)).astype(np.int64)
    truths = Infostates.draw(x.states, len(rows), x.kind, 1, x.context, 0, False, particles.take(rows))
    planes = truths.synopsis()[:, 19:25]  # of one state each, what is definite is what is there
    bits = (planes[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)  # uint64[rows, 6, 64]
    return np.asarray(bits.mean(axis=0).T)


def set_marginals(x: Situation) -> npt.NDArray[np.float64]:
    """float64[64, 6]: the same, with every state of the set as likely as any other."""
    return np.asarray(x.states.marginals()[:, 7:] / len(x.states))


def knowledge_marginals(particles: Infostates) -> npt.NDArray[np.float64]:
    """float64[64, 6]: how likely each of our pieces stands on each of the opponent's squares, as the opponent has it.

    A particle is what the opponent may know; each of its states counts the same, and so does each particle.
    """
    total = np.zeros((64, 6))
    rows = np.linspace(0, len(particles) - 1, min(len(particles), FEW_PARTICLES)).astype(np.int64)
    for row in rows:
        states = StateSet.from_fens(particles.fens(int(row)), bool(particles.players[row]))
        total += states.marginals()[:, 7:] / len(states)
    return np.asarray(total / max(1, len(rows)))


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
        "health": None if decision.belief is None else _health(decision.belief),
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
        "belief": shares(belief_marginals(x, particles), color),
        "possible": shares(set_marginals(x), color),
    }


def write_decisions(
    path: str | Path,
    decisions: list[dict[str, Any]],
    *,
    player: str,
    color: bool,
    opponent: str,
    settings: Settings,
    go_on: str = AGAIN,
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
    write_text(path, json.dumps(data, indent=1) + "\n", go_on)


def _health(health: Health) -> dict[str, Any]:
    """How the belief stood and what it took to refill it."""
    return {
        "particles": health.particles,
        "ancestors": health.ancestors,
        "singletons": health.singletons,
        "rejections": _number(health.rejections),
        "inferences": health.inferences,
        "seconds": _number(health.seconds),
        "few": health.few,
    }


def _number(value: float | np.floating[Any]) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return round(float(value), 6) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
