"""Batches of information states: how they are made, taken apart and put together, their keys and legal actions."""

from __future__ import annotations

import random

import chess
import numpy as np
import pytest

from penumbra import core
from penumbra.rbc.actions import PASS
from tests.oracles.infostate import listed_actions
from tests.oracles.state_set import board_of
from tests.oracles.static_analysis import undominated_senses
from tests.oracles.synopsis import MOVE, SENSE, Context
from tests.oracles.walks import Step
from tests.support.kernels import batch, context_of, core_context, states_of
from tests.support.situations import random_steps

EMPTY = "4k3/8/8/8/8/8/8/4K3 w - - 0 1"


def some_steps() -> list[Step]:
    return random_steps(6, 12, 24)


def actors(steps: list[Step]) -> core.Infostates:
    return batch(steps, [step.actor for step in steps])


def test_rows_hold_what_they_were_made_of() -> None:
    steps = some_steps()
    for player_is_actor in (True, False):
        players = [step.actor == player_is_actor for step in steps]
        rows = batch(steps, players)
        assert len(rows) == len(steps) and rows.ell == 128
        assert rows.players.tolist() == players
        assert rows.turns.tolist() == [step.actor for step in steps]
        assert rows.steps.tolist() == [step.kind for step in steps]
        for row, (step, player) in enumerate(zip(steps, players, strict=True)):
            assert states_of(rows, row) == step.states[player]
            assert rows.counts[row] == len(step.states[player])
            assert context_of(rows, row) == step.context[player]


def test_taking_concatenating_and_copying() -> None:
    rows = actors(some_steps())
    order = np.random.default_rng(0).permutation(len(rows))
    taken = rows.take(order)
    assert np.array_equal(taken.keys(True), rows.keys(True)[order])
    assert taken.take(np.argsort(order)).fens(3) == rows.fens(3)
    halves = core.Infostates.concatenate([rows.take(np.arange(70)), rows.take(np.arange(70, len(rows)))])
    assert np.array_equal(halves.synopsis(), rows.synopsis())
    repeated = rows.take(np.array([5, 5, 5]))
    assert repeated.fens(0) == repeated.fens(2) == rows.fens(5)
    assert np.array_equal(core.Infostates.concatenate([rows]).keys(True), rows.keys(True))
    small = core.Infostates.from_fens([[EMPTY]], True, SENSE, ell=2)
    assert core.Infostates.concatenate([small, rows]).ell == 128
    assert len(core.Infostates.concatenate([])) == 0


def test_a_batch_may_have_a_hundred_thousand_rows() -> None:
    states = core.StateSet(core.START_FEN, False).expand(None)
    rows = core.Infostates.draw(states, 100_000, SENSE, ell=4)
    assert rows.counts.tolist() == [4] * 100_000
    assert rows.synopsis().shape == (100_000, 104)
    # 21 states, four at a time, and every choice of them is met
    assert len(np.unique(rows.keys())) == 5985


def test_arrays_are_copies() -> None:
    rows = actors(some_steps()[:3])
    rows.counts[:] = 99
    rows.context(0).previous[:] = 7
    rows.context(0).previous_shares[:] = 7
    assert 99 not in rows.counts
    assert 7 not in rows.context(0).previous
    assert 7 not in rows.context(0).previous_shares


def test_keys_depend_on_the_set_the_player_and_the_step_alone() -> None:
    rng = random.Random(0)
    fens = core.StateSet(core.START_FEN, False).expand(None).fens()

    def key(states: list[str], kind: int = SENSE, context: Context | None = None, with_context: bool = False) -> int:
        contexts = [core_context(context or Context())]
        return int(core.Infostates.from_fens([states], False, kind, 128, contexts).keys(with_context)[0])

    base = key(fens)
    assert key(rng.sample(fens, len(fens))) == base
    assert key([*fens, fens[3]]) == base
    assert key(fens[1:]) != base
    assert key(fens, MOVE) != base
    remembers = [Context(), Context(12, 28), Context(28, 12), Context(None, None, 12, 28), Context(previous=(1,) * 18)]
    remembers.append(Context(previous_shares=(bytes(64),) * 6 + (bytes(63) + b"\1",)))
    assert {key(fens, context=context) for context in remembers} == {base}
    assert len({key(fens, context=context, with_context=True) for context in remembers}) == len(remembers)


def test_the_two_players_of_a_state_have_different_keys() -> None:
    fens = [[EMPTY]]
    keys = {
        int(core.Infostates.from_fens(fens, player, kind).keys()[0])
        for player in (True, False)
        for kind in (SENSE, MOVE)
    }
    assert len(keys) == 4


def test_different_sets_have_different_keys() -> None:
    steps = random_steps(60, 12, 24)
    rows = actors(steps)
    distinct = {(step.actor, step.kind, step.states[step.actor]) for step in steps}
    assert len(np.unique(rows.keys())) == len(distinct)


def test_legal_actions_are_the_listed_ones() -> None:
    steps = some_steps()
    actions, offsets = actors(steps).legal()
    assert actions.dtype == np.int32 and offsets.dtype == np.int64
    assert (offsets[0], offsets[-1]) == (0, len(actions))
    for row, step in enumerate(steps):
        here = actions[offsets[row] : offsets[row + 1]].tolist()
        legal = listed_actions(board_of(step.truth)) | {PASS} if step.kind == MOVE else set(chess.SQUARES)
        assert set(here) == legal and len(here) == len(legal)


def test_pruned_senses_are_those_that_nothing_dominates() -> None:
    steps = some_steps()
    rows = actors(steps)
    actions, offsets = rows.legal(prune=True)
    whole, whole_offsets = rows.legal()
    for row, step in enumerate(steps):
        here = actions[offsets[row] : offsets[row + 1]].tolist()
        if step.kind == SENSE:
            assert set(here) == undominated_senses(step.actor_boards(), step.actor)
        else:
            assert here == whole[whole_offsets[row] : whole_offsets[row + 1]].tolist()


def test_legal_actions_are_those_of_the_game() -> None:
    game = core.Game()
    rng = random.Random(3)
    for _ in range(60):
        if game.over:
            break
        rows = core.Infostates.from_fens([[game.fen()]], game.turn, game.step)
        assert rows.legal()[0].tolist() == game.legal_actions()
        game.act(rng.choice(game.legal_actions()))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[EMPTY], []], "row 1: "),
        ([[EMPTY], ["nonsense"]], "row 1: "),
        ([[EMPTY], [EMPTY, "4k3/8/8/8/8/8/8/3K4 w - - 0 1"]], "row 1: "),
        ([[EMPTY], [EMPTY, "4k3/8/8/8/8/8/8/4K3 b - - 0 1"]], "row 1: "),
        ([[EMPTY], [f"{kings}/8/8/8/8/8/8/4K3 w - - 0 1" for kings in ("k7", "1k6", "2k5")]], "row 1: 3 states"),
    ],
    ids=["no state", "no FEN", "other own pieces", "another side to move", "too many states"],
)
def test_rows_that_are_no_information_state_are_named(rows: list[list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core.Infostates.from_fens(rows, True, SENSE, ell=2)


def test_other_input_is_refused_too() -> None:
    states = core.StateSet(core.START_FEN, True)
    rows = core.Infostates.from_fens([[EMPTY]] * 2, True, SENSE)
    with pytest.raises(ValueError, match="1 contexts for 2 rows"):
        core.Infostates.from_fens([[EMPTY]] * 2, True, SENSE, 128, [core.Context()])
    for limit in (0, -1):
        with pytest.raises(ValueError, match=f"not {limit}"):
            core.Infostates.draw(states, 1, SENSE, limit)
        with pytest.raises(ValueError, match=f"not {limit}"):
            core.Infostates.from_fens([[EMPTY]], True, SENSE, limit)
    with pytest.raises(ValueError, match="-1 rows"):
        core.Infostates.draw(states, -1, SENSE)
    for step in (-1, 2):
        with pytest.raises(ValueError, match=f"not {step}"):
            core.Infostates.draw(states, 1, step)
    for row in (-1, 2):
        with pytest.raises(IndexError, match=f"row {row} is not in a batch of 2"):
            rows.take(np.array([0, row]))
        with pytest.raises(IndexError, match=f"row {row} is not in a batch of 2"):
            rows.fens(row)
        with pytest.raises(IndexError, match=f"row {row} is not in a batch of 2"):
            rows.context(row)
    with pytest.raises(ValueError):
        core.Context(last_from=64)
