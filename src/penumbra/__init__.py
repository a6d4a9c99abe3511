"""Penumbra plays reconnaissance blind chess with deep synoptic Monte Carlo planning, and takes it apart for study.

The per-state work lives in the native core (`penumbra.core`), the game as players see it in `penumbra.rbc`, the planner
in `penumbra.dsmcp`, and everything that knows python-chess or reconchess in `penumbra.interop`. What is named here is
imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penumbra.review.analysis import analyse

__all__ = ["__version__", "analyse"]
__version__ = "0.1.0"

_HOMES = {"analyse": "penumbra.review.analysis"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
