"""The native shares: equal to the oracle byte by byte, and everything that follows from the definitions."""

from __future__ import annotations

import importlib
import random
from functools import cache

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from penumbra import core
from penumbra.rbc.synopsis import LAYOUTS, SHARES
from tests.oracles.shares import shares
from tests.oracles.synopsis import MOVE, SENSE, Context
from tests.support.kernels import core_context, fen_of
from tests.support.situations import Known, known, mirrored, random_steps, real_games, rows_of

Shares = NDArray[np.uint8]

FIRST = SHARES[0].number
KINGS_HANG, NUMBER_OF_STATES = slice(145 - FIRST, 147 - FIRST), 149 - FIRST


@cache
def samples() -> list[Known]:
    """The actors' information states in random games, and draws of a few and of up to 64 states in recorded games."""
    at_random = [
        Known(step.actor, step.kind, [fen_of(state) for state in step.states[step.actor]], step.context[step.actor])
        for step in random_steps(6, plies=12, limit=24)
    ]
    recorded = [state for game in real_games() for size in (6, 64) for state in known(game, size, 0)]
    return [*at_random[::3], *recorded[::3]]


def bits(planes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """uint64[B, N] as bool[B, N, 64]."""
    octets = np.ascontiguousarray(planes).astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").reshape(*planes.shape, 64).astype(np.bool_)


def assert_equal(found: Shares, states: list[Known]) -> None:
    """Equal to the oracle's, or the first difference in words."""
    wanted = np.array([[list(plane) for plane in state.shares()] for state in states], np.uint8)
    assert found.shape == wanted.shape == (len(states), len(SHARES), 64) and found.dtype == np.uint8
    for row, plane, square in np.argwhere(found != wanted)[:1]:
        name = f"{SHARES[plane].name} on {chess.square_name(square)}"
        pytest.fail(f"row {row}, {name} is {found[row, plane, square]}, but should be {wanted[row, plane, square]}")


def test_every_share_equals_the_oracle() -> None:
    states = samples()
    assert len(states) > 150
    assert {len(state.fens) for state in states} >= {1, 6, 24, 64}
    assert_equal(rows_of(states).shares(), states)


def test_every_share_is_met_at_both_ends_and_between() -> None:
    """Planes that never change would be compared with nothing."""
    found = rows_of(samples()).shares()
    for plane in SHARES:
        values = set(np.unique(found[:, plane.number - FIRST]).tolist())
        assert len(values) > 2, plane
        assert plane.sort != "share" or {0, 255} <= values, plane


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/8/8/8/8/R7 w - - 0 1",
        "4k3/8/8/8/8/8/8/R7 b - - 0 1",
        "QQQQkQQQ/8/8/8/8/8/8/qqqKqqqq w - - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
        "4k3/8/8/PpP5/8/8/8/4K3 w - b6 0 1",
    ],
    ids=["no kings", "no opposing king", "more material than there is room for", "castling", "en passant"],
)
@pytest.mark.parametrize("kind", [SENSE, MOVE])
def test_odd_positions(fen: str, kind: int) -> None:
    state = Known(chess.Board(fen).turn, kind, [fen], Context())
    assert_equal(rows_of([state]).shares(), [state])


@pytest.mark.parametrize("size", [31, 32, 33, 127, 128, 129, 300])
def test_sets_of_any_size(size: int) -> None:
    """Counters take 32 states at a time and hold 128; larger sets are counted in parts."""
    states = core.StateSet(core.START_FEN, False).expand(None).apply_move(0, 0, None).expand(None)
    drawn = core.Infostates.draw(states, 1, core.SENSE, size)
    assert drawn.counts.tolist() == [size]
    oracle = shares(chess.BLACK, SENSE, map(chess.Board, drawn.fens(0)), Context())
    assert [plane.tobytes() for plane in drawn.shares()[0]] == oracle


def test_255_is_always_and_0_is_never() -> None:
    """As the binary planes of the same features say, the previous turn's included."""
    rows = rows_of(samples())
    planes, found = bits(rows.synopsis()), rows.shares()
    for plane in SHARES:
        share = found[:, plane.number - FIRST]
        if plane.always is not None:
            assert np.array_equal(share == 255, planes[:, plane.always]), plane
        if plane.sometimes is not None:
            assert np.array_equal(share > 0, planes[:, plane.sometimes]), plane


def test_the_placements_of_a_square_sum_to_one() -> None:
    """Up to the rounding of each."""
    placements = rows_of(samples()).shares()[:, :7].astype(int)
    assert np.all(np.abs(placements.sum(axis=1) - 255) <= 7)


def test_with_a_single_state_shares_are_its_features() -> None:
    one = [Known(s.player, s.kind, s.fens[:1], s.context) for s in samples()]
    found = rows_of(one).shares()
    exact = [plane.number - FIRST for plane in SHARES if plane.sort in ("share", "derived")]
    assert set(np.unique(found[:, exact]).tolist()) == {0, 255}
    assert set(np.unique(found[:, KINGS_HANG]).tolist()) == {0, 255}
    assert not np.any(found[:, NUMBER_OF_STATES])


def test_order_and_repetition_of_states_do_not_matter() -> None:
    rng = random.Random(0)
    states = samples()
    shuffled = [Known(s.player, s.kind, rng.sample([*s.fens, s.fens[0]], len(s.fens) + 1), s.context) for s in states]
    assert np.array_equal(rows_of(states).shares(), rows_of(shuffled).shares())


def test_mirroring_and_swapping_colours_changes_no_share() -> None:
    states = samples()
    assert np.array_equal(rows_of(states).shares(), rows_of([mirrored(state) for state in states]).shares())


def test_remembered_shares_are_those_of_the_last_move_step() -> None:
    for game in real_games():
        last = {color: np.zeros((7, 64), np.uint8) for color in chess.COLORS}
        for state in known(game, 20, 1):
            found = rows_of([state]).shares()[0]
            assert np.array_equal(found[138 - FIRST : 145 - FIRST], last[state.player])
            if state.kind == MOVE:
                last[state.player] = found[:7]


def test_rows_may_be_chosen_and_repeated(restore_threads: None) -> None:
    rows = rows_of(samples()[:100])
    whole = rows.shares()
    picks = np.random.default_rng(0).integers(0, len(rows), 1_000)
    for threads in (1, 3):
        core.set_threads(threads)
        assert np.array_equal(rows.shares(picks), whole[picks])
    assert rows.shares(np.array([], dtype=np.int64)).shape == (0, len(SHARES), 64)
    with pytest.raises(IndexError, match="row 100 is not in a batch of 100"):
        rows.shares(np.array([100]))


def test_features_are_the_planes_and_shares_of_their_sort() -> None:
    rows = rows_of(samples()[:60])
    planes, bytes_ = rows.synopsis(), rows.shares()
    for synopsis, layout in LAYOUTS.items():
        found = rows.features(synopsis)
        assert found.shape == (len(rows), layout.words) and found.dtype == np.uint64
        numbers = [plane.number for plane in layout.planes]
        assert np.array_equal(found[:, : layout.bits], planes[:, numbers[: layout.bits]])
        words = np.ascontiguousarray(found[:, layout.bits :])
        assert words.view(np.uint8).tobytes() == (b"" if synopsis == "binary" else bytes_.tobytes())
        picks = np.array([3, 3, 59])
        assert np.array_equal(rows.features(synopsis, picks), found[picks])
    with pytest.raises(ValueError, match="there is no synopsis 'grey'; there are binary, shares and graded"):
        rows.features("grey")


def test_every_build_of_the_core_gives_the_same_shares() -> None:
    states = samples()[::8]
    expected = rows_of(states).shares()
    for build in core.BUILDS:
        if build != core.BUILD and core.BUILD == "generic":
            continue  # this processor may not run it
        module = importlib.import_module(f"penumbra.core._{build}")
        for state, found in zip(states, expected, strict=True):
            kept = core_context(state.context)
            squares = (kept.last_from, kept.last_to, kept.own_capture, kept.opposing_capture)
            context = module.Context(*squares, kept.previous, kept.previous_shares)
            rows = module.Infostates.from_fens([state.fens], state.player, state.kind, 128, [context])
            assert np.array_equal(rows.shares()[0], found)
