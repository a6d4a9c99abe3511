"""`advance`, nothing being cut: equal to the oracle, honest about what each player observes, and strict about input.

How sets are cut is the subject of test_cuts.py.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import chess
import numpy as np
import pytest

from penumbra import core
from tests.oracles.infostate import Outcome, advance, context_of_mover, context_of_other
from tests.oracles.shares import previous_shares
from tests.oracles.state_set import State, board_of, state_of, taken_moves, takes_king
from tests.oracles.synopsis import MOVE, SENSE, Context, synopsis
from tests.oracles.views import PASS, action_of_move, viewer_capture
from tests.oracles.walks import Step
from tests.support.kernels import batch, context_of, fen_of, states_of
from tests.support.situations import SCALE, random_steps, scripted_steps

ROOM = 4_000  # more than any successor set here


# White takes en passant, then Black, whose squares are seen from its own side.
PASSING = (
    "sense d7, e2e4, sense e5, a2a3, sense d7, e4e5, sense e4, d2d4, sense a7, e5d6, sense a3, pass",
    "sense a2, pass, sense a2, d2d4, sense b7, pass, sense d4, d4d5, sense d5, c2c4, sense b4, d5c6, sense h7, pass",
)


@cache
def sample_steps() -> list[Step]:
    """Steps of random games, and two games with what random ones lack."""
    passing = [step for words in PASSING for step in scripted_steps(chess.Board(), words, 24)]
    return random_steps(60 * SCALE, 12, 24)[::3] + passing


def play(steps: list[Step]) -> tuple[core.Infostates, core.Infostates]:
    """The native batches after the steps' actions, nothing cut and no king taken."""
    actors, others = [step.actor for step in steps], [not step.actor for step in steps]
    actions = np.array([step.action for step in steps], dtype=np.int32)
    actor, other, ended = core.advance(batch(steps, actors), batch(steps, others), actions, ROOM, ROOM)
    assert not np.any(ended)
    return actor, other


def contexts_after(step: Step, outcome: Outcome) -> tuple[Context, Context]:
    """The actor's and the other player's memory."""
    actor, other = step.context[step.actor], step.context[not step.actor]
    if step.kind == SENSE:
        return actor, other
    planes, seen = (
        synopsis(step.actor, MOVE, step.actor_boards(), actor),
        previous_shares(step.actor, step.actor_boards()),
    )
    return context_of_mover(actor, outcome, planes, seen, step.actor), context_of_other(other, outcome, not step.actor)


def kind_of(step: Step, outcome: Outcome) -> str:
    """What sort of thing happened, for counting."""
    board, taken = board_of(step.truth), outcome.taken
    if step.kind == SENSE:
        return "sense"
    if step.action == PASS:
        return "pass"
    if taken is None:
        return "failed move"
    if board.is_en_passant(taken):
        return "en passant"
    if board.is_castling(taken):
        return "castling"
    if taken.promotion:
        return "promotion"
    if action_of_move(taken, step.actor) != step.action:
        return "move that stopped early"
    return "capture" if outcome.capture is not None else "quiet move"


def test_advance_equals_the_oracle() -> None:
    met: Counter[str] = Counter()
    steps = sample_steps()
    for first in range(0, len(steps), 60):
        chunk = steps[first : first + 60]
        actor, other = play(chunk)
        for row, step in enumerate(chunk):
            outcome = advance(step.states[step.actor], step.states[not step.actor], step.truth, step.action)
            met[kind_of(step, outcome)] += 1
            assert states_of(actor, row) == outcome.actor
            assert states_of(other, row) == outcome.other
            assert (actor.counts[row], other.counts[row]) == (len(outcome.actor), len(outcome.other))
            assert (context_of(actor, row), context_of(other, row)) == contexts_after(step, outcome)
            assert (actor.players[row], other.players[row]) == (step.actor, not step.actor)
            assert actor.turns[row] == other.turns[row] == outcome.truth.turn
            assert actor.steps[row] == other.steps[row] == 1 - step.kind
    assert len(met) == 9, met


WHITE_CASES = {
    "sense": (["k7/8/8/n7/8/8/8/7K w - - 0 1", "k7/8/8/n6n/8/8/8/7K w - - 0 1", "k7/8/8/8/8/8/8/7K w - - 0 1"], "a5"),
    "quiet move": (["7k/8/8/8/8/8/8/R6K w - - 0 1", "7k/8/8/8/n7/8/8/R6K w - - 0 1"], "a1a8"),
    "capture": (["7k/8/8/8/n7/8/8/R6K w - - 0 1", "7k/8/8/8/b7/8/8/R6K w - - 0 1"], "a1a4"),
    "slide stopped early": (["7k/8/8/8/n7/8/8/R6K w - - 0 1", "7k/8/8/n7/8/8/8/R6K w - - 0 1"], "a1a8"),
    "failed push": (["7k/8/8/8/8/n7/P7/7K w - - 0 1", "7k/8/8/8/8/8/P7/7K w - - 0 1"], "a2a3"),
    "failed diagonal": (["7k/8/8/8/8/8/P7/7K w - - 0 1", "7k/8/8/8/8/1n6/P7/7K w - - 0 1"], "a2b3"),
    "double step cut short": (["7k/8/8/8/n7/8/P7/7K w - - 0 1", "7k/8/8/8/8/8/P7/7K w - - 0 1"], "a2a4"),
    "double step": (["7k/8/8/8/1p6/8/P7/7K w - - 0 1", "7k/8/8/8/n7/8/P7/7K w - - 0 1"], "a2a4"),
    "en passant": (["7k/8/8/3pP3/8/8/8/7K w - d6 0 1", "7k/8/3p4/4P3/8/8/8/7K w - - 0 1"], "e5d6"),
    "castling": (["7k/8/8/8/8/8/8/4K2R w K - 0 1", "7k/8/8/8/8/8/8/4Kn1R w K - 0 1"], "e1g1"),
    "castling that fails": (["7k/8/8/8/8/8/8/4Kn1R w K - 0 1", "7k/8/8/8/8/8/8/4K2R w K - 0 1"], "e1g1"),
    "promotion": (["8/P6k/8/8/8/8/8/7K w - - 0 1", "n7/P6k/8/8/8/8/8/7K w - - 0 1"], "a7a8"),
    "promotion by capture": (["1n6/P6k/8/8/8/8/8/7K w - - 0 1", "1r6/P6k/8/8/8/8/8/7K w - - 0 1"], "a7b8"),
    "rook with a right taken": (["r3k3/8/8/8/8/8/8/R6K w q - 0 1", "r3k3/8/8/8/8/8/8/R6K w - - 0 1"], "a1a8"),
    "pass": (["7k/8/8/8/8/n7/P7/7K w - - 0 1", "7k/8/8/8/8/8/P7/7K w - - 0 1"], "pass"),
}


def hand_made(fens: list[str], word: str, color: chess.Color) -> Step:
    """The first FEN is the truth; the other player knows that, or takes the actor's first move to be unmade."""
    boards = [chess.Board(fen) if color else chess.Board(fen).mirror() for fen in fens]
    states = [state_of(board) for board in boards]
    if len(word) == 2:
        kind, action = SENSE, chess.parse_square(word)
    else:
        kind = MOVE
        action = PASS if word == "pass" else action_of_move(chess.Move.from_uci(word), chess.WHITE)
    knowledge = {color: frozenset(states), not color: frozenset(states[:1])}
    return Step(kind, states[0], knowledge, {True: Context(), False: Context(1, 2, 3, 4)}, action)


@pytest.mark.parametrize("color", [chess.WHITE, chess.BLACK], ids=["white", "black"])
@pytest.mark.parametrize("case", WHITE_CASES)
def test_each_kind_of_action(case: str, color: chess.Color) -> None:
    step = hand_made(*WHITE_CASES[case], color)
    actor, other = play([step])
    outcome = advance(step.states[color], step.states[not color], step.truth, step.action)
    assert states_of(actor, 0) == outcome.actor
    assert states_of(other, 0) == outcome.other
    assert (context_of(actor, 0), context_of(other, 0)) == contexts_after(step, outcome)


def test_a_king_taken_is_flagged_and_leaves_the_row_as_it_was() -> None:
    takes = hand_made(["k6r/8/8/8/8/8/8/R6K w - - 0 1", "r6k/8/8/8/8/8/8/R6K w - - 0 1"], "a1a8", chess.WHITE)
    spares = hand_made(["r6k/8/8/8/8/8/8/R6K w - - 0 1", "k6r/8/8/8/8/8/8/R6K w - - 0 1"], "a1a8", chess.WHITE)
    steps = [spares, takes, spares]
    actor, other = batch(steps, [True] * 3), batch(steps, [False] * 3)
    after, after_other, ended = core.advance(actor, other, np.array([step.action for step in steps], dtype=np.int32))
    assert ended.tolist() == [0, 1, 0]
    for before, now in ((actor, after), (other, after_other)):
        assert now.keys(True)[1] == before.keys(True)[1]
        assert now.fens(1) == before.fens(1)
        assert (now.turns[1], now.steps[1]) == (before.turns[1], before.steps[1])
    assert after.fens(0) == after.fens(2) == ["R6k/8/8/8/8/8/8/7K b - - 0 1"]


@pytest.mark.parametrize("seed", range(10))
def test_batches_are_left_as_they_were(seed: int) -> None:
    steps = random_steps(60 * SCALE, 12, 24)[seed * 24 : seed * 24 + 24]
    actor, other = batch(steps, [step.actor for step in steps]), batch(steps, [not step.actor for step in steps])
    before = actor.keys(True), other.keys(True)
    core.advance(actor, other, np.array([step.action for step in steps], dtype=np.int32), 3, 3)
    assert np.array_equal(actor.keys(True), before[0]) and np.array_equal(other.keys(True), before[1])


def test_mirroring_and_swapping_colours_changes_nothing() -> None:
    steps = sample_steps()[:60]
    mirrored = [
        Step(
            step.kind,
            mirror(step.truth),
            {color: frozenset(map(mirror, step.states[not color])) for color in chess.COLORS},
            {color: step.context[not color] for color in chess.COLORS},
            step.action,
        )
        for step in steps
    ]
    for here, there in zip(play(steps), play(mirrored), strict=True):
        for row in range(len(steps)):
            assert {mirror(state) for state in states_of(here, row)} == states_of(there, row)
            assert context_of(here, row) == context_of(there, row)


def mirror(state: State) -> State:
    return state_of(board_of(state).mirror())


# Honesty: a player's row after the action depends on the truth only through what the player is told.


def alone(state: State, player: chess.Color, kind: int) -> core.Infostates:
    """A player who knows exactly where everything stands."""
    return core.Infostates.from_fens([[fen_of(state)]], player, kind, ROOM)


def assert_same_knowledge(one: core.Infostates, other: core.Infostates) -> None:
    assert one.keys(True)[0] == other.keys(True)[0]
    assert sorted(one.fens(0)) == sorted(other.fens(0))
    assert np.array_equal(one.synopsis(), other.synopsis())


def honest_steps() -> list[Step]:
    return [step for step in sample_steps()[::2] if len(step.states[step.actor]) > 1]


def test_nothing_of_the_truth_reaches_the_actor_but_what_it_observes() -> None:
    swaps = differences = 0
    for step in honest_steps():
        actor, action = batch([step], [step.actor]), np.array([step.action], dtype=np.int32)
        knows, _, _ = core.advance(actor, alone(step.truth, not step.actor, step.kind), action, ROOM, ROOM)
        told = advance(step.states[step.actor], [step.truth], step.truth, step.action)
        for state in sorted(step.states[step.actor] - {step.truth}, key=repr)[:8]:
            swapped, _, ended = core.advance(actor, alone(state, not step.actor, step.kind), action, ROOM, ROOM)
            seen = advance(step.states[step.actor], [state], state, step.action)
            if seen.ends:
                assert ended[0]
            elif seen.truth in told.actor:
                assert_same_knowledge(knows, swapped)
                swaps += 1
            else:
                assert knows.keys()[0] != swapped.keys()[0]
                differences += 1
    assert swaps > 500 and differences > 50


def test_nothing_of_the_truth_reaches_the_other_player_but_what_it_observes() -> None:
    """Whatever was really done, and from wherever: a player who is told the same comes to the same knowledge."""
    rng = random.Random(0)
    swaps = 0
    for step in sample_steps()[::2]:
        other, watcher = batch([step], [not step.actor]), not step.actor
        action = np.array([step.action], dtype=np.int32)
        _, knows, _ = core.advance(alone(step.truth, step.actor, step.kind), other, action, ROOM, ROOM)
        capture = advance([step.truth], [step.truth], step.truth, step.action).capture
        for state in sorted(step.states[watcher], key=repr)[:8]:
            unseen = actions_told_as(state, step.kind, capture, watcher)
            for alternative in rng.sample(unseen, min(2, len(unseen))):
                _, swapped, ended = core.advance(
                    alone(state, step.actor, step.kind), other, np.array([alternative], dtype=np.int32), ROOM, ROOM
                )
                assert not ended[0]
                assert_same_knowledge(knows, swapped)
                swaps += 1
    assert swaps > 1_000


def actions_told_as(state: State, kind: int, capture: chess.Square | None, watcher: chess.Color) -> list[int]:
    """What the side to move could do here that `watcher` would be told as `capture`, the game going on."""
    if kind == SENSE:
        return list(chess.SQUARES)
    board = board_of(state)
    moves = [move for move in taken_moves(board) if move is None or move.promotion in (None, chess.QUEEN)]
    told = [move for move in moves if not takes_king(board, move)]
    return [
        action_of_move(move, board.turn)
        for move in told
        if capture_told(board, move, watcher) == viewer_capture(capture, watcher)
    ]


def capture_told(board: chess.Board, move: chess.Move | None, watcher: chess.Color) -> int | None:
    if move is None or not board.is_capture(move):
        return None
    square = move.to_square
    if board.is_en_passant(move):
        square = chess.square(chess.square_file(move.to_square), chess.square_rank(move.from_square))
    return viewer_capture(square, watcher)


# Bad input.


def three_rows() -> tuple[core.Infostates, core.Infostates, np.ndarray]:
    """White to move in three rows, both players knowing everything; the actions are passes."""
    fens = [["7k/8/8/8/8/8/8/R6K w - - 0 1"]] * 3
    white, black = (core.Infostates.from_fens(fens, color, MOVE) for color in (True, False))
    return white, black, np.full(3, PASS, dtype=np.int32)


def with_row(rows: core.Infostates, at: int, row: core.Infostates) -> core.Infostates:
    parts = [rows.take(np.array([i])) for i in range(len(rows))]
    parts[at] = row
    return core.Infostates.concatenate(parts)


def one_row(fen: str, player: chess.Color, kind: int = MOVE) -> core.Infostates:
    return core.Infostates.from_fens([[fen]], player, kind)


def test_a_row_without_its_true_state_is_named() -> None:
    white, black, actions = three_rows()
    elsewhere = "6k1/8/8/8/8/8/8/R6K w - - 0 1"
    with pytest.raises(ValueError, match="row 1: the actor's set does not hold the true state"):
        core.advance(with_row(white, 1, one_row(elsewhere, True)), black, actions)
    with pytest.raises(ValueError, match="row 2: the other player's set does not hold the true state"):
        core.advance(white, with_row(black, 2, one_row("7k/8/8/8/8/8/8/R5K1 w - - 0 1", False)), actions)


@pytest.mark.parametrize("action", [-1, 0, 63, 64 + 64 * chess.A1 + chess.B2, 64, 4161, 100_000])
def test_an_illegal_action_is_named(action: int) -> None:
    white, black, actions = three_rows()
    actions[2] = action
    with pytest.raises(ValueError, match=f"row 2: action {action} is not legal"):
        core.advance(white, black, actions)


@pytest.mark.parametrize("action", [-1, 64, PASS, 64 + 64 * chess.A1 + chess.A8])
def test_only_senses_are_legal_at_a_sense(action: int) -> None:
    fens = [["7k/8/8/8/8/8/8/R6K w - - 0 1"]]
    white, black = (core.Infostates.from_fens(fens, color, SENSE) for color in (True, False))
    with pytest.raises(ValueError, match=f"row 0: action {action} is not legal"):
        core.advance(white, black, np.array([action], dtype=np.int32))


@pytest.mark.parametrize("ell", [0, -3])
@pytest.mark.parametrize("name", ["actor_ell", "other_ell"])
def test_an_ell_below_one_is_named(ell: int, name: str) -> None:
    white, black, actions = three_rows()
    ells = np.array([5, ell, 5], dtype=np.int32)
    with pytest.raises(ValueError, match=f"row 1: {name} is {ell}"):
        core.advance(white, black, actions, **{name: ells})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"row 0: {name} is {ell}"):
        core.advance(white, black, actions, **{name: ell})  # type: ignore[arg-type]


def test_lengths_must_agree() -> None:
    white, black, actions = three_rows()
    with pytest.raises(ValueError, match="3 actors, 3 others, 2 actions"):
        core.advance(white, black, actions[:2])
    with pytest.raises(ValueError, match="3 actors, 2 others, 3 actions"):
        core.advance(white, black.take(np.array([0, 1])), actions)
    with pytest.raises(ValueError, match="actor_ell has 4 numbers for 3 rows"):
        core.advance(white, black, actions, np.full(4, 9, dtype=np.int32))
    with pytest.raises(ValueError, match="other_ell has 2 numbers for 3 rows"):
        core.advance(white, black, actions, 9, np.full(2, 9, dtype=np.int32))


def test_rows_that_do_not_belong_together_are_named() -> None:
    white, black, actions = three_rows()
    with pytest.raises(ValueError, match="row 0: both information states belong to the same player"):
        core.advance(white, white, actions)
    with pytest.raises(ValueError, match="row 0: the actor's player is not to act"):
        core.advance(black, white, actions)
    early = one_row("7k/8/8/8/8/8/8/R6K w - - 0 1", False, SENSE)
    with pytest.raises(ValueError, match="row 1: the two information states are of different moments"):
        core.advance(white, with_row(black, 1, early), actions)


def test_an_empty_batch_is_no_error() -> None:
    nothing = np.array([], dtype=np.int64)
    white, black, actions = three_rows()
    actor, other, ended = core.advance(white.take(nothing), black.take(nothing), actions[:0])
    assert len(actor) == len(other) == len(ended) == 0
