"""Kernels on particles: equal to the oracle, or to the plainer kernels whose work they save; strict about input."""

from __future__ import annotations

import random
from functools import cache

import chess
import numpy as np
import numpy.typing as npt
import pytest

from penumbra import core
from tests.oracles.infostate import advance, listed_actions
from tests.oracles.state_set import board_of
from tests.oracles.synopsis import MOVE, SENSE
from tests.oracles.views import PASS
from tests.oracles.walks import Step
from tests.support.kernels import batch, fen_of
from tests.support.situations import SCALE, random_steps

Rows = npt.NDArray[np.int64]


@cache
def sample_steps() -> list[Step]:
    return random_steps(60 * SCALE, 12, 24)[::7]


def set_of(step: Step, owner: chess.Color) -> core.StateSet:
    return core.StateSet.from_fens([fen_of(state) for state in sorted(step.states[owner], key=repr)], owner)


def legal_actions(step: Step) -> list[int]:
    return list(range(64)) if step.kind == SENSE else [*listed_actions(board_of(step.truth)), PASS]


def test_leads_into_equals_the_oracle() -> None:
    """A set before and part of the sets after: an action leads into it where the oracle's next truth is a member."""
    rng = random.Random(1)
    inside = outside = 0
    for step in sample_steps():
        for owner in chess.COLORS:
            particle, before = batch([step], [not owner]), set_of(step, owner)
            outcome = advance(step.states[step.actor], step.states[not step.actor], step.truth, step.action)
            known = outcome.actor if owner == step.actor else outcome.other
            some = {state for state in known if rng.random() < 0.7} | {outcome.truth}
            after = core.StateSet.from_fens([fen_of(state) for state in sorted(some, key=repr)], owner)
            actions = [step.action, *rng.sample(legal_actions(step), 5)]
            found = core.leads_into(
                particle, before, after, np.array(actions, np.int32), np.zeros(len(actions), np.int64)
            )
            for action, leads in zip(actions, found.tolist(), strict=True):
                led = advance([step.truth], [step.truth], step.truth, action)
                assert leads == (not led.ends and led.truth in some)
                inside, outside = inside + leads, outside + (not leads)
            assert found[0]
    assert inside > 500 and outside > 200


def some_rows(n: int, seed: int) -> Rows:
    """More rows than there are, some of them several times."""
    return np.random.default_rng(seed).integers(n, size=2 * n + 1)


@pytest.mark.parametrize("owner", [chess.WHITE, chess.BLACK], ids=["white", "black"])
def test_rows_are_those_of_a_batch_of_them(owner: chess.Color) -> None:
    """Particles by their rows, and a batch taken of these rows, come to the same."""
    for seed, step in enumerate(sample_steps()[::3]):
        particles = batch([step], [not owner]).take(np.zeros(3, np.int64))
        # The same player in other states of the owner's set.
        others = core.Infostates.draw(set_of(step, not owner), 3, step.kind, 2, seed=seed)
        particles = core.Infostates.concatenate([particles, others])
        rows = some_rows(len(particles), seed)
        taken, before = particles.take(rows), set_of(step, owner)
        actions = np.random.default_rng(seed).choice(legal_actions(step), len(rows)).astype(np.int32)
        found = core.leads_into(particles, before, before, actions, rows)
        np.testing.assert_array_equal(found, core.leads_into(taken, before, before, actions))
        np.testing.assert_array_equal(particles.synopsis(rows=rows), taken.synopsis())
        np.testing.assert_array_equal(particles.synopsis([3, 90], rows), taken.synopsis([3, 90]))


@pytest.mark.parametrize("ell", [1, 4, 128])
@pytest.mark.parametrize("keyed", [False, True])
def test_particles_advance_as_they_do_beside_the_owner(ell: int, keyed: bool) -> None:
    """`advance_particles` is what `advance` makes of them, whoever acts, cuts included."""
    senses = moves = 0
    for seed, step in enumerate(sample_steps()[::3]):
        for owner in chess.COLORS:
            particles, states = batch([step], [not owner]).take(np.zeros(4, np.int64)), set_of(step, owner)
            rows = some_rows(4, seed)
            actions = np.random.default_rng(seed).choice(legal_actions(step), len(rows)).astype(np.int32)
            actions[0] = step.action
            taken = particles.take(rows)
            truth = core.Infostates.draw(states, len(rows), step.kind, 1, truths=taken)
            if owner == step.actor:
                _, beside, _ = core.advance(truth, taken, actions, 1, ell, seed, keyed)
            else:
                beside, _, _ = core.advance(taken, truth, actions, ell, 1, seed, keyed)
            alone = core.advance_particles(particles, rows, states, step.kind, actions, ell, seed, keyed)
            assert alone.ell == ell
            for row in range(len(rows)):
                assert alone.fens(row) == beside.fens(row)
            np.testing.assert_array_equal(alone.keys(True), beside.keys(True))
            np.testing.assert_array_equal(alone.synopsis(), beside.synopsis())
            for field in ("counts", "players", "turns", "steps"):
                np.testing.assert_array_equal(getattr(alone, field), getattr(beside, field))
            senses, moves = senses + (step.kind == SENSE), moves + (step.kind == MOVE)
    assert senses > 50 and moves > 50


# Bad input.

FEN = "7k/8/8/8/8/8/8/R6K w - - 0 1"


def two_particles() -> core.Infostates:
    return core.Infostates.from_fens([[FEN]] * 2, False, MOVE)


def ask(
    particles: core.Infostates, fen: str = FEN, owner: bool = True, step: int = MOVE, action: int = PASS, row: int = 1
) -> None:
    rows, actions = np.array([0, row]), np.array([PASS, action], np.int32)
    core.advance_particles(particles, rows, core.StateSet(fen, owner), step, actions)


def test_particles_that_do_not_suit_the_set_are_named() -> None:
    ask(two_particles())
    with pytest.raises(ValueError, match="row 0: the particle belongs to the owner of the set"):
        ask(core.Infostates.from_fens([[FEN]] * 2, True, MOVE))
    with pytest.raises(ValueError, match="row 0: the particle and the set are of different moments"):
        ask(two_particles(), step=SENSE)
    with pytest.raises(ValueError, match="row 0: the particle and the set are of different moments"):
        ask(two_particles(), FEN.replace(" w ", " b "))
    elsewhere = core.Infostates.from_fens([[FEN], [FEN.replace("R6K", "R5K1")]], False, MOVE)
    with pytest.raises(ValueError, match="row 1: the particle does not meet the set"):
        ask(elsewhere)
    with pytest.raises(ValueError, match="row 1: the particle does not meet the set"):
        ask(core.Infostates.from_fens([[FEN], [FEN.replace("7k", "6k1")]], False, MOVE))


@pytest.mark.parametrize("action", [-1, 0, 64, 4161])
def test_an_illegal_action_of_a_particle_is_named(action: int) -> None:
    with pytest.raises(ValueError, match=f"row 1: action {action} is not legal"):
        ask(two_particles(), action=action)


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_is_none_is_named(row: int) -> None:
    message = f"row {row} is not in a batch of 2"
    particles, states = two_particles(), core.StateSet(FEN, True)
    with pytest.raises(IndexError, match=message):
        ask(particles, row=row)
    with pytest.raises(IndexError, match=message):
        core.leads_into(particles, states, states, np.array([PASS], np.int32), np.array([row]))
    with pytest.raises(IndexError, match=message):
        particles.synopsis(rows=np.array([row]))


def test_numbers_of_actions_and_rows_must_agree() -> None:
    particles, states, rows = two_particles(), core.StateSet(FEN, True), np.array([0, 1, 0])
    actions = np.full(2, PASS, np.int32)
    with pytest.raises(ValueError, match="2 actions for 3 rows"):
        core.advance_particles(particles, rows, states, MOVE, actions)
    with pytest.raises(ValueError, match="2 actions for 3 particles"):
        core.leads_into(particles, states, states, actions, rows)
    with pytest.raises(ValueError, match="3 actions for 2 particles"):
        core.leads_into(particles, states, states, np.full(3, PASS, np.int32))


def test_no_rows_are_no_error() -> None:
    none = np.empty(0, np.int64)
    particles, states, actions = two_particles(), core.StateSet(FEN, True), np.empty(0, np.int32)
    assert len(core.advance_particles(particles, none, states, MOVE, actions)) == 0
    assert len(core.leads_into(particles, states, states, actions, none)) == 0
    assert particles.synopsis(rows=none).shape == (0, 104)
