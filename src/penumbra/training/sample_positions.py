"""Recorded games that come with the package, and situations from their middle in which both players know little.

The games are sixteen of real programs, one in 26 of a larger collection, so that short and long ones, good and bad
players come in their usual shares. A full row is an information state with as many states as ℓ allows.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from penumbra import core
from penumbra.core import GameRecord, Infostates, StateSet
from penumbra.rbc.observations import Moved, OpponentMoved
from penumbra.rbc.synopsis import Synopsis
from penumbra.rbc.tracker import Tracker
from penumbra.rbc.walk import walk
from penumbra.training.examples import ExampleSettings, make_examples

ELL = 128  # ℓ
FIRST_PLY = 10  # before it a game is in its opening
LARGEST = 50_000  # a game is followed until a set has more states
SEED = 1


@dataclass(frozen=True)
class FullSituation:
    """A step before which both players hold more than ℓ states possible, the truth among them."""

    kind: int
    truth: str
    actor: StateSet
    other: StateSet


@cache
def records() -> tuple[GameRecord, ...]:
    """The games, each a line of base64."""
    lines = files("penumbra.training").joinpath("sample_games.txt").read_text().split()
    return tuple(GameRecord.from_bytes(b64decode(line)) for line in lines)


def synopses(rows: int, synopsis: Synopsis = "binary") -> NDArray[np.uint64]:
    """uint64[rows, words]: steps of these games at random, senses and moves, as the players at them knew them."""
    examples = make_examples(records(), ExampleSettings(cap=1_000, settle=False, synopsis=synopsis))
    return examples.synopses[np.random.default_rng(SEED).permutation(len(examples))[:rows]]


@cache
def full_situations() -> tuple[FullSituation, ...]:
    """All there are in these games, senses and moves."""
    return tuple(situation for record in records() for situation in _follow(record))


def _follow(record: GameRecord) -> Iterator[FullSituation]:
    trackers = {color: Tracker(color, record.start_fen or core.START_FEN, memory=0) for color in (True, False)}
    for step in walk(record):
        color = step.color
        for observation in step.told:
            trackers[color].observe(observation)
            actor, other = trackers[color].current, trackers[not color].current
            if isinstance(observation, Moved):
                continue
            kind = core.SENSE if isinstance(observation, OpponentMoved) else core.MOVE
            if kind == core.SENSE and len(actor) > LARGEST:
                return
            if step.before.plies >= FIRST_PLY and len(actor) > ELL and len(other) > ELL:
                yield FullSituation(kind, step.before.fen(), actor, other)


@cache
def full_rows(kind: int, rows: int) -> tuple[Infostates, Infostates]:
    """(the actor's, the other player's) information states before a step of this kind, all situations in turn."""
    situations = [situation for situation in full_situations() if situation.kind == kind]
    each = -(-rows // len(situations))
    actors, others = zip(*(_draw(situation, each) for situation in situations), strict=True)
    order = np.arange(rows) % len(situations) * each + np.arange(rows) // len(situations)
    actor, other = Infostates.concatenate(actors).take(order), Infostates.concatenate(others).take(order)
    if min(actor.counts.min(), other.counts.min()) < ELL:
        raise RuntimeError("a benchmark of full sets was given one that is not")
    return actor, other


def _draw(situation: FullSituation, rows: int) -> tuple[Infostates, Infostates]:
    """Draws of both sets that stand in the true state."""
    kind, color = situation.kind, situation.actor.owner
    actor_there, other_there = (
        Infostates.draw(StateSet(situation.truth, owner), rows, kind, ELL) for owner in (color, not color)
    )
    actor = Infostates.draw(situation.actor, rows, kind, ELL, seed=SEED, truths=other_there)
    return actor, Infostates.draw(situation.other, rows, kind, ELL, seed=SEED + 1, truths=actor_there)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Lets kernels use so many threads."""
    before = core.threads()
    core.set_threads(count)
    try:
        yield
    finally:
        core.set_threads(before)
