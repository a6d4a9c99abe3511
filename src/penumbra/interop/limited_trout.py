"""reconchess' TroutBot, unchanged but for how long Stockfish may think: a reconchess player, loaded by this module.

PENUMBRA_TROUT_NODES=2000      # nodes for each question, where set
PENUMBRA_TROUT_SECONDS=0.05    # else seconds; else TroutBot's own half second
"""

from __future__ import annotations

import os
from typing import Any

import chess
import chess.engine
from reconchess.bots import trout_bot


def limit_from_environment() -> chess.engine.Limit | None:
    """What is set; None: nothing."""
    if nodes := os.environ.get("PENUMBRA_TROUT_NODES"):
        return chess.engine.Limit(nodes=int(nodes))
    if seconds := os.environ.get("PENUMBRA_TROUT_SECONDS"):
        return chess.engine.Limit(time=float(seconds))
    return None


class LimitedEngine:
    """An engine that keeps to its own limit, whatever it is told."""

    def __init__(self, engine: chess.engine.SimpleEngine, limit: chess.engine.Limit) -> None:
        self._engine = engine
        self._limit = limit

    def play(self, board: chess.Board, limit: chess.engine.Limit) -> chess.engine.PlayResult:
        return self._engine.play(board, self._limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class LimitedTrout(trout_bot.TroutBot):
    def __init__(self) -> None:
        super().__init__()
        limit = limit_from_environment()
        if limit is not None:
            self.engine: Any = LimitedEngine(self.engine, limit)
