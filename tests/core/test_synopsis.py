"""The native synopsis: equal to the oracle plane by plane, and everything that follows from the definitions."""

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from functools import cache

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from penumbra import core
from penumbra.rbc.synopsis import PLANES
from tests.oracles.synopsis import MOVE, PAIRS, SENSE, Context, synopsis
from tests.support.kernels import batch, core_context, squares
from tests.support.situations import SCALE, Known, known, mirrored, random_steps, real_games, rows_of

Planes = NDArray[np.uint64]

WALKS = 60 * SCALE


@cache
def random_knowledge() -> list[Known]:
    """The actors' information states in random games."""
    return [
        Known(
            step.actor,
            step.kind,
            [board.fen(en_passant="fen") for board in step.actor_boards()],
            step.context[step.actor],
        )
        for step in random_steps(WALKS, plies=12, limit=24)
    ]


@cache
def real_knowledge() -> list[Known]:
    """Draws of one state, of a few and of up to 64 in recorded games; each draw has a memory of its own."""
    return [
        state
        for game in real_games()
        for size in (1, 6, 64)
        for seed in range(SCALE)
        for state in known(game, size, seed)
    ]


def assert_equal(planes: Planes, expected: Sequence[Sequence[int]]) -> None:
    """Equal, or the first difference in words."""
    wanted = np.array(expected, dtype=np.uint64)
    assert planes.shape == wanted.shape and planes.dtype == np.uint64
    for row, plane in np.argwhere(planes != wanted)[:1]:
        shown, true = squares([planes[row, plane], wanted[row, plane]])
        pytest.fail(f"row {row}, plane {plane} ({PLANES[plane].name}) is {shown}, but should be {true}")


def test_every_plane_equals_the_oracle_in_random_games() -> None:
    states = random_knowledge()
    assert len(states) == WALKS * 24
    assert {state.player for state in states} == {True, False}
    assert max(len(state.fens) for state in states) == 24
    assert_equal(rows_of(states).synopsis(), [state.planes() for state in states])


def test_every_plane_equals_the_oracle_in_real_games() -> None:
    states = real_knowledge()
    assert len(states) > 550 * SCALE
    assert_equal(rows_of(states).synopsis(), [state.planes() for state in states])


def test_every_plane_is_met_set_and_clear() -> None:
    """Planes that never change would be compared with nothing."""
    planes = rows_of([*random_knowledge(), *real_knowledge()]).synopsis()
    varied = [plane.number for plane in PLANES if plane.sort != "constant"]
    assert np.all(np.bitwise_or.reduce(planes)[varied] != 0)
    assert np.all(np.bitwise_and.reduce(planes)[varied] != np.bitwise_or.reduce(planes)[varied])


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/8/8/8/8/R7 w - - 0 1",
        "4k3/8/8/8/8/8/8/R7 b - - 0 1",
        "8/P7/8/8/8/8/p7/4K3 w - - 0 1",
        "QQQQkQQQ/8/8/8/8/8/8/qqqKqqqq w - - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
        "4k3/8/8/PpP5/8/8/8/4K3 w - b6 0 1",
        "4k3/8/8/8/pPp5/8/8/4K3 b - b3 0 1",
    ],
    ids=[
        "no kings",
        "no opposing king",
        "pawns about to promote",
        "queens",
        "castling",
        "en passant",
        "en passant, Black",
    ],
)
@pytest.mark.parametrize("kind", [SENSE, MOVE])
def test_odd_positions(fen: str, kind: int) -> None:
    state = Known(chess.Board(fen).turn, kind, [fen], Context())
    assert_equal(rows_of([state]).synopsis(), [state.planes()])


def test_a_full_row_of_128_states() -> None:
    states = core.StateSet(core.START_FEN, False).expand(None).apply_move(0, 0, None).expand(None)
    drawn = core.Infostates.draw(states, 1, core.SENSE)
    boards = map(chess.Board, drawn.fens(0))
    assert drawn.counts.tolist() == [128]
    assert_equal(drawn.synopsis(), [synopsis(chess.BLACK, SENSE, boards, Context())])


def samples() -> list[Known]:
    """A cross-section for the property tests."""
    return [*random_knowledge()[::4], *real_knowledge()[::3]]


def test_order_and_repetition_of_states_do_not_matter() -> None:
    rng = random.Random(0)
    states = samples()
    shuffled = [Known(s.player, s.kind, rng.sample([*s.fens, s.fens[0]], len(s.fens) + 1), s.context) for s in states]
    assert np.array_equal(rows_of(states).synopsis(), rows_of(shuffled).synopsis())


def outside(smaller: NDArray[np.uint64], larger: NDArray[np.uint64]) -> bool:
    return bool(np.any(smaller & ~larger))


def test_definite_is_possible_and_equals_it_for_a_single_state() -> None:
    states = samples()
    many = rows_of(states).synopsis()
    one = rows_of([Known(s.player, s.kind, s.fens[:1], s.context) for s in states]).synopsis()
    assert [(d, p) for d, p in PAIRS if outside(many[:, d], many[:, p])] == []
    assert [(d, p) for d, p in PAIRS if np.any(one[:, d] != one[:, p])] == []


def test_one_more_state_clears_definite_bits_and_sets_possible_ones() -> None:
    states = [state for state in samples() if len(state.fens) > 1]
    more = rows_of(states).synopsis()
    fewer = rows_of([Known(s.player, s.kind, s.fens[1:], s.context) for s in states]).synopsis()
    cleared = {int(plane) for plane in np.argwhere(fewer & ~more)[:, 1]}
    appeared = {int(plane) for plane in np.argwhere(more & ~fewer)[:, 1]}
    assert {PLANES[plane].sort for plane in cleared} == {"and", "derived"}
    assert {PLANES[plane].sort for plane in appeared} == {"or"}


def test_identities() -> None:
    p = rows_of(samples()).synopsis().T
    assert np.array_equal(p[11], ~p[79])
    assert np.array_equal(p[79], np.bitwise_or.reduce(p[12:18]))
    assert np.array_equal(p[80], p[18] & p[11])
    assert np.array_equal(p[38], p[49] | p[50])
    assert np.array_equal(p[52], p[63] | p[64])
    within = [(18, 25), (36, 37), (37, 38), (39, 40), (40, 41), (71, 72), (72, 70), (40, 37), (41, 38), (53, 51)]
    within += [(54, 52), (64, 66), (83, 82), (82, 81), (65, 31), (80, 68), (75, 73), (78, 76), (42, 36), (44, 36)]
    assert [pair for pair in within if outside(p[pair[0]], p[pair[1]])] == []


def test_remembered_planes_are_those_of_the_last_move_step() -> None:
    for game in real_games():
        last = {chess.WHITE: np.zeros(18, np.uint64), chess.BLACK: np.zeros(18, np.uint64)}
        for state in known(game, 20, 1):
            planes = rows_of([state]).synopsis()[0]
            assert np.array_equal(planes[86:], last[state.player])
            if state.kind == MOVE:
                last[state.player] = planes[18:36]


def test_previous_squares_differ_from_the_last_ones_in_ordinary_games() -> None:
    for game in real_games():
        planes = rows_of(list(known(game, 1, 0))).synopsis()[4:]
        assert np.mean(np.any(planes[:, 100:] != planes[:, 32:36], axis=1)) > 0.8


def test_mirroring_and_swapping_colours_changes_neither_planes_nor_actions() -> None:
    states = samples()
    here, there = rows_of(states), rows_of([mirrored(state) for state in states])
    assert np.array_equal(here.synopsis(), there.synopsis())
    for prune in (False, True):
        (actions, offsets), (mirrored_actions, mirrored_offsets) = here.legal(prune), there.legal(prune)
        assert np.array_equal(actions, mirrored_actions) and np.array_equal(offsets, mirrored_offsets)


def test_planes_left_out_are_zero_and_the_rest_untouched() -> None:
    rows = rows_of(samples()[:50])
    whole = rows.synopsis()
    for leave_out in ([], [0], [63, 64], [103, 26, 26], list(range(104))):
        planes = rows.synopsis(leave_out)
        kept = [plane for plane in range(104) if plane not in leave_out]
        assert np.array_equal(planes[:, kept], whole[:, kept])
        assert not np.any(planes[:, leave_out])


@pytest.mark.parametrize("plane", [-1, 104, 1000])
def test_a_plane_that_does_not_exist_cannot_be_left_out(plane: int) -> None:
    rows = core.Infostates.from_fens([[core.START_FEN]], True, core.SENSE)
    with pytest.raises(ValueError, match=f"plane {plane} is not in 0 to 103"):
        rows.synopsis([3, plane])


def test_batches_of_any_size_give_each_row_its_own_planes() -> None:
    states = samples()[:100]
    rows = rows_of(states)
    one_by_one = np.concatenate([rows.take(np.array([row])).synopsis() for row in range(len(rows))])
    assert np.array_equal(rows.synopsis(), one_by_one)
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(rows), 5_000)
    assert np.array_equal(rows.take(picks).synopsis(), one_by_one[picks])
    assert rows.take(np.array([], dtype=np.int64)).synopsis().shape == (0, 104)


def test_the_number_of_threads_does_not_matter(restore_threads: None) -> None:
    rows = batch(random_steps(6, 12, 24), [step.actor for step in random_steps(6, 12, 24)])
    rows = rows.take(np.arange(3_000) % len(rows))
    results: list[list[bytes]] = []
    for threads in (1, 2, 5):
        core.set_threads(threads)
        actions, offsets = rows.legal(True)
        results.append([rows.synopsis().tobytes(), actions.tobytes(), offsets.tobytes(), rows.keys(True).tobytes()])
    assert results[0] == results[1] == results[2]


def test_every_build_of_the_core_gives_the_same_planes() -> None:
    states = samples()[:60]
    expected = rows_of(states).synopsis()
    for build in core.BUILDS:
        if build != core.BUILD and core.BUILD == "generic":
            continue  # this processor may not run it
        module = importlib.import_module(f"penumbra.core._{build}")
        for state, planes in zip(states, expected, strict=True):
            remembered = core_context(state.context)
            context = module.Context(
                remembered.last_from,
                remembered.last_to,
                remembered.own_capture,
                remembered.opposing_capture,
                remembered.previous,
            )
            rows = module.Infostates.from_fens([state.fens], state.player, state.kind, 128, [context])
            assert np.array_equal(rows.synopsis()[0], planes)
