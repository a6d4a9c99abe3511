"""Stockfish as the engine of the built-in opponents, instead of the native one.

Stockfish knows chess alone. What is different here stays with the native engine: a king that can be taken, a king left
to be taken, a player who cannot move, and boards with more pieces than a game has (a player with one board may believe
the oddest things). A state is asked about as a game of its own, so that its scores depend on nothing that was asked
before and, with a limit of nodes, repeat.

One Stockfish serves all players of a process, which ask in turn. One that dies or falls silent is started anew and
asked again; where it fails twice, the native engine answers for that state.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penumbra import core
from penumbra.configs.reader import ConfigurationError
from penumbra.core import KING_TAKEN, Game, StateSet
from penumbra.interop.uci import EngineDied, Line, UciEngine
from penumbra.players.opponents.engine import FAR, Actions, in_check
from penumbra.players.opponents.settings import EngineSettings
from penumbra.rbc.actions import uci_to_code, view_code

log = logging.getLogger(__name__)

OPTIONS = {"Threads": 1, "Hash": 1}  # a state is soon done with, and clearing much memory takes time
TRIES = 2
ALL_LINES = 256  # more than there are moves
UNLISTED = 100  # hundredths of a pawn: how much less than the last line's a move is worth that is in no line
MOST_PIECES = 32  # Stockfish's tables hold no more
_LARGEST = 20_000  # hundredths of a pawn: of a position that is no mate


def find_stockfish() -> str | None:
    """Stockfish's path: STOCKFISH_EXECUTABLE, else as on PATH, else where Debian has it."""
    path = os.environ.get("STOCKFISH_EXECUTABLE") or shutil.which("stockfish") or "/usr/games/stockfish"
    return path if Path(path).is_file() else None


class StockfishEngine:
    """`nodes` or, where above 0, `seconds` bound the search of each state; `lines` are the moves it ranks, 0 all."""

    def __init__(self, nodes: int, seconds: float = 0.0, lines: int = 0) -> None:
        path = find_stockfish()
        if path is None:
            raise ConfigurationError(
                "engine = 'stockfish': it is not found; install it, or set STOCKFISH_EXECUTABLE to its path"
            )
        self._path = path
        self._nodes = nodes
        self._seconds = seconds
        self._lines = lines

    def scores(self, states: StateSet, actions: Actions) -> NDArray[np.int32]:
        """int32[states, actions], as `penumbra.players.opponents.engine.Engine` has them."""
        scores = core.engine_scores(states, actions, 1, 1)  # which finds kings taken and kings left to be taken
        checks = in_check(states)
        for i, fen in enumerate(self._askable(states)):
            ranked = self._ranked(fen) if fen else {}
            if ranked:
                passing = None if self._lines or checks[i] else self._passing(fen)
                _fill(scores[i], Game(fen), actions, ranked, passing)
        return scores

    def values(self, states: StateSet) -> NDArray[np.int32]:
        """int32[states], likewise."""
        values = core.engine_values(states, 1, 1)
        for i, fen in enumerate(self._askable(states)):
            if fen and (lines := self._ask(fen, 1)):
                values[i] = _hundredths(lines[0])
        return values

    def _askable(self, states: StateSet) -> list[str]:
        """FENs, empty for those that Stockfish cannot be asked about."""
        kings = core.engine_values(states, 1, 1) >= KING_TAKEN
        return [
            "" if king or sum(c.isalpha() for c in fen.split(" ")[0]) > MOST_PIECES else fen
            for king, fen in zip(kings, states.fens(), strict=True)
        ]

    def _ranked(self, fen: str) -> dict[int, int]:
        """Scores by the moves' codes in real squares."""
        return {uci_to_code(line.move): _hundredths(line) for line in self._ask(fen, self._lines or ALL_LINES)}

    def _passing(self, fen: str) -> int | None:
        """What a pass is worth; nobody's king can be taken."""
        placement, side, rights, *_ = fen.split(" ")
        lines = self._ask(f"{placement} {'b' if side == 'w' else 'w'} {rights} - 0 1", 1)
        return -_hundredths(lines[0]) if lines else None

    def _ask(self, fen: str, lines: int) -> list[Line]:
        """What Stockfish finds, the best first; nothing if there is no move or it failed TRIES times."""
        for _ in range(TRIES):
            try:
                return running(self._path).analyse(fen, self._nodes, self._seconds, lines)
            except EngineDied as death:
                log.warning("Stockfish failed at %s: %s", fen, death)
                stop()
        return []


def make_engine(settings: EngineSettings, more: int) -> StockfishEngine:
    """As the settings say, with `more` times the nodes or seconds."""
    return StockfishEngine(settings.nodes * more, settings.seconds * more, settings.lines)


_RUNNING: dict[str, UciEngine] = {}  # the one of this process, by its path


def running(path: str) -> UciEngine:
    """This process's Stockfish, started if need be."""
    if path not in _RUNNING:
        _RUNNING[path] = UciEngine(path, OPTIONS)
    return _RUNNING[path]


def stop() -> None:
    """Ends it; the next question starts another."""
    while _RUNNING:
        _RUNNING.popitem()[1].close()


def _fill(row: NDArray[np.int32], start: Game, actions: Actions, ranked: dict[int, int], passing: int | None) -> None:
    """Scores of what the actions come to in this state, where that does not cost the king."""
    start.sense(None)
    floor = min(ranked.values()) - UNLISTED
    for j, action in enumerate(actions.tolist()):
        if row[j] < -FAR:
            continue
        game = start.copy()
        game.move(action)
        taken = view_code(game.last_taken, start.turn)
        row[j] = ranked.get(taken, floor if taken or passing is None else passing)


def _hundredths(line: Line) -> int:
    """Of a pawn, for the player to move; a mate is a king taken so many plies from now."""
    if not line.is_mate:
        return int(np.clip(line.score, -_LARGEST, _LARGEST))
    return KING_TAKEN - 2 * line.score if line.score > 0 else 2 * -line.score + 1 - KING_TAKEN
