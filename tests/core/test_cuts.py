"""How sets are cut to their limits by `advance` and `Infostates.draw`: the truth stays, every other state has the same
chance, keyed cuts repeat and random ones do not.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from penumbra import core
from penumbra.rbc.actions import PASS
from tests.oracles.chi_square import subset_statistic, upper_limit
from tests.oracles.infostate import advance
from tests.support.kernels import batch, fen_of
from tests.support.situations import random_steps

ROOM = 1_000  # more states than any set here has


def actions(rows: int, action: int) -> NDArray[np.int32]:
    return np.full(rows, action, dtype=np.int32)


@cache
def blind_game(steps: int) -> tuple[core.Infostates, core.Infostates]:
    """(the actor's row, the other's) after so many steps of a game in which both see nothing and pass: the sets hold
    many states that can be reached in several ways.
    """
    white, black = (core.Infostates.from_fens([[core.START_FEN]], color, core.SENSE, ROOM) for color in (True, False))
    actor, other = white, black
    for step in range(steps):
        actor, other, _ = core.advance(actor, other, actions(1, PASS if step % 2 else 0), ROOM, ROOM)
        if step % 2:
            actor, other = other, actor
    return actor, other


def copies(rows: core.Infostates, count: int) -> core.Infostates:
    return rows.take(np.zeros(count, dtype=np.int64))


def assert_uniform(sets: Iterable[list[str]], whole: list[str], truth: str, size: int) -> None:
    """All sets have `size` states with the truth among them, and the rest favours no state of `whole`."""
    counts = Counter(dict.fromkeys(whole, 0))
    draws = 0
    for states in sets:
        assert len(set(states)) == len(states) == size
        counts.update(states)
        draws += 1
    assert len(counts) == len(whole)
    assert counts.pop(truth) == draws
    assert subset_statistic(list(counts.values()), draws, size - 1) < upper_limit(len(whole) - 2)


# The step at which the cut is made, the action, and how many draws of how many states: a sense cuts both sets as they
# are, a move cuts the actor's as it is and the other's as it grows.
MOMENTS = {"sense": (8, 0), "move": (7, PASS)}
SIZES = [(2, 6_000), (30, 2_000), (128, 600)]


@pytest.mark.parametrize(("size", "draws"), SIZES)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("how", ["rows", "seeds", "salts"])
def test_cuts_are_uniform_over_distinct_states(how: str, moment: str, size: int, draws: int) -> None:
    """Random cuts over the rows of one call and over seeds; keyed cuts over salts."""
    steps, action = MOMENTS[moment]
    actor, other = blind_game(steps)
    whole = core.advance(actor, other, actions(1, action), ROOM, ROOM)[:2]
    results: list[tuple[list[str], list[str]]] = []
    if how == "rows":
        cut = core.advance(copies(actor, draws), copies(other, draws), actions(draws, action), size, size, seed=5)
        results = [(cut[0].fens(row), cut[1].fens(row)) for row in range(draws)]
    else:
        for seed in range(draws):
            cut = core.advance(actor, other, actions(1, action), size, size, seed=seed, keyed=how == "salts")
            results.append((cut[0].fens(0), cut[1].fens(0)))
    # Black and White have only passed: the truth is the start with the right side to move.
    placement = core.START_FEN.split()[0]
    for player in (0, 1):
        states = whole[player].fens(0)
        assert len(states) > 200
        (truth,) = [fen for fen in states if fen.split()[0] == placement]
        assert_uniform((result[player] for result in results), states, truth, size)


def test_some_successors_have_several_parents_here() -> None:
    """Else uniformity over distinct successors would not differ from uniformity over moves."""
    _, other = blind_game(7)
    states = core.StateSet.from_fens(other.fens(0), bool(other.players[0]))
    assert states.expand(None).generated > 1.2 * len(states.expand(None))


@pytest.mark.parametrize("keyed", [False, True])
def test_pairs_are_kept_independently(keyed: bool) -> None:
    """Two given states are both kept as often as any other two."""
    actor, other = blind_game(2)
    draws, size = 6_000, 6
    states = core.advance(actor, other, actions(1, 0), ROOM, ROOM)[0].fens(0)
    placement = core.START_FEN.split()[0]
    free = [fen for fen in states if fen.split()[0] != placement]
    pairs = Counter(dict.fromkeys(itertools.combinations(free, 2), 0))
    for seed in range(draws):
        kept = set(core.advance(actor, other, actions(1, 0), size, seed=seed, keyed=keyed)[0].fens(0))
        pairs.update(itertools.combinations([fen for fen in free if fen in kept], 2))
    share = (size - 1) * (size - 2) / (len(free) * (len(free) - 1))
    deviation = (draws * share * (1 - share)) ** 0.5
    assert len(free) == 20 and len(pairs) == 190
    assert max(abs(count - draws * share) for count in pairs.values()) < 5 * deviation


@pytest.mark.parametrize("keyed", [False, True])
def test_the_truth_stays_and_each_row_has_its_own_limits(keyed: bool) -> None:
    steps = random_steps(60, 12, 24)[1::3]
    rng = np.random.default_rng(0)
    mine, theirs = (rng.integers(1, 30, len(steps)).astype(np.int32) for _ in range(2))
    actor, other = batch(steps, [step.actor for step in steps]), batch(steps, [not step.actor for step in steps])
    chosen = np.array([step.action for step in steps], dtype=np.int32)
    whole = core.advance(actor, other, chosen, ROOM, ROOM)[:2]
    cut = core.advance(actor, other, chosen, mine, theirs, seed=1, keyed=keyed)[:2]
    assert max(rows.counts.max() for rows in whole) < ROOM
    was_cut = 0
    for row, step in enumerate(steps):
        truth = fen_of(advance([step.truth], [step.truth], step.truth, step.action).truth)
        for player, limits in enumerate((mine, theirs)):
            states, full = cut[player].fens(row), whole[player].fens(row)
            assert len(set(states)) == len(states) == cut[player].counts[row] == min(limits[row], len(full))
            assert truth in states and set(states) <= set(full)
            was_cut += len(states) < len(full)
    assert was_cut > 200


def test_memories_do_not_depend_on_the_cut() -> None:
    """A cut is made after the action; what was seen before it is remembered whole."""
    actor, other = blind_game(7)
    whole = core.advance(actor, other, actions(1, PASS), ROOM, ROOM)
    cut = core.advance(actor, other, actions(1, PASS), 3, 3)
    for before, after in zip(whole[:2], cut[:2], strict=True):
        assert np.array_equal(before.context(0).previous, after.context(0).previous)
        assert np.array_equal(before.context(0).previous_shares, after.context(0).previous_shares)


def keys_of(result: tuple[core.Infostates, core.Infostates, NDArray[np.uint8]]) -> NDArray[np.uint64]:
    return np.stack([result[0].keys(), result[1].keys()])


def test_keyed_cuts_repeat_wherever_the_same_sets_meet_the_same_salt() -> None:
    actor, other = blind_game(7)
    one = keys_of(core.advance(actor, other, actions(1, PASS), 20, 20, seed=7, keyed=True))
    backwards = [
        core.Infostates.from_fens([rows.fens(0)[::-1]], bool(rows.players[0]), core.MOVE, ROOM)
        for rows in (actor, other)
    ]
    again = keys_of(
        core.advance(copies(backwards[0], 40), copies(backwards[1], 40), actions(40, PASS), 20, 20, seed=7, keyed=True)
    )
    assert np.all(again == one)
    other_salts = [keys_of(core.advance(actor, other, actions(1, PASS), 20, 20, seed=s, keyed=True)) for s in range(7)]
    assert not np.any(np.array(other_salts) == one)


def test_random_cuts_do_not_repeat_unless_the_seed_does() -> None:
    actor, other = (copies(rows, 40) for rows in blind_game(7))
    one, again, next_seed = (
        keys_of(core.advance(actor, other, actions(40, PASS), 20, 20, seed=seed)) for seed in (7, 7, 8)
    )
    assert np.array_equal(one, again)
    # Forty rows and two seeds: no two cuts alike, not even with rows and seeds shifted against each other.
    assert len(np.unique(np.concatenate([one[0], next_seed[0]]))) == 80
    assert len(np.unique(np.concatenate([one[1], next_seed[1]]))) == 80


def test_a_smaller_keyed_cut_is_part_of_a_larger_one() -> None:
    actor, other = blind_game(7)
    cuts = [core.advance(actor, other, actions(1, PASS), size, size, seed=3, keyed=True) for size in (5, 20, 60)]
    for small, middle, large in (
        [set(rows.fens(0)) for rows in sets] for sets in zip(*(cut[:2] for cut in cuts), strict=True)
    ):
        assert small < middle < large


def test_a_keyed_cut_tells_nothing_of_the_truth_but_that_it_is_there() -> None:
    """Whatever the truth is, the cut keeps the same states but one."""
    actor, other = blind_game(7)
    player = bool(actor.players[0])
    base = set(core.advance(actor, other, actions(1, PASS), 30, seed=3, keyed=True)[0].fens(0))
    for fen in actor.fens(0)[:100]:
        elsewhere = core.Infostates.from_fens([[fen]], not player, core.MOVE, ROOM)
        kept = set(core.advance(actor, elsewhere, actions(1, PASS), 30, seed=3, keyed=True)[0].fens(0))
        assert len(kept) == 30
        assert len(kept - base) <= 1


def test_the_number_of_threads_does_not_matter(restore_threads: None) -> None:
    actor, other = (copies(rows, 300) for rows in blind_game(7))
    for keyed in (False, True):
        results = []
        for threads in (1, 2, 5):
            core.set_threads(threads)
            results.append(core.advance(actor, other, actions(300, PASS), 20, 20, seed=1, keyed=keyed))
        for result in results[1:]:
            assert np.array_equal(keys_of(results[0]), keys_of(result))
            assert results[0][1].fens(299) == result[1].fens(299)


# Draws from an exact set.


@cache
def exact_set() -> core.StateSet:
    """What Black holds possible after two turns of White's of which it saw nothing."""
    return core.StateSet(core.START_FEN, False).expand(None).apply_move(0, 0, None).expand(None)


def draw_rows(draws: int, size: int, truths: core.Infostates | None) -> Iterable[list[str]]:
    rows = core.Infostates.draw(exact_set(), draws, core.SENSE, size, seed=2, truths=truths)
    return (rows.fens(row) for row in range(draws))


def draw_salts(draws: int, size: int, truths: core.Infostates | None) -> Iterable[list[str]]:
    truth = None if truths is None else truths.take(np.array([0]))
    for seed in range(draws):
        yield core.Infostates.draw(exact_set(), 1, core.SENSE, size, seed=seed, keyed=True, truths=truth).fens(0)


@pytest.mark.parametrize("draw", [draw_rows, draw_salts])
@pytest.mark.parametrize(("size", "draws"), [(2, 8_000), (128, 800)])
def test_draws_are_uniform(
    draw: Callable[[int, int, core.Infostates | None], Iterable[list[str]]], size: int, draws: int
) -> None:
    fens = exact_set().fens()
    counts = Counter(dict.fromkeys(fens, 0))
    for states in draw(draws, size, None):
        assert len(set(states)) == size
        counts.update(states)
    assert len(counts) == len(fens)
    assert subset_statistic(list(counts.values()), draws, size) < upper_limit(len(fens) - 1)
    truths = copies(core.Infostates.from_fens([[fens[5]]], True, core.SENSE), draws)
    assert_uniform(draw(draws, size, truths), fens, fens[5], size)


def test_drawn_rows_differ_and_keyed_ones_do_not() -> None:
    random = core.Infostates.draw(exact_set(), 50, core.SENSE, 20).keys()
    keyed = core.Infostates.draw(exact_set(), 50, core.SENSE, 20, keyed=True).keys()
    assert len(np.unique(random)) == 50 and len(np.unique(keyed)) == 1


def test_a_keyed_draw_and_a_keyed_cut_are_the_same_cut() -> None:
    """So that the root of a search, drawn from the exact set, meets the nodes that playouts come to."""
    actor, other = blind_game(8)
    states = core.StateSet.from_fens(actor.fens(0), bool(actor.players[0]))
    drawn = core.Infostates.draw(states, 1, core.MOVE, 20, seed=9, keyed=True, truths=other)
    cut = core.advance(actor, other, actions(1, 0), 20, seed=9, keyed=True)[0]
    assert drawn.keys()[0] == cut.keys()[0]


def test_a_draw_without_its_truth_names_the_row() -> None:
    truths = core.Infostates.from_fens([[exact_set().fen(0)], [core.START_FEN]], True, core.SENSE)
    outside = core.Infostates.from_fens([["4k3/8/8/8/8/8/8/4K3 w - - 0 1"]], True, core.SENSE)
    with pytest.raises(ValueError, match="row 2: the set does not hold its true state"):
        core.Infostates.draw(exact_set(), 3, core.SENSE, truths=core.Infostates.concatenate([truths, outside]))
    with pytest.raises(ValueError, match="a batch of 5 rows was given 2 true states"):
        core.Infostates.draw(exact_set(), 5, core.SENSE, truths=truths)
