"""Examples from games: every fact as a slow replay finds it, fresh draws that a seed repeats, flags that are true."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import cache
from typing import Any

import chess
import numpy as np
import pytest

from penumbra import core
from penumbra.core import Game, GameRecord
from penumbra.games.archive import is_validation
from penumbra.rbc.actions import PASS, parse_action, parse_square
from penumbra.rbc.synopsis import LAYOUTS
from penumbra.training.examples import (
    Examples,
    ExampleSettings,
    clean,
    make_examples,
    split,
)
from tests.oracles.synopsis import MOVE, synopsis
from tests.support.situations import Moment, moments, real_games, real_records

WHOLE = 1_000_000  # more states than any set here has


@cache
def real_examples() -> Examples:
    """One example for each step of the recorded games, no set ever cut, ℓ larger than most."""
    return make_examples(real_records(), ExampleSettings(ell=400, cap=WHOLE))


@cache
def real_moments() -> list[tuple[int, Moment]]:
    """(game, moment) in the order of the examples."""
    return [(number, moment) for number, game in enumerate(real_games()) for moment in moments(game)]


def same(one: Examples, other: Examples) -> bool:
    return all(equal(one, other, f.name) for f in fields(one))


def equal(one: Examples, other: Examples, column: str) -> bool:
    return np.array_equal(getattr(one, column), getattr(other, column), equal_nan=column == "engine")


def test_there_is_one_example_for_each_step_and_none_for_a_skipped_sense() -> None:
    examples = real_examples()
    assert len(examples) == len(real_moments())
    turns = sum(len(record.moves) for record in real_records())
    skipped = sum(record.senses.count(-1) for record in real_records())
    assert skipped > 0
    assert len(examples) == 2 * turns - skipped


def test_facts_are_those_of_a_slow_replay() -> None:
    examples = real_examples()
    for row, (game, moment) in enumerate(real_moments()):
        winner = real_games()[game]["winner_color"]
        assert examples.games[row] == game
        assert examples.plies[row] == moment.ply
        assert examples.players[row] == moment.player
        assert examples.actions[row] == moment.action
        assert set(examples.legal_of(row).tolist()) == moment.legal()
        assert len(examples.legal_of(row)) == len(moment.legal())
        assert examples.outcomes[row] == (1 if winner == moment.player else -1)
        assert examples.set_sizes[row] == len(moment.states)
        assert examples.piece_counts[row].tolist() == [
            len(moment.board.pieces(kind, color))
            for color in (moment.player, not moment.player)
            for kind in chess.PIECE_TYPES
        ]
        assert bool(examples.synopses[row, 10]) == (moment.kind == MOVE)
    assert not np.any(examples.cut)


def test_what_came_soon_came_within_five_own_steps() -> None:
    """Counted in steps at which the player acted, senses included, this one too."""
    examples = real_examples()
    for game, data in enumerate(real_games()):
        for player in (True, False):
            rows = np.flatnonzero((examples.games == game) & (examples.players == player))
            soon = np.arange(len(rows)) >= len(rows) - 5
            won = data["winner_color"] == player
            assert examples.soon_won[rows].tolist() == (soon & won).tolist()
            assert examples.soon_lost[rows].tolist() == (soon & (not won)).tolist()


def test_steps_left_are_counted_to_the_end_of_the_game() -> None:
    examples = real_examples()
    for game in range(len(real_games())):
        for player in (True, False):
            left = examples.left[(examples.games == game) & (examples.players == player)]
            assert left.tolist() == list(range(len(left), 0, -1))


def chance(values: np.ndarray[Any, Any], scale: float) -> float:
    """The mean chance to win of states with these quiescence scores."""
    most = 1000  # hundredths of a pawn that count
    return float(np.mean([1 / (1 + math.exp(-max(-most, min(value, most)) / scale)) for value in values.tolist()]))


def test_the_engines_chances_are_those_of_a_slow_mean() -> None:
    """Over all states of a set, and in the true state; the scores are those of the engine without depth."""
    examples = make_examples(real_records(), ExampleSettings(ell=400, cap=WHOLE, engine_states=WHOLE, engine_scale=180))
    of_kings = 0
    for row, (_, moment) in enumerate(real_moments()):
        if len(moment.states) > 300 and row % 10:
            continue
        values = core.engine_values(moment.states, 0)
        truth = core.engine_values(core.StateSet(moment.board.fen(en_passant="xfen"), moment.player), 0)
        assert examples.engine[row] == pytest.approx([chance(values, 180), chance(truth, 180)], abs=1e-6)
        of_kings += 0 < (values == core.KING_TAKEN).sum() < len(values)
    assert of_kings > 10


def test_without_the_engine_nothing_else_changes() -> None:
    """And with it, of large sets a sample is asked, whose mean is near that of the whole."""
    settings = ExampleSettings(ell=5, multiplicity=2, cap=WHOLE, seed=4)
    without, some, more = (make_examples(real_records(), replace(settings, engine_states=n)) for n in (0, 16, WHOLE))
    assert np.isnan(without.engine).all() and np.isfinite(some.engine).all()
    for f in fields(without):
        assert f.name == "engine" or equal(some, without, f.name)
    assert np.array_equal(some.engine[0::2], some.engine[1::2])  # the draws of a step are of one set
    few = some.set_sizes <= 16
    assert np.array_equal(some.engine[few], more.engine[few])
    error = (some.engine - more.engine)[~few, 0]
    assert 0 < np.abs(error).max() < 0.5 and abs(error.mean()) < 0.01
    assert np.array_equal(some.engine[:, 1], more.engine[:, 1])


@pytest.mark.parametrize(("wrong", "said"), [({"engine_states": -1}, "states"), ({"engine_scale": 0.0}, "scale")])
def test_bad_settings_of_the_engine_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"the engine's {said} must"):
        make_examples(real_records()[:1], replace(ExampleSettings(), **wrong))


def test_synopses_of_whole_sets_are_the_oracles() -> None:
    """Where a set has at most ℓ states its synopsis is fixed, memory included."""
    examples = real_examples()
    previous: dict[tuple[int, bool], tuple[int, ...]] = {}
    compared = 0
    for row, (game, moment) in enumerate(real_moments()):
        key = game, moment.player
        if moment.ply < 2:
            previous[key] = (0,) * 18
        if len(moment.states) <= 60 and key in previous:
            context = replace(moment.context, previous=previous[key])
            boards = map(chess.Board, moment.states)
            assert examples.synopses[row].tolist() == synopsis(moment.player, moment.kind, boards, context)
            compared += 1
        if moment.kind == MOVE:
            previous[key] = tuple(examples.synopses[row, 18:36].tolist())
    assert compared > 100


def test_draws_summarise_states_of_the_set() -> None:
    """What is definite in the whole set is so in a draw, and what is possible in a draw is so in the set."""
    examples = real_examples()
    drawn = make_examples(real_records(), ExampleSettings(ell=5, cap=WHOLE, seed=1))
    definite, possible = slice(18, 25), slice(25, 32)
    fits = examples.set_sizes <= 400
    assert not np.any(examples.synopses[fits, definite] & ~drawn.synopses[fits, definite])
    assert not np.any(drawn.synopses[fits, possible] & ~examples.synopses[fits, possible])
    assert np.any(drawn.synopses[:, possible] != examples.synopses[:, possible])


def test_multiplicity_repeats_each_step_with_draws_of_its_own() -> None:
    settings = ExampleSettings(ell=5, multiplicity=3, cap=WHOLE, seed=4)
    examples = make_examples(real_records(), settings)
    single = real_examples()
    assert len(examples) == 3 * len(single)
    repeated = single.take(np.repeat(np.arange(len(single)), 3))
    drawn = {"synopses", "draws"}
    assert np.array_equal(examples.draws, np.tile(np.arange(3), len(single)))
    assert all(equal(examples, repeated, f.name) for f in fields(examples) if f.name not in drawn)
    by_step = examples.synopses.reshape(-1, 3, 104)
    large = single.set_sizes > 40
    assert np.mean(np.any(by_step[large, 0] != by_step[large, 1], axis=1)) > 0.9
    # Sets that fit are the same in every draw; what is remembered of an earlier draw need not be.
    small = single.set_sizes <= 5
    assert np.array_equal(by_step[small, 0, :86], by_step[small, 2, :86])
    assert np.any(by_step[small, 0, 86:] != by_step[small, 2, 86:])


def test_each_draw_remembers_its_own_previous_turn() -> None:
    examples = make_examples(real_records(), ExampleSettings(ell=5, multiplicity=3, seed=4))
    last: dict[tuple[int, bool, int], list[int]] = {}
    for row, planes in enumerate(examples.synopses):
        key = int(examples.games[row]), bool(examples.players[row]), row % 3
        assert planes[86:].tolist() == last.get(key, [0] * 18)
        if planes[10]:
            last[key] = planes[18:36].tolist()


def test_sorts_of_synopses_show_the_same_draws() -> None:
    """And each draw of a graded one remembers the shares of its own previous turn."""
    settings = ExampleSettings(ell=5, multiplicity=2, seed=4)
    binary, shares, graded = (
        make_examples(real_records(), replace(settings, synopsis=sort)) for sort in ("binary", "shares", "graded")
    )
    layout = LAYOUTS["shares"]
    kept = [plane.number for plane in layout.planes[: layout.bits]]
    assert np.array_equal(graded.synopses[:, :104], binary.synopses)
    assert np.array_equal(shares.synopses[:, : layout.bits], binary.synopses[:, kept])
    assert np.array_equal(shares.synopses[:, layout.bits :], graded.synopses[:, 104:])
    last: dict[tuple[int, bool, int], bytes] = {}
    for row, words in enumerate(graded.synopses):
        found = words[104:].tobytes()
        assert found[: 7 * 64] != bytes(7 * 64)
        key = int(graded.games[row]), bool(graded.players[row]), row % 2
        assert found[34 * 64 : 41 * 64] == last.get(key, bytes(7 * 64))
        if words[10]:
            last[key] = found[: 7 * 64]


def test_the_seed_decides_and_the_threads_do_not(restore_threads: None) -> None:
    settings = ExampleSettings(ell=5, multiplicity=2, cap=100, seed=9)
    runs = []
    for threads in (1, 2, 5):
        core.set_threads(threads)
        runs.append(make_examples(real_records(), settings))
    assert same(runs[0], runs[1]) and same(runs[0], runs[2])
    other = make_examples(real_records(), replace(settings, seed=10))
    assert np.any(other.synopses != runs[0].synopses)
    assert np.array_equal(other.actions, runs[0].actions)


def test_a_game_gives_the_same_examples_in_whatever_company() -> None:
    settings = ExampleSettings(ell=5, cap=100, seed=9)
    together = make_examples(real_records(), settings)
    alone = make_examples(real_records()[3:4], settings)
    assert np.array_equal(together.synopses[together.games == 3], alone.synopses)


def test_a_cap_cuts_and_says_so() -> None:
    cap = 40
    whole, cut = real_examples(), make_examples(real_records(), ExampleSettings(ell=30, cap=cap, seed=2))
    assert np.any(cut.cut) and not np.all(cut.cut)
    assert np.all(cut.set_sizes <= np.minimum(whole.set_sizes, cap))
    # Flagged as soon as the set outgrows the cap; not flagged means exact.
    assert np.all(cut.cut[(whole.set_sizes > cap)])
    assert np.array_equal(cut.set_sizes[~cut.cut], whole.set_sizes[~cut.cut])
    assert np.array_equal(cut.actions, whole.actions)


def test_a_set_is_exact_again_after_the_sense_that_made_it_fit() -> None:
    """The set before a sense may be past the cap and the one after it exact: nothing was lost between them."""
    cut = make_examples(real_records(), ExampleSettings(ell=30, cap=40, seed=2))
    senses = cut.actions < 64
    turns = np.flatnonzero(senses[:-1] & ~senses[1:] & (cut.plies[:-1] == cut.plies[1:]))
    assert np.any(cut.cut[turns] & ~cut.cut[turns + 1])


def test_the_truth_stays_in_a_set_that_is_cut() -> None:
    """At a move, where a set is cut around the truth, what is said to be definite is true."""
    cut = make_examples(real_records(), ExampleSettings(ell=40, cap=40, seed=3))
    for row, (_, moment) in enumerate(real_moments()):
        if moment.kind == MOVE and cut.cut[row]:
            board = moment.board if moment.player else moment.board.mirror()
            for kind in chess.PIECE_TYPES:
                true = board.pieces_mask(kind, chess.BLACK)
                definite, possible = (int(cut.synopses[row, base + kind]) for base in (18, 25))
                assert definite & ~true == 0 and true & ~possible == 0


def test_wins_missed_in_real_games_are_those_that_static_analysis_finds() -> None:
    """One of these games had been won by force for the player that lost it."""
    examples = real_examples()
    missed = []
    for number, game in enumerate(real_games()):
        loser = not game["winner_color"]
        wins = [core.settle_set(m.states, m.kind)[1] for m in moments(game) if m.player == loser]
        missed.append(max(wins) >= 0)
        assert np.all(examples.missed_win[examples.games == number] == missed[-1])
    assert missed.count(True) == 1


# Hand-made games.


def play(words: str, fen: str | None = None) -> GameRecord:
    """A game of actions in the actors' own squares; `skip` is a sense not made."""
    game = Game(fen)
    for word in words.split(", "):
        game.sense(None) if word == "skip" else game.act(parse_action(word))
    record: GameRecord = game.record()
    return record


def test_a_missed_win_marks_the_whole_game_of_the_loser() -> None:
    """White's rook sees the black king, White passes, and Black's rook takes the white king."""
    fen = "k6r/8/8/8/8/8/8/R6K w - - 0 1"
    missed = make_examples([play("sense a7, pass, sense h7, h1h8", fen)])
    assert len(missed) == 4 and np.all(missed.missed_win)
    assert missed.outcomes.tolist() == [-1, -1, 1, 1]
    took = make_examples([play("sense a7, a1a8", fen)])
    assert len(took) == 2 and not np.any(took.missed_win)
    unasked = make_examples([play("sense a7, pass, sense h7, h1h8", fen)], ExampleSettings(settle=False))
    assert not np.any(unasked.missed_win)


def test_a_sense_that_would_have_won_counts_even_if_it_was_skipped() -> None:
    """White has a rook on both files that the king may be on, but looks elsewhere or not at all, and loses its own."""
    for sense in ("sense h1", "skip"):
        game = play(f"sense h1, pass, {sense}, pass, sense h1, g5h6", "k7/8/8/8/6p1/7K/8/RR6 b - - 0 1")
        assert game.winner is False
        assert np.all(make_examples([game]).missed_win)


def test_a_win_that_was_not_sure_is_not_missed() -> None:
    """White's rook has the black king in its line, but White cannot know whether the king has stepped out of it."""
    fen = "k7/8/8/8/8/8/6r1/R6K b - - 0 1"
    game = play("sense h1, pass, sense h1, pass, sense g8, g7g8, sense h1, pass, sense g8, g8h8", fen)
    assert game.winner is False
    assert not np.any(make_examples([game]).missed_win)


def test_a_game_without_a_winner() -> None:
    game = play("sense e7, e2e4, sense e7, pass")
    examples = make_examples([game])
    assert examples.outcomes.tolist() == [0] * 4
    assert not np.any(examples.soon_won | examples.soon_lost | examples.missed_win)


def test_a_last_turn_without_a_move_has_its_sense() -> None:
    record = play("sense e7, e2e4")
    record.add_turn(parse_square("e4"), None)
    record.winner, record.reason = True, "TIMEOUT"
    examples = make_examples([record])
    assert (examples.actions < 64).tolist() == [True, False, True]
    assert examples.outcomes.tolist() == [1, 1, -1]
    assert examples.soon_lost.tolist() == [False, False, True]


def test_promotions_count_as_queens_and_passes_as_passes() -> None:
    fen = "8/P6k/8/8/8/8/8/7K w - - 0 1"
    game = Game(fen)
    game.sense(None)
    game.move(parse_action("a7a8"), 2)
    game.sense(None)
    game.act(PASS)
    examples = make_examples([game.record()])
    assert examples.actions.tolist() == [parse_action("a7a8"), PASS]
    assert examples.piece_counts[1].tolist() == [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]


def test_black_may_begin() -> None:
    examples = make_examples([play("sense a1, pass, sense a1, pass", "4k3/8/8/8/8/8/8/4K3 b - - 0 1")])
    assert examples.players.tolist() == [False, False, True, True]
    assert examples.set_sizes.tolist() == [1, 1, 6, 6]


# What is done with examples.


def test_taking_rows_takes_their_legal_actions_along() -> None:
    examples = real_examples()
    rows = np.random.default_rng(0).integers(0, len(examples), 300)
    taken = examples.take(rows)
    for at, row in enumerate(rows):
        assert taken.legal_of(at).tolist() == examples.legal_of(int(row)).tolist()
        assert taken.actions[at] in taken.legal_of(at)
    assert np.array_equal(taken.synopses, examples.synopses[rows])
    assert len(examples.take(np.array([], dtype=np.int64))) == 0


def test_batches_hold_every_example_once() -> None:
    examples = real_examples()
    for seed in (None, 1):
        batches = list(examples.batches(64, seed))
        assert [len(batch) for batch in batches[:-1]] == [64] * (len(examples) // 64)
        assert len(batches[-1]) == len(examples) % 64
        rows = np.concatenate([batch.synopses for batch in batches])
        assert np.array_equal(rows, examples.synopses) == (seed is None)
        assert sorted(map(bytes, rows)) == sorted(map(bytes, examples.synopses))
    assert same(next(examples.batches(64, 1)), next(examples.batches(64, 1)))
    with pytest.raises(ValueError, match="0 examples"):
        next(examples.batches(0))


def test_cleaning_leaves_out_small_cut_sets_and_missed_wins() -> None:
    fen = "k6r/8/8/8/8/8/8/R6K w - - 0 1"
    records = [*real_records(), play("sense a7, pass, sense h7, h1h8", fen)]
    examples = make_examples(records, ExampleSettings(ell=30, cap=40, seed=2))
    cleaned = clean(examples, 30)
    small = examples.cut & (examples.set_sizes < 30)
    assert (cleaned.rows, cleaned.flagged, cleaned.too_small) == (len(examples), examples.cut.sum(), small.sum())
    assert cleaned.missed_win == 4 and cleaned.too_small > 0
    assert len(cleaned.examples) == len(examples) - cleaned.too_small - 4
    assert not np.any(cleaned.examples.missed_win)
    assert not np.any(cleaned.examples.cut & (cleaned.examples.set_sizes < 30))
    assert cleaned.flagged_share == pytest.approx(np.mean(examples.cut))
    assert f"{len(cleaned.examples):,} of {len(examples):,} examples" in str(cleaned)
    assert clean(make_examples([]), 128).flagged_share == 0


def test_a_tenth_of_the_games_are_for_validation_by_what_they_are() -> None:
    records = []
    for number in range(2_000):
        record = GameRecord(f"White {number}", "Black")
        record.add_turn(number % 64, 0)
        records.append(record)
    training, validation = split(records)
    assert len(training) + len(validation) == 2_000
    assert 140 < len(validation) < 260
    assert all(is_validation(GameRecord.from_bytes(record.to_bytes())) for record in validation)
    assert split(records[::-1])[1] == validation[::-1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ExampleSettings(ell=0), "ell"),
        (ExampleSettings(multiplicity=0), "multiplicity"),
        (ExampleSettings(cap=0), "cap"),
        (ExampleSettings(cap=-5), "cap"),
    ],
)
def test_settings_below_one_are_refused(settings: ExampleSettings, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_examples(real_records()[:1], settings)


def test_a_game_that_breaks_the_rules_is_named() -> None:
    broken = GameRecord()
    broken.add_turn(0, parse_square("e2") | parse_square("e5") << 6)
    with pytest.raises(ValueError, match="game 1: "):
        make_examples([real_records()[0], broken])
    nowhere = GameRecord(start_fen="nonsense")
    nowhere.add_turn(0, 0)
    with pytest.raises(ValueError, match=r"game 2: .*nonsense"):
        make_examples([*real_records()[:2], nowhere])
    beyond = GameRecord.from_bytes(real_records()[0].to_bytes())
    beyond.add_turn(0, 0)
    with pytest.raises(ValueError, match="game 0: "):
        make_examples([beyond])


def test_no_games_give_no_examples() -> None:
    examples = make_examples([])
    assert len(examples) == 0
    assert examples.synopses.shape == (0, 104) and examples.piece_counts.shape == (0, 12)
    assert list(examples.batches(8)) == []
