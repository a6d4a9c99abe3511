"""Penumbra plays reconnaissance blind chess with deep synoptic Monte Carlo planning, and takes it apart for study.

What is named here is the public interface, explained in docs/api.md; from version 0.2 on it changes by semantic
versioning. All else may change at any time. A name is imported when it is first asked for, so that `import penumbra`
costs next to nothing.

    import penumbra

    outcome = penumbra.play_game("penumbra", "hunter", nodes=200)  # any players, ours, reconchess' or a file
    session = penumbra.Session(True)                               # one side of a live game
    decision = session.decide(nodes=200)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penumbra.arena.game_loop import Clock, Outcome
    from penumbra.arena.single_game import play_game
    from penumbra.core import (
        MOVE,
        PASS,
        SENSE,
        START_FEN,
        Context,
        Game,
        GameRecord,
        ImpossibleObservation,
        Infostates,
        StateSet,
    )
    from penumbra.dsmcp.agent import Agent, Decision
    from penumbra.dsmcp.domain import Domain, Evaluator, Legal
    from penumbra.dsmcp.settings import Settings
    from penumbra.interop.history import read_record as read_game
    from penumbra.interop.history import write_record as write_game
    from penumbra.interop.local_game import LocalGame
    from penumbra.network.evaluation import Evaluation, evaluate
    from penumbra.network.loading import load_evaluator, load_weights
    from penumbra.network.weights import Weights
    from penumbra.players.penumbra.configuration import Configuration
    from penumbra.players.penumbra.factory import Penumbra
    from penumbra.players.player import Player
    from penumbra.players.session import OutOfTurn, Session
    from penumbra.rbc.actions import action_name, code_to_uci, parse_action, parse_square, square_name, uci_to_code
    from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
    from penumbra.rbc.sense_partitions import INNER_SQUARES, sense_groups
    from penumbra.rbc.synopsis import PLANES, SHARES
    from penumbra.rbc.tracker import Tracker
    from penumbra.review.analysis import analyse

__version__ = "0.1.0"

# Where each name lives; `module:name` where it is called otherwise there.
_HOMES = {
    "Agent": "dsmcp.agent",
    "Clock": "arena.game_loop",
    "Configuration": "players.penumbra.configuration",
    "Context": "core",
    "Decision": "dsmcp.agent",
    "Domain": "dsmcp.domain",
    "Evaluation": "network.evaluation",
    "Evaluator": "dsmcp.domain",
    "Game": "core",
    "GameRecord": "core",
    "INNER_SQUARES": "rbc.sense_partitions",
    "ImpossibleObservation": "core",
    "Infostates": "core",
    "Legal": "dsmcp.domain",
    "LocalGame": "interop.local_game",
    "MOVE": "core",
    "Moved": "rbc.observations",
    "Observation": "rbc.observations",
    "OpponentMoved": "rbc.observations",
    "OutOfTurn": "players.session",
    "Outcome": "arena.game_loop",
    "PASS": "core",
    "PLANES": "rbc.synopsis",
    "Penumbra": "players.penumbra.factory",
    "Player": "players.player",
    "SENSE": "core",
    "SHARES": "rbc.synopsis",
    "START_FEN": "core",
    "Sensed": "rbc.observations",
    "Session": "players.session",
    "Settings": "dsmcp.settings",
    "StateSet": "core",
    "Tracker": "rbc.tracker",
    "Weights": "network.weights",
    "action_name": "rbc.actions",
    "analyse": "review.analysis",
    "code_to_uci": "rbc.actions",
    "evaluate": "network.evaluation",
    "load_evaluator": "network.loading",
    "load_weights": "network.loading",
    "parse_action": "rbc.actions",
    "parse_square": "rbc.actions",
    "play_game": "arena.single_game",
    "read_game": "interop.history:read_record",
    "sense_groups": "rbc.sense_partitions",
    "square_name": "rbc.actions",
    "uci_to_code": "rbc.actions",
    "write_game": "interop.history:write_record",
}

__all__ = [
    "INNER_SQUARES",
    "MOVE",
    "PASS",
    "PLANES",
    "SENSE",
    "SHARES",
    "START_FEN",
    "Agent",
    "Clock",
    "Configuration",
    "Context",
    "Decision",
    "Domain",
    "Evaluation",
    "Evaluator",
    "Game",
    "GameRecord",
    "ImpossibleObservation",
    "Infostates",
    "Legal",
    "LocalGame",
    "Moved",
    "Observation",
    "OpponentMoved",
    "OutOfTurn",
    "Outcome",
    "Penumbra",
    "Player",
    "Sensed",
    "Session",
    "Settings",
    "StateSet",
    "Tracker",
    "Weights",
    "__version__",
    "action_name",
    "analyse",
    "code_to_uci",
    "evaluate",
    "load_evaluator",
    "load_weights",
    "parse_action",
    "parse_square",
    "play_game",
    "read_game",
    "sense_groups",
    "square_name",
    "uci_to_code",
    "write_game",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, called = _HOMES[name].partition(":")
    found = getattr(importlib.import_module(f"penumbra.{home}"), called or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
