"""The native search: it takes kings, agrees with a plain minimax, and refuses what it cannot search."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import chess
import numpy as np
import pytest
from studies.engine_weights import read_header, value, write_header

from penumbra import core
from penumbra.core import KING_TAKEN, MOVE, PASS, Game, Infostates, StateSet
from penumbra.rbc.actions import action_name, parse_action
from tests.oracles.positions import random_placement
from tests.support import ROOT

PLENTY = 10**9
QUIET_PLIES = 8  # plies of captures that the engine follows after its depth


def color_of(fen: str) -> bool:
    return fen.split()[1] == "w"


def listed(fen: str) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    game = Game(fen)
    game.sense(None)
    return np.array(game.legal_actions(), dtype=np.int32)


def scores(fen: str, depth: int = 1) -> dict[int, int]:
    """The score of every listed action."""
    actions = listed(fen)
    found = core.engine_scores(StateSet(fen, color_of(fen)), actions, depth, PLENTY)[0]
    return dict(zip(actions.tolist(), found.tolist(), strict=True))


def actions_of(*names: str) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array([parse_action(name) for name in names], np.int32)


def placement(rng: random.Random) -> chess.Board:
    """A random position with both kings."""
    while True:
        board = random_placement(rng)
        if board.king(chess.WHITE) is not None and board.king(chess.BLACK) is not None:
            return board


# -- a plain minimax, without cuts


def outcomes(game: Game) -> Iterator[tuple[Game, bool]]:
    """Every position a move other than the pass leads to, and whether the move captured or made a queen."""
    seen = set()
    for action in game.legal_actions():
        for promotion in (0, 2, 3, 4):
            after = game.copy()
            _, capture = after.move(action, promotion)
            taken = after.last_taken
            if taken and taken not in seen:
                seen.add(taken)
                yield after, capture is not None or taken >> 12 == 5
            if taken >> 12 == 0:
                break


def minimax(
    game: Game,
    depth: int,
    ply: int,
    quiet: int = QUIET_PLIES,
    evaluate: Callable[[str], int] = core.engine_evaluate,
    flee: int = 0,
) -> int:
    """The value for the player to move; past the depth only captures and new queens are followed, or nothing. In the
    first `flee` plies of these a player whose king is attacked has all moves, and has to take one."""
    if not game.over and game.step == core.SENSE:
        game = game.copy()
        game.sense(None)
    nexts = list(outcomes(game))
    if any(after.over for after, _ in nexts):
        return KING_TAKEN - ply
    if depth > 0:
        values = [-minimax(after, depth - 1, ply + 1, quiet, evaluate, flee) for after, _ in nexts]
        return max(values) if values else evaluate(game.fen())
    if quiet == 0:
        return evaluate(game.fen())
    attacked = quiet > QUIET_PLIES - flee and king_attacked(game.fen())
    followed = [after for after, loud in nexts if loud or attacked]
    values = [-minimax(after, 0, ply + 1, quiet - 1, evaluate, flee) for after in followed]
    return max(values if attacked else [evaluate(game.fen()), *values])


def king_attacked(fen: str) -> bool:
    return chess.Board(fen).is_check()


def sparse_positions(n: int) -> list[str]:
    """Random positions with few pieces, so that captures soon come to an end."""
    rng = random.Random(5)
    fens: list[str] = []
    while len(fens) < n:
        board = placement(rng)
        if len(board.piece_map()) <= 9:
            fens.append(board.fen(en_passant="fen"))
    return fens


@pytest.mark.parametrize("fen", sparse_positions(12))
def test_scores_agree_with_a_plain_minimax(fen: str) -> None:
    game = Game(fen, reversible_moves_limit=None)
    game.sense(None)
    found = scores(fen, depth=2)
    for action in [*game.legal_actions()[::3], PASS]:
        after = game.copy()
        after.move(action)
        expected = KING_TAKEN if after.over else -minimax(after, 1, 1)
        assert found[action] == expected, action_name(action)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_values_agree_with_a_plain_minimax(depth: int) -> None:
    for fen in sparse_positions(20)[12:]:
        expected = minimax(Game(fen, reversible_moves_limit=None), depth, 0)
        states = StateSet(fen, color_of(fen))
        assert core.engine_values(states, depth, PLENTY).tolist() == [expected]


# -- kings


def king_captures(fen: str) -> set[int]:
    """The requests that take the king."""
    found = set()
    for action in listed(fen).tolist():
        game = Game(fen)
        game.sense(None)
        game.move(action)
        if game.over:
            found.add(action)
    return found


def positions_with_a_king_to_take(n: int) -> list[str]:
    rng = random.Random(1)
    fens: list[str] = []
    while len(fens) < n:
        fen = placement(rng).fen(en_passant="fen")
        if king_captures(fen):
            fens.append(fen)
    return fens


@pytest.mark.parametrize("depth", [1, 2])
def test_every_king_capture_in_one_is_found(depth: int) -> None:
    for fen in positions_with_a_king_to_take(30 if depth == 1 else 8):
        found = scores(fen, depth)
        assert {action for action, score in found.items() if score >= KING_TAKEN} == king_captures(fen)
        assert core.engine_values(StateSet(fen, color_of(fen)), depth, PLENTY).tolist() == [KING_TAKEN]
        moves, action = core.hunt_king(fen, 2)
        assert moves == 1
        assert action in king_captures(fen)


def after_and_passed(fen: str, action: int) -> str | None:
    """The position after this move and an opponent's pass; None if the game is over."""
    game = Game(fen)
    for act in (action, PASS):
        game.sense(None)
        game.move(act)
        if game.over:
            return None
    return game.fen()


def test_every_king_capture_in_two_is_found_if_the_opponent_passes() -> None:
    rng, twos, more = random.Random(2), 0, 0
    while min(twos, more) < 4 or twos + more < 30:
        fen = placement(rng).fen(en_passant="fen")
        if king_captures(fen):
            continue
        nexts = {action: after_and_passed(fen, action) for action in listed(fen).tolist()}
        firsts = {action for action, after in nexts.items() if after is not None and king_captures(after)}
        moves, action = core.hunt_king(fen, 2)
        if firsts:
            assert moves == 2
            assert action in firsts
            twos += 1
        else:
            assert (moves, action) == (0, PASS)
            more += 1


def test_a_longer_hunt_finds_what_a_shorter_one_does_and_more() -> None:
    rng = random.Random(3)
    for _ in range(20):
        fen = placement(rng).fen(en_passant="fen")
        found = [core.hunt_king(fen, most)[0] for most in range(4)]
        shortest = next((moves for moves in found if moves), 0)
        assert found == [shortest if 0 < shortest <= most else 0 for most in range(4)]


def test_a_king_left_to_be_taken_is_lost_and_a_pass_too() -> None:
    """The rook e8 attacks the king e1: the pass, a capture that fails and every move that leaves it there lose it."""
    found = scores("k3r3/8/8/8/8/8/P7/4K3 w - - 0 1")
    lost = {action_name(action) for action, score in found.items() if score <= 1 - KING_TAKEN}
    assert lost == {"pass", "e1e2", "a2a3", "a2a4", "a2b3"}


def test_a_king_is_taken_the_sooner_the_better() -> None:
    """Two rooks against a bare king: with more depth a sure capture later is seen, and counts a little less."""
    fen = "7k/R7/8/8/8/8/8/1R5K w - - 0 1"
    name = {action_name(action): score for action, score in scores(fen, depth=3).items()}
    assert name["b1b8"] == KING_TAKEN - 2
    assert max(name.values()) == KING_TAKEN - 2


# -- many states, symmetry, budgets


def test_states_of_a_set_are_scored_each_by_itself() -> None:
    states = StateSet(core.START_FEN, True).apply_move(0, 0, None).expand(None)
    actions = listed(states.fen(0))
    together = core.engine_scores(states, actions, 1, PLENTY)
    assert together.shape == (len(states), len(actions))
    for i in range(len(states)):
        alone = core.engine_scores(StateSet(states.fen(i), True), actions, 1, PLENTY)
        assert (together[i] == alone[0]).all()


def test_colours_are_alike() -> None:
    rng = random.Random(4)
    for _ in range(20):
        board = placement(rng)
        other = board.mirror()
        fens = board.fen(en_passant="fen"), other.fen(en_passant="fen")
        assert core.engine_evaluate(fens[0]) == core.engine_evaluate(fens[1])
        assert scores(fens[0]) == scores(fens[1])


def test_more_material_is_worth_more() -> None:
    """A piece more of ours, from the least to the greatest, and one more of theirs."""
    values = [
        core.engine_evaluate(f"4k3/8/8/8/8/8/{piece}7/4K3 w - - 0 1") for piece in ("q", "r", "n", "1", "N", "R", "Q")
    ]
    assert values == sorted(values)
    assert len(set(values)) == len(values)


def test_any_budget_finds_the_king_and_the_least_is_quick() -> None:
    for fen in positions_with_a_king_to_take(10):
        actions = listed(fen)
        found = core.engine_scores(StateSet(fen, color_of(fen)), actions, 3, 1)[0]
        assert set(actions[found >= KING_TAKEN].tolist()) == king_captures(fen)


@pytest.mark.parametrize(
    ("actions", "depth", "nodes", "message"),
    [
        ([PASS], 0, 10, "depth must be at least one"),
        ([PASS], 1, 0, "nodes must be at least one"),
        ([3], 1, 10, "3 is not a listed move"),
        ([64 + 63], 1, 10, "127 is not a listed move"),
        ([5000], 1, 10, "5000 is not a listed move"),
        ([-1], 1, 10, "-1 is not a listed move"),
    ],
)
def test_bad_input_is_refused(actions: list[int], depth: int, nodes: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core.engine_scores(StateSet(core.START_FEN, True), np.array(actions, dtype=np.int32), depth, nodes)


def test_bad_positions_are_refused() -> None:
    for call in (core.engine_evaluate, core.hunt_king):
        with pytest.raises(ValueError, match="malformed FEN"):
            call("nonsense")


def test_no_actions_have_no_scores() -> None:
    none = np.array([], dtype=np.int32)
    assert core.engine_scores(StateSet(core.START_FEN, True), none, 1, 10).shape == (1, 0)


# -- the selective search


def best_move(fen: str, depth: int, nodes: int = 200_000, margin: int = 150) -> int:
    states = StateSet(fen, True)
    actions, _ = Infostates.draw(states, 1, MOVE, 1).legal()
    scores = core.engine_scores(states, actions, depth, nodes, margin)[0]
    return int(actions[scores.argmax()])


def test_the_selective_search_takes_what_hangs_and_the_king() -> None:
    assert best_move("3q3k/8/8/8/8/8/8/3RK3 w - - 0 1", 4) == parse_action("d1d8")
    assert best_move("3k4/8/8/8/8/8/8/3RK2q w - - 0 1", 6) == parse_action("d1d8")


@pytest.mark.parametrize("placed", ["4k3/pp3p2/2n5/8/3B4/2P5/PP3P2/4K3", "6k1/5pp1/8/3r4/8/2Q5/5PP1/6K1"])
def test_moves_within_the_margin_score_as_by_a_plain_minimax_of_two_plies(placed: str) -> None:
    """Two plies leave nothing to reduce or to pass; only in quiescence are captures that lose left out."""
    fen = f"{placed} w - - 0 1"
    actions = listed(fen)
    near = core.engine_scores(StateSet(fen, True), actions, 2, PLENTY, 10_000)[0]
    exact = []
    for action in actions.tolist():
        after = Game(fen)
        after.sense(None)
        after.move(action)
        exact.append(-minimax(after, 1, 1, evaluate=core.engine_evaluate_fitted, flee=2))
    assert np.median(np.abs(np.array(exact) - near)) <= 10
    assert int(np.argmax(exact)) == near.argmax()


def test_the_selective_search_repeats_itself_and_needs_few_nodes() -> None:
    states = StateSet("r2q1rk1/ppp2ppp/2np1n2/2b1p1B1/2B1P1b1/2NP1N2/PPP2PPP/R2Q1RK1 w - - 0 8", True)
    actions, _ = Infostates.draw(states, 1, MOVE, 1).legal()
    twice = [core.engine_scores(states, actions, 8, 20_000, 150) for _ in range(2)]
    np.testing.assert_array_equal(twice[0], twice[1])
    one_ply = core.engine_scores(states, actions, 1, 20_000, 150)
    np.testing.assert_array_equal(core.engine_scores(states, actions, 8, 1, 150), one_ply)  # the last whole depth
    with pytest.raises(ValueError, match="the margin is -1"):
        core.engine_scores(states, actions, 2, 100, -1)


# -- the fitted evaluation

WEIGHTS = ROOT / "native" / "rbc" / "evaluation_weights.h"


def test_the_fitted_evaluation_is_its_weights_times_the_features_counted_slowly() -> None:
    weights = read_header(WEIGHTS)
    rng = random.Random(5)
    for _ in range(300):
        fen = placement(rng).fen()
        assert abs(core.engine_evaluate_fitted(fen) - value(fen, weights)) < 1, fen


def test_the_fitted_evaluation_sees_no_colours() -> None:
    rng = random.Random(6)
    for _ in range(100):
        board = placement(rng)
        assert core.engine_evaluate_fitted(board.fen()) == core.engine_evaluate_fitted(board.mirror().fen())


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    weights = read_header(WEIGHTS)
    write_header(weights, tmp_path / "weights.h")
    assert np.array_equal(read_header(tmp_path / "weights.h"), weights)


def test_a_search_with_a_margin_does_not_stop_where_a_king_is_attacked() -> None:
    """After one ply the black king stands attacked in both cases; at the back rank there is nowhere to go."""
    fen = "6k1/5ppp/8/8/8/8/8/R3R1K1 w - - 0 1"
    mates, not_yet = core.engine_scores(StateSet(fen, True), actions_of("a1a8", "e1e5"), 1, PLENTY, 150)[0]
    assert mates > KING_TAKEN - 10 > not_yet
