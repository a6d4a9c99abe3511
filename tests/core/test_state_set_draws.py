"""What is drawn from a state set, by `sample` or past a cap, is uniform, and the same again for the same seed."""

from collections import Counter
from collections.abc import Callable

import pytest

from penumbra import core
from tests.oracles.chi_square import subset_statistic, upper_limit


def unseen_turns(turns: int) -> core.StateSet:
    """Black to act, not having sensed: all that White may have done in so many turns while Black passed."""
    states = core.StateSet(core.START_FEN, False).expand(None)
    for _ in range(turns - 1):
        states = states.apply_move(0, 0, None).expand(None)
    return states


def assert_uniform(states: core.StateSet, size: int, draws: int, draw: Callable[[int], core.StateSet]) -> None:
    """The draws for seeds 0, 1, … are subsets of `size` that favour no state."""
    counts = Counter(dict.fromkeys(states, 0))
    for seed in range(draws):
        drawn = draw(seed)
        assert len(drawn) == size
        counts.update(drawn)
    assert len(counts) == len(states)
    assert subset_statistic(list(counts.values()), draws, size) < upper_limit(len(states) - 1)


@pytest.mark.parametrize("size", [1, 7, 20])
def test_small_samples_are_uniform(size: int) -> None:
    states = unseen_turns(1)
    assert_uniform(states, size, 4000, lambda seed: states.sample(size, seed))


def test_large_samples_are_uniform() -> None:
    states = unseen_turns(3)
    assert_uniform(states, 1000, 150, lambda seed: states.sample(1000, seed))


@pytest.mark.parametrize(("turns", "cap", "draws"), [(2, 10, 4000), (2, 300, 500), (3, 1000, 150)])
def test_a_capped_expansion_is_uniform_over_distinct_successors(turns: int, cap: int, draws: int) -> None:
    """Many successors have several parents here, and must not be favoured for it."""
    before = unseen_turns(turns - 1).apply_move(0, 0, None)
    states = before.expand(None)
    assert states.generated > len(states)
    assert_uniform(states, cap, draws, lambda seed: before.expand(None, cap, seed))


def test_pairs_are_drawn_independently() -> None:
    """Two given states are both in a sample of 5 of 21 as often as any other two: no runs of neighbours."""
    states = unseen_turns(1)
    fens, draws = states.fens(), 8000
    pairs = Counter({(a, b): 0 for i, a in enumerate(fens) for b in fens[i + 1 :]})
    for seed in range(draws):
        drawn = set(states.sample(5, seed))
        kept = [fen for fen in fens if fen in drawn]
        pairs.update((a, b) for i, a in enumerate(kept) for b in kept[i + 1 :])
    share = (5 * 4) / (21 * 20)
    # pair counts of a draw are correlated through their members, so each is only held within five deviations
    deviation = (draws * share * (1 - share)) ** 0.5
    assert max(abs(count - draws * share) for count in pairs.values()) < 5 * deviation


def test_same_seed_same_draw() -> None:
    before = unseen_turns(2).apply_move(0, 0, None)
    states = before.expand(None)
    assert before.expand(None, 100, 5).fens() == before.expand(None, 100, 5).fens()
    assert before.expand(None, 100, 5).fens() != before.expand(None, 100, 6).fens()
    assert states.sample(100, 5).fens() == states.sample(100, 5).fens()
    assert states.sample(100, 5).fens() != states.sample(100, 6).fens()


def test_a_cap_says_when_it_has_cut() -> None:
    before = unseen_turns(1).apply_move(0, 0, None)
    states = before.expand(None)
    roomy = before.expand(None, len(states), 1)
    assert roomy.complete and sorted(roomy) == sorted(states)
    cut = before.expand(None, len(states) - 1, 1)
    assert not cut.complete and len(cut) == len(states) - 1
    assert set(cut) < set(states)
    assert not cut.apply_move(0, 0, None).complete
    assert not cut.apply_move(0, 0, None).expand(None).complete
    assert not cut.sample(len(cut), 0).complete


def test_samples_are_parts_of_the_set() -> None:
    states = unseen_turns(2)
    drawn = states.sample(50, 1)
    assert len(set(drawn)) == 50 and set(drawn) < set(states)
    assert (drawn.owner, drawn.turn) == (states.owner, states.turn)
    assert sorted(states.sample(10 * len(states), 1)) == sorted(states)
