"""How fast playouts go without a network: nodes a second of the kernels alone.

A node is an information state of the player to act: its key, its synopsis and its legal actions, and then one action
played for both players by `advance`. Senses and moves are done in equal parts, as in play, from situations in which
both sets are full before the action.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penumbra import core
from penumbra.bench.report import Row, rate
from penumbra.core import Infostates
from penumbra.training.sample_positions import ELL, SEED, full_rows, on_threads

BATCH = 256
SCALING_BATCH = 1024


@dataclass(frozen=True)
class Nodes:
    """A batch of full rows and an action for each that does not end the game."""

    actor: Infostates
    other: Infostates
    actions: NDArray[np.int32]


def run(seconds: float) -> list[Row]:
    """`playouts.rate` for one core, the same with static analysis, and `playouts.threads.N` for scaling."""
    note = f"batches of {BATCH}, both sets of {ELL} states, middle games of real players; {core.BUILD} build, 1 thread"
    with on_threads(1):
        plain = rate(_playout(BATCH, settled=False), seconds)
        settled = rate(_playout(BATCH, settled=True), seconds)
    rows = [
        Row(
            "playouts.rate", plain, "nodes/s", note=f"advance + synopsis + legal + key, sense and move in turn; {note}"
        ),
        Row(
            "playouts.settled",
            settled,
            "nodes/s",
            note=f"the same with dominated senses pruned and wins looked for; {note}",
        ),
    ]
    return rows + [_scaling_row(threads, seconds) for threads in _thread_counts(os.cpu_count() or 1)]


def _scaling_row(threads: int, seconds: float) -> Row:
    with on_threads(threads):
        speed = rate(_playout(SCALING_BATCH, settled=False), seconds)
    return Row(
        f"playouts.threads.{threads}", speed, "nodes/s", note=f"all threads together, batches of {SCALING_BATCH}"
    )


def _thread_counts(cores: int) -> list[int]:
    """1, 2, 4, … and the number of cores."""
    return sorted({*(2**n for n in range(cores.bit_length()) if 2**n <= cores), cores})


def _playout(rows: int, settled: bool) -> Callable[[], int]:
    """One node at a sense and one at a move for each of `rows` rows."""
    batches = [_nodes(kind, rows) for kind in (core.SENSE, core.MOVE)]
    seed = SEED

    def work() -> int:
        nonlocal seed
        for nodes in batches:
            nodes.actor.keys()
            nodes.actor.synopsis()
            nodes.actor.legal(prune=settled)
            if settled:
                nodes.actor.settle(senses=False)
            seed += 1
            core.advance(nodes.actor, nodes.other, nodes.actions, ELL, ELL, seed, keyed=True)
        return 2 * rows

    return work


def _nodes(kind: int, rows: int) -> Nodes:
    """Actions are drawn from the legal ones; where one would take the king, the player passes."""
    actor, other = full_rows(kind, rows)
    legal, offsets = actor.legal()
    drawn = np.random.default_rng(SEED).random(rows)
    actions = legal[offsets[:-1] + (drawn * np.diff(offsets)).astype(np.int64)]
    _, _, ended = core.advance(actor, other, actions, ELL, ELL, SEED)
    return Nodes(actor, other, np.where(ended, np.int32(core.PASS), actions).astype(np.int32))
