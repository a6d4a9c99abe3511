"""Games of bare networks: by the rules, tracked as a player tracks, and drawn as the policy says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from penumbra.core import PASS, GameBatch, GameRecord, set_threads
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.games.archive import Archive
from penumbra.games.verification import verify
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.rbc.synopsis import Synopsis
from penumbra.training.examples import ExampleSettings, make_examples
from penumbra.training.selfplay import SelfPlay, choose, draw, play

WHOLE = 10**6  # states: nothing is cut


def random_games(games: int, at_once: int, seed: int = 3, cap: int = 300) -> dict[int, bytes]:
    """Games of a batch, with actions drawn by the number of the game and the step alone."""
    batch = GameBatch(games, at_once, 32, cap, seed, 60)
    steps: dict[int, int] = {}
    done: dict[int, bytes] = {}
    while len(batch):
        actions, offsets = batch.legal()
        chosen = []
        for row, number in enumerate(batch.numbers().tolist()):
            steps[number] = steps.get(number, 0) + 1
            rng = np.random.default_rng((seed, number, steps[number]))
            chosen.append(int(rng.choice(actions[offsets[row] : offsets[row + 1]])))
        batch.act(np.array(chosen, np.int32))
        done |= {number: record.to_bytes() for number, record in batch.take_finished()}
    return done


def test_games_do_not_depend_on_their_neighbours_or_threads(restore_threads: None) -> None:
    together = random_games(9, 9)
    assert sorted(together) == list(range(9))
    assert random_games(9, 2) == together
    set_threads(1)
    assert random_games(9, 4) == together


def test_games_under_way_go_on_in_another_batch() -> None:
    """They show, allow and become what they would have; one that cannot have been played is refused."""
    rng = np.random.default_rng(4)

    def batch_of(at_once: int = 3) -> GameBatch:
        return GameBatch(7, at_once, 16, 100, 5, 40, synopsis="graded")

    def act(*batches: GameBatch) -> None:
        actions, offsets = batches[0].legal()
        chosen = np.array([rng.choice(actions[a:b]) for a, b in pairwise(offsets)], np.int32)
        for each in batches:
            each.act(chosen)

    batch, other = batch_of(), batch_of()
    for _ in range(90):  # the first games have ended
        act(batch)
    done = dict(batch.take_finished())
    assert done and len(batch) == 3
    begun, numbers, actions, offsets = batch.under_way()
    assert numbers.tolist() == batch.numbers().tolist() and begun == len(done) + 3
    other.resume(begun, numbers, actions, offsets)
    while len(batch):
        assert np.array_equal(other.synopsis(), batch.synopsis())
        for column, expected in zip(other.legal(), batch.legal(), strict=True):
            assert np.array_equal(np.asarray(column), np.asarray(expected))
        act(batch, other)
        ended, too = ([(n, r.to_bytes()) for n, r in each.take_finished()] for each in (batch, other))
        assert ended == too
    assert len(other) == 0

    kept = batch_of()
    before = kept.synopsis()
    for wrong, said in (
        ((begun, numbers, np.full_like(actions, 4160), offsets), "game [0-9]+: action 4160 is not legal"),
        ((begun, numbers, actions[:-1], offsets), "these are not games under way"),
        ((0, numbers, actions, offsets), "these are not games under way"),
    ):
        with pytest.raises(ValueError, match=said):
            kept.resume(*wrong)
    with pytest.raises(ValueError, match="these are not games under way"):
        batch_of(2).resume(begun, numbers, actions, offsets)
    assert np.array_equal(before, kept.synopsis())


@pytest.mark.parametrize("synopsis", ["binary", "graded"])
def test_rows_show_what_the_replayer_of_examples_shows(synopsis: Synopsis) -> None:
    """Where nothing is cut, the synopses seen while playing are those of the examples made from the record."""
    batch = GameBatch(4, 4, WHOLE, WHOLE, 1, 8, False, synopsis)
    rng = np.random.default_rng(5)
    seen: dict[int, list[np.ndarray]] = {number: [] for number in range(4)}
    records: dict[int, GameRecord] = {}
    while len(batch):
        actions, offsets = batch.legal()
        planes = batch.synopsis()
        for row, number in enumerate(batch.numbers().tolist()):
            seen[number].append(planes[row])
        batch.act(np.array([rng.choice(actions[a:b]) for a, b in pairwise(offsets)], np.int32))
        records |= dict(batch.take_finished())
    for number, record in records.items():
        examples = make_examples([record], ExampleSettings(ell=WHOLE, cap=WHOLE, synopsis=synopsis))
        assert not examples.cut.any()
        assert np.array_equal(np.stack(seen[number]), examples.synopses)


def test_a_sure_capture_is_the_only_choice() -> None:
    """A move that is the only legal one takes the king."""
    forced = 0
    batch = GameBatch(20, 20, 32, 3_000, 7, 60)
    rng = np.random.default_rng(6)
    while len(batch):
        _, offsets = batch.legal()
        numbers = batch.numbers()
        chosen = choose(batch, [("Top", 0.3)] * len(batch), lambda headset: HeuristicEvaluator(2.0), rng)
        only = numbers[(np.diff(offsets) == 1) & (chosen >= 64)].tolist()
        batch.act(chosen)
        ended = dict(batch.take_finished())
        assert all(number in ended and ended[number].reason == "KING_CAPTURE" for number in only)
        forced += len(only)
    assert forced >= 2


def test_an_action_that_is_not_legal_changes_nothing() -> None:
    batch = GameBatch(2, 2)
    before = batch.synopsis()
    with pytest.raises(ValueError, match=r"row 1: action 4160 is not legal"):
        batch.act(np.array([10, PASS], np.int32))
    with pytest.raises(ValueError, match="1 actions for 2 rows"):
        batch.act(np.array([10], np.int32))
    assert np.array_equal(before, batch.synopsis()) and len(batch) == 2
    with pytest.raises(ValueError, match="at least one game"):
        GameBatch(0)


def test_actions_are_drawn_as_the_policy_says() -> None:
    """The frequencies of 20,000 draws at three temperatures; at 0 always the likeliest."""
    n = 20_000
    priors = np.array([0.6, 0.3, 0.1], np.float32)
    legal = Legal(np.tile(np.array([5, 7, 9], np.int32), n), np.arange(n + 1, dtype=np.int64) * 3)
    for temperature in (0.5, 1.0, 2.0):
        drawn = draw(np.tile(priors, n), legal, np.full(n, temperature), np.random.default_rng(1))
        odds = priors.astype(float) ** (1 / temperature)
        odds /= odds.sum()
        for action, p in zip((5, 7, 9), odds, strict=True):
            assert abs((drawn == action).mean() - p) < 4.5 * (p * (1 - p) / n) ** 0.5
    assert (draw(np.tile(priors, n), legal, np.zeros(n), np.random.default_rng(1)) == 5).all()


def test_each_row_is_chosen_by_its_own_headset() -> None:
    class Only:
        """A policy that knows one action: the legal one at a place."""

        def __init__(self, place: int) -> None:
            self.place = place

        def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
            priors = np.zeros(len(legal.actions), np.float32)
            priors[legal.offsets[:-1] + self.place] = 1.0
            return priors, np.zeros(len(features), np.float32)

    batch = GameBatch(6, 6)
    sides = [("A", 1.0), ("B", 0.0), ("A", 0.5), ("B", 1.0), ("B", 2.0), ("A", 0.0)]
    chosen = choose(batch, sides, lambda headset: Only(3 if headset == "A" else 8), np.random.default_rng(1))
    actions, offsets = batch.legal()
    places = [int(np.flatnonzero(actions[offsets[i] : offsets[i + 1]] == chosen[i])[0]) for i in range(6)]
    assert places == [3, 8, 3, 8, 8, 3]


def test_games_go_into_the_archive_and_stand_its_verification(tmp_path: Path) -> None:
    plan = SelfPlay(12, 5, ("Top", "Trout"), (0.5, 1.5), cap=200, ell=32, ply_limit=40, seed=2)
    with Archive.open_or_create(tmp_path / "games.db") as archive:
        steps = play(plan, lambda headset: HeuristicEvaluator(), archive)
        games = list(archive.games())
        assert len(games) == 12
        assert {name for game in games for name in (game.record.white_name, game.record.black_name)} == {
            "NetworkTop",
            "NetworkTrout",
        }
        assert steps == sum(2 * len(game.record.moves) for game in games)
        assert not list(verify(archive).problems)
