"""Penumbra plays reconnaissance blind chess with deep synoptic Monte Carlo planning, and takes it apart for study.

The per-state work lives in the native core (`penumbra.core`), the game as players see it in `penumbra.rbc`, the planner
in `penumbra.dsmcp`, and everything that knows python-chess or reconchess in `penumbra.interop`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penumbra.core import GameRecord

__version__ = "0.1.0"


def analyse(
    game: GameRecord | str | Path,
    *,
    turn: int | None = None,
    player: str | None = None,
    preset: str = "penumbra",
    seconds: float | None = None,
    nodes: int | None = None,
    seed: int = 0,
) -> Iterator[dict[str, Any]]:
    """What Penumbra would have done in a game: one decision for each step of `turn` of `player`, or of all and both.

    `game` is a record, or the path of a game as reconchess writes it. A step is thought about for so many seconds, or
    nodes. Decisions are as `penumbra.players.penumbra.recording` writes them, with what was `played` beside what was
    `chosen`.
    """
    from penumbra.players.penumbra.configuration import Configuration
    from penumbra.players.penumbra.presets import PRESETS
    from penumbra.review import analysis

    if preset not in PRESETS:
        raise ValueError(f"there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    if seconds is None and nodes is None:
        seconds = analysis.SECONDS
    configuration = Configuration(preset=preset, seconds=seconds, nodes=nodes, seed=seed)
    return analysis.analyse(game, configuration, turn, player)
