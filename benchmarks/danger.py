"""Is a move's danger what it says? `python benchmarks/danger.py ARCHIVE [PLAYER]`, PYTHONPATH=src in the source tree.

Of every move of a player in the games of an archive: the share of the states it held possible in which the move left
its king to be taken, that of its safest move, and whether the king was taken by the very next move.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penumbra import core
from penumbra.core import Game, GameRecord
from penumbra.games.archive import Archive
from penumbra.rbc.actions import code_to_action
from penumbra.rbc.domain import DANGER_STATES
from penumbra.rbc.tracker import ImpossibleObservation, Tracker

CAP = 5_000
EDGES = (1e-6, 0.05, 0.1, 0.2, 0.3, 0.7, 1.01)  # of the danger beyond the least possible


def dangers(record: GameRecord, color: bool) -> Iterator[tuple[float, float, bool]]:
    """(danger, the least there was, lost by the next move) of each move, as long as the set holds."""
    game = Game(record.start_fen or None, None, None)
    tracker = Tracker(color, game.fen(), cap=CAP, memory=0)
    lost = record.winner is (not color)
    moves = record.moves
    for i, (square, code) in enumerate(zip(record.senses, moves, strict=False)):
        ours = game.turn == color
        sense = square if square >= 0 else None
        if ours:
            tracker.opponent_moved(game.capture)
        contents = [content for _, content in game.sense(sense)]
        if ours:
            tracker.sensed(sense, contents)
            states = tracker.current
            some = states if len(states) <= DANGER_STATES else states.sample(DANGER_STATES, 1)
            actions = np.array(game.legal_actions(), np.int32)
            danger = core.danger(some, actions)
            chosen = float(danger[actions == code_to_action(code)][0])
            yield chosen, float(danger.min()), lost and i == len(moves) - 2
        _, capture = game.move(code_to_action(code), code >> 12)
        if ours:
            tracker.moved(code, game.last_taken, capture, game.over)


def main(path: str, player: str = "PenumbraMixture") -> None:
    rows: list[tuple[float, float, bool]] = []
    with Archive.open(Path(path)) as archive:
        for game in archive.games():
            if player in (game.white, game.black) and game.record.winner is not None:
                with contextlib.suppress(ImpossibleObservation):  # the cap cut the truth away; what was before counts
                    rows.extend(dangers(game.record, game.white == player))
    table = np.array(rows, np.float64)
    print(f"{len(table):,} moves")
    which = np.digitize(table[:, 0] - table[:, 1], EDGES)
    for i, edge in enumerate(EDGES):
        some = table[which == i]
        if len(some):
            danger, _, taken = some.mean(axis=0)
            print(f"beyond the least by less than {edge:g}: {len(some)} moves, danger {danger:.3f}, lost {taken:.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
