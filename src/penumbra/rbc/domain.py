"""Reconnaissance blind chess as a domain of DSMCP: senses and moves are the two kinds of steps.

A `Situation` is X: the exact set of states before a step, the kind of that step, and what its owner remembers. It also
knows how it came about, so that what is learnt later can be carried back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from penumbra import core
from penumbra.core import MOVE, SENSE, START_FEN, Context, Infostates, StateSet
from penumbra.dsmcp.domain import Flags, Floats, Ints, Keys, Legal, Rows
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.possible import possible_after
from penumbra.rbc.synopsis import Synopsis

INNER_SQUARES = np.array([rank * 8 + file for rank in range(1, 7) for file in range(1, 7)], dtype=np.int32)
EXACT_SENSES = 20_000  # past so many states, dominated senses are not looked for beyond the edges of the board


@dataclass(frozen=True)
class Situation:
    """X before a step. `came_by` is what was observed on the way from the situation before; None: nothing."""

    states: StateSet
    kind: int
    context: Context
    came_by: Observation | None = None

    @property
    def ours(self) -> bool:
        return self.states.turn == self.states.owner


def start(owner: bool, fen: str = START_FEN) -> tuple[Situation, Infostates]:
    """The first situation of a game, and the opponent's information state in it."""
    situation = Situation(StateSet(fen, owner), SENSE, Context())
    return situation, Infostates.draw(StateSet(fen, not owner), 1, SENSE)


def observed(x: Situation, observation: Observation, ell: int = 128, cap: int = 0, seed: int = 0) -> Situation:
    """The situation after an observation; `ImpossibleObservation` if no state agrees with it.

    After our move some planes of this turn, of one drawing of ℓ states, are remembered in the next.
    """
    if x.ours and observation == OpponentMoved(None):
        return x  # the notice before the first turn of a game: nobody has moved
    states = possible_after(x.states, observation, cap, seed)
    before = Infostates.draw(x.states, 1, MOVE, ell, x.context, seed) if isinstance(observation, Moved) else None
    return reached(x, observation, states, before)


def reached(x: Situation, observation: Observation, states: StateSet, before: Infostates | None = None) -> Situation:
    """The situation after an observation that left these states.

    After our move `before` is our information state before it; without it, older planes stay remembered.
    """
    c = x.context
    match observation:
        case Sensed():
            return replace(x, states=states, kind=MOVE, came_by=observation)
        case Moved(_, taken, capture):
            if before is not None:
                context = before.context_after_move(0, taken, capture)
            else:
                start, target = (taken & 63, taken >> 6 & 63) if taken else (None, None)
                context = Context(start, target, capture, c.opposing_capture, c.previous, c.previous_shares)
        case OpponentMoved(capture):
            context = Context(c.last_from, c.last_to, c.own_capture, capture, c.previous, c.previous_shares)
    return Situation(states, SENSE, context, observation)


def opponent_sensed(x: Situation) -> Situation:
    """The opponent's sense tells us nothing."""
    return replace(x, kind=MOVE, came_by=None)


class ReconBlindChess:
    """The protocol `penumbra.dsmcp.Domain`, kernel by kernel; σ makes synopses of the sort that the evaluator reads."""

    synopsis: Synopsis = "binary"

    def __init__(self, synopsis: Synopsis = "binary") -> None:
        self.synopsis = synopsis

    def after(self, kind: int) -> tuple[int, bool]:
        return (MOVE, True) if kind == SENSE else (SENSE, False)

    def kind(self, x: Situation) -> int:
        return x.kind

    def ours(self, x: Situation) -> bool:
        return x.ours

    def advance(
        self,
        actor: Infostates,
        other: Infostates,
        actions: Ints,
        actor_ell: Ints,
        other_ell: Ints,
        seed: int,
        keyed: bool,
    ) -> tuple[Infostates, Infostates, Floats]:
        actor, other, ended = core.advance(actor, other, actions, actor_ell, other_ell, seed, keyed)
        return actor, other, np.where(ended, np.float32(1), np.float32(np.nan)).astype(np.float32)

    def legal(self, batch: Infostates, prune: bool) -> Legal:
        return Legal(*batch.legal(prune=prune))

    def exposed(self, batch: Infostates) -> Floats:
        _, _, losses = batch.settle(senses=False)
        return np.where(losses >= 0, np.float32(-1), np.float32(np.nan)).astype(np.float32)

    def settle(self, batch: Infostates, ours: bool) -> Floats:
        _, wins, _ = batch.settle(senses=False)
        sure = (wins >= 0) & (ours | (batch.counts > 1))
        return np.where(sure, np.float32(1), np.float32(np.nan)).astype(np.float32)

    def sigma(self, batch: Infostates, rows: Rows | None = None) -> npt.NDArray[Any]:
        return batch.features(self.synopsis, rows)

    def keys(self, batch: Infostates, with_context: bool) -> Keys:
        return batch.keys(with_context)

    def concatenate(self, batches: list[Infostates]) -> Infostates:
        return Infostates.concatenate(batches)

    def size(self, x: Situation) -> int:
        return len(x.states)

    def nbytes(self, x: Situation) -> int:
        return x.states.nbytes

    def particle_nbytes(self, ell: int) -> int:
        return 32 * (ell + 1) + 650

    def draw(self, x: Situation, rows: int, ell: int, seed: int, keyed: bool, truths: Infostates | None) -> Infostates:
        return Infostates.draw(x.states, rows, x.kind, ell, x.context, seed, keyed, truths)

    def root(self, x: Situation, static_analysis: bool) -> tuple[Ints, int | None]:
        sure: int = -1
        if x.kind == MOVE:
            if static_analysis:
                _, sure, _ = core.settle_set(x.states, MOVE, senses=False)
            actions, _ = Infostates.draw(x.states, 1, MOVE, 1).legal()
        elif not static_analysis:
            actions = np.arange(64, dtype=np.int32)
        else:
            exact = len(x.states) <= EXACT_SENSES
            senses, sure, _ = core.settle_set(x.states, SENSE, senses=exact)
            actions = np.array([s for s in range(64) if senses >> s & 1], np.int32) if exact else INNER_SQUARES
        return actions, sure if sure >= 0 else None

    def meets(self, particles: Infostates, x: Situation) -> Flags:
        return core.meets(particles, x.states).astype(np.bool_)

    def leads_into(
        self, particles: Infostates, before: Situation, after: Situation, actions: Ints, rows: Rows | None = None
    ) -> Flags:
        return core.leads_into(particles, before.states, after.states, actions, rows).astype(np.bool_)

    def advance_particles(
        self, particles: Infostates, rows: Rows, x: Situation, actions: Ints, ell: int, seed: int
    ) -> Infostates:
        """Particles `rows` after these actions of whoever acts at X, on the states where they and X stand."""
        return core.advance_particles(particles, rows, x.states, x.kind, actions, ell, seed)

    def singletons(self, before: Situation | None, after: Situation, rows: int, ell: int, seed: int) -> Infostates:
        states = None if before is None else before.states
        capture = after.came_by.capture if isinstance(after.came_by, Moved | OpponentMoved) else None
        return core.singletons(states, after.states, rows, after.kind, ell, capture, seed)

    def parents(self, before: Situation, after: Situation) -> Situation:
        match after.came_by:
            case None | Sensed():
                kept = after.states  # nothing moved: what is left is what there was
            case OpponentMoved(capture):
                kept = before.states.prune_to_parents_of_expansion(after.states, capture)
            case Moved(requested, taken, capture, ended):
                kept = before.states.prune_to_parents_of_move(after.states, requested, taken, capture, ended)
        return before if len(kept) == len(before.states) else replace(before, states=kept)
