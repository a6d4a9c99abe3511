"""Deep synoptic Monte Carlo planning, for any two-player game of imperfect information.

One file for each algorithm of the paper, in its letters. Nothing here knows chess: a game comes in as a `Domain`, its
knowledge as an `Evaluator`. Only the settings are loaded at once: they can be read and checked without numpy, which
starts threads of its own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penumbra.dsmcp.settings import PRESETS, Settings

if TYPE_CHECKING:
    from penumbra.dsmcp.agent import Agent, Decision
    from penumbra.dsmcp.domain import Domain, Evaluator, Infostates

__all__ = ["PRESETS", "Agent", "Decision", "Domain", "Evaluator", "Infostates", "Settings"]

_HOMES = {"Agent": "agent", "Decision": "agent", "Domain": "domain", "Evaluator": "domain", "Infostates": "domain"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"penumbra.dsmcp.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
