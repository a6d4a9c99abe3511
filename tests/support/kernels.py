"""Batches of the native core made from the oracles' steps, and the other way round."""

from collections.abc import Iterable, Sequence

import chess
import numpy as np

from penumbra import core
from tests.oracles.state_set import State, board_of, state_of
from tests.oracles.synopsis import Context
from tests.oracles.walks import Step


def core_context(context: Context) -> core.Context:
    return core.Context(
        context.last_from,
        context.last_to,
        context.last_own_capture,
        context.last_opposing_capture,
        np.array(context.previous, dtype=np.uint64),
        np.frombuffer(b"".join(context.previous_shares), np.uint8).reshape(7, 64),
    )


def fen_of(state: State) -> str:
    return board_of(state).fen(en_passant="fen")


def batch(steps: Sequence[Step], players: Sequence[chess.Color], limit: int = 128) -> core.Infostates:
    """One row for each step: the information state of that player."""
    rows = [
        core.Infostates.from_fens(
            [[fen_of(state) for state in sorted(step.states[player], key=repr)]],
            player,
            step.kind,
            limit,
            [core_context(step.context[player])],
        )
        for step, player in zip(steps, players, strict=True)
    ]
    return core.Infostates.concatenate(rows)


def states_of(batch: core.Infostates, row: int) -> set[State]:
    return {state_of(chess.Board(fen)) for fen in batch.fens(row)}


def context_of(batch: core.Infostates, row: int) -> Context:
    context = batch.context(row)
    return Context(
        context.last_from,
        context.last_to,
        context.own_capture,
        context.opposing_capture,
        tuple(int(plane) for plane in context.previous),
        tuple(plane.tobytes() for plane in context.previous_shares),
    )


def squares(planes: Iterable[int]) -> list[list[str]]:
    """Planes as square names, for messages that can be read."""
    return [[chess.square_name(square) for square in chess.SquareSet(int(plane))] for plane in planes]
