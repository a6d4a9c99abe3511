"""`StateSet` is the oracle's set: after every observation of random games, and in the paper's example game."""

import random
from collections.abc import Iterator

import chess
import numpy as np
import pytest
from reconchess.utilities import capture_square_of_move, move_actions

from penumbra import core
from tests.oracles.positions import random_placement, random_request, random_walk
from tests.oracles.state_set import SenseResult, StateSet, sense, state_fen, taken_move, taken_moves, takes_king
from tests.oracles.views import content, move_code, viewer_capture, viewer_square, window_contents
from tests.support.evidence import scale

LIMIT = scale(6_000, 50_000)  # states in a set; a game stops where the next one may well exceed it
GAMES = scale(30, 60)
GROWTH = 25  # states an expansion makes of one, about

EXAMPLE_GAME = """
g6:e2e4 e3:h7h5
g7:d2d4 f2:f7f5
g6:e4f5 e4:h5h4
d7:f1e2 g4:b8c6
g7:e2h5 g4:h8h5
b7:d1h5 g5:g7g6
e7:h5e8 g6:d7d6
g6:g6e8
"""


class Lockstep:
    """One player's exact set and the oracle's, given the same observations and compared after each."""

    def __init__(self, start: chess.Board, owner: chess.Color) -> None:
        self.owner = owner
        self.slow = StateSet.of_boards([start], owner)
        self.fast = core.StateSet(state_fen(start), owner)
        self.sizes: list[int] = []

    def __len__(self) -> int:
        return len(self.slow)

    def expand(self, capture: chess.Square | None) -> None:
        self.follow(self.slow.expand(capture), self.fast.expand(viewer_capture(capture, self.owner)))

    def sense(self, square: chess.Square, result: SenseResult) -> None:
        contents = [content(piece, self.owner) for _, piece in result]
        seen = viewer_square(square, self.owner)
        self.follow(self.slow.filter_sense(result), self.fast.filter_sense(seen, contents))

    def move(self, requested: chess.Move | None, taken: chess.Move | None, capture: chess.Square | None) -> None:
        codes = (move_code(requested, self.owner), move_code(taken, self.owner), viewer_capture(capture, self.owner))
        self.follow(self.slow.apply_move(requested, taken, capture), self.fast.apply_move(*codes))

    def follow(self, slow: StateSet, fast: core.StateSet) -> None:
        self.slow, self.fast = slow, fast
        assert same(fast, slow)
        assert fast.complete
        assert fast.turn == next(iter(slow.states)).turn
        self.sizes.append(len(slow))


def same(fast: core.StateSet, slow: StateSet) -> bool:
    """Whether both hold the same states, the fast one each of them once."""
    return len(fast) == len(slow) and sorted(fast.fens()) == sorted(slow.fens())


def starts(seed: int) -> chess.Board:
    """The usual start, a position of a random game, or one made for castling, en passant and promotion."""
    rng = random.Random(seed)
    return (chess.Board(), random_walk(rng, rng.randrange(10, 60)), random_placement(rng))[seed % 3]


def telling_sense(rng: random.Random, states: StateSet, board: chess.Board) -> chess.Square:
    """A random square, or of a few random ones that which leaves the fewest states."""
    squares = rng.sample(chess.SQUARES, rng.choice((1, 1, 4)))
    return min(squares, key=lambda square: len(states.filter_sense(sense(board, square))) if len(squares) > 1 else 0)


def play(seed: int) -> Iterator[tuple[Lockstep, chess.Board]]:
    """A random game between two locksteps; yields the one that just learnt something, with the true board."""
    rng = random.Random(seed)
    board = starts(seed)
    sides = {color: Lockstep(board, color) for color in chess.COLORS}
    capture = None
    for turn in range(30):
        side = sides[board.turn]
        if turn > 0:
            if len(side) * GROWTH > LIMIT:
                return
            side.expand(capture)
            yield side, board
        if rng.random() < 0.9:
            square = telling_sense(rng, side.slow, board)
            side.sense(square, sense(board, square))
            yield side, board
        request = random_request(board, rng)
        taken = taken_move(board, request)
        capture = capture_square_of_move(board, taken)
        side.move(request, taken, capture)
        board.push(taken or chess.Move.null())
        yield side, board


@pytest.mark.parametrize("seed", range(GAMES))
def test_random_games_in_lockstep(seed: int) -> None:
    for side, board in play(seed):
        assert state_fen(board) in side.fast
        assert all("k" in placement and "K" in placement for placement in (fen.split()[0] for fen in side.fast))
        if len(side) < 100:
            check_members(side)


def check_members(side: Lockstep) -> None:
    """Every state is found, a state with the other side to move is not, and marginals count what is on the boards."""
    counts = np.zeros((64, 13), dtype=np.uint64)
    for member in side.slow.boards():
        assert state_fen(member) in side.fast
        for square in chess.SQUARES:
            counts[viewer_square(square, side.owner), content(member.piece_at(square), side.owner)] += np.uint64(1)
        member.turn, member.ep_square = not member.turn, None
        assert state_fen(member) not in side.fast
    assert np.array_equal(side.fast.marginals(), counts)


@pytest.mark.parametrize("seed", range(GAMES // 2))
def test_pruning_to_parents(seed: int) -> None:
    """Each sense of a random game prunes the set before the expansion, and that one the set before the own move."""
    rng = random.Random(seed)
    board = starts(seed + 1)
    owner = board.turn
    capture = None
    slow, fast = StateSet.of_boards([board], owner), core.StateSet(state_fen(board), owner)
    for _ in range(4):
        request = random_request(board, rng)
        taken = taken_move(board, request)
        own = capture_square_of_move(board, taken)
        codes = (move_code(request, owner), move_code(taken, owner), viewer_capture(own, owner))
        moved, fast_moved = slow.apply_move(request, taken, own), fast.apply_move(*codes)
        board.push(taken or chess.Move.null())

        reply = taken_move(board, random_request(board, rng))
        capture = capture_square_of_move(board, reply)
        board.push(reply or chess.Move.null())
        told = viewer_capture(capture, owner)
        expanded, fast_expanded = moved.expand(capture), fast_moved.expand(told)
        all_parents = moved.parents_of_expansion(expanded, capture)
        assert same(fast_moved.prune_to_parents_of_expansion(fast_expanded, told), all_parents)

        square = rng.randrange(64)
        seen = expanded.filter_sense(sense(board, square))
        fast_seen = fast_expanded.filter_sense(
            viewer_square(square, owner), window_contents(board, viewer_square(square, owner), owner)
        )
        parents, fast_parents = (
            moved.parents_of_expansion(seen, capture),
            fast_moved.prune_to_parents_of_expansion(fast_seen, told),
        )
        assert same(fast_parents, parents)
        grandparents = slow.parents_of_move(parents, request, taken, own)
        assert same(fast.prune_to_parents_of_move(fast_parents, *codes), grandparents)
        slow, fast = seen, fast_seen
        if len(slow) > 60:
            return


@pytest.mark.parametrize("seed", range(3 * GAMES))
def test_every_observation_of_one_turn(seed: int) -> None:
    """Each capture the owner may be told of, then each answer to each of its requests, under-promotions included."""
    board = random_placement(random.Random(seed))
    owner = not board.turn
    slow, fast = StateSet.of_boards([board], owner), core.StateSet(state_fen(board), owner)
    captures = {capture_square_of_move(board, move) for move in taken_moves(board)} - {board.king(owner)}
    for capture in captures:
        assert same(fast.expand(viewer_capture(capture, owner)), slow.expand(capture))
    expanded, fast_expanded = slow.expand(None), fast.expand(None)
    for requested in {None, *move_actions(next(expanded.boards()))}:
        answers = {(taken_move(state, requested), takes_king_by(state, requested)) for state in expanded.boards()}
        for taken in {taken for taken, ends in answers if not ends}:
            for own in {capture_square_of_move(state, taken) for state in expanded.boards()}:
                check_answer(expanded, fast_expanded, requested, taken, own)


def takes_king_by(board: chess.Board, requested: chess.Move | None) -> bool:
    return takes_king(board, taken_move(board, requested))


def check_answer(
    slow: StateSet,
    fast: core.StateSet,
    requested: chess.Move | None,
    taken: chess.Move | None,
    capture: chess.Square | None,
) -> None:
    codes = (move_code(requested, slow.owner), move_code(taken, slow.owner), viewer_capture(capture, slow.owner))
    expected = slow.apply_move(requested, taken, capture)
    if expected.states:
        assert same(fast.apply_move(*codes), expected)
    else:
        with pytest.raises(core.ImpossibleObservation):
            fast.apply_move(*codes)


def test_example_game_of_the_paper() -> None:
    board = chess.Board()
    white = Lockstep(board, chess.WHITE)
    before, after = [1], []
    capture = None
    for turn, line in enumerate(EXAMPLE_GAME.split()):
        square_name, uci = line.split(":")
        request = chess.Move.from_uci(uci)
        taken = taken_move(board, request)
        if board.turn == chess.WHITE:
            if turn > 0:
                white.expand(capture)
                before.append(len(white))
            assert state_fen(board) in white.fast
            square = chess.parse_square(square_name)
            white.sense(square, sense(board, square))
            after.append(len(white))
        capture = capture_square_of_move(board, taken)
        ends = capture is not None and board.piece_type_at(capture) == chess.KING
        if board.turn == chess.WHITE and not ends:
            white.move(request, taken, capture)
        board.push(taken or chess.Move.null())
    assert before[:5] == [1, 21, 22, 21, 238]
    assert after[:4] == [1, 1, 1, 13]
    assert board.king(chess.BLACK) is None


def test_the_number_of_threads_changes_nothing(restore_threads: None) -> None:
    results = []
    for count in (1, 2, 4):
        core.set_threads(count)
        unseen = core.StateSet(core.START_FEN, False)
        for _ in range(scale(4, 5)):
            unseen = unseen.expand(None).apply_move(0, 0, None)
        capped = unseen.expand(None, 5_000, 7)
        seen = capped.filter_sense(chess.E6, window_contents(chess.Board(capped.fen(0)), chess.E6, chess.BLACK))
        results.append((unseen.fens(), capped.fens(), seen.fens(), unseen.sample(1_000, 3).fens()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("start", [core.START_FEN, "r3k2r/6p1/8/8/8/8/ppp2q2/7K b kq - 0 1"])
def test_a_large_set_expands_as_its_parts_do(start: str) -> None:
    """The whole is expanded in several rounds, each of its parts in one."""
    states = core.StateSet(start, True)
    if states.turn == states.owner:
        states = states.apply_move(0, 0, None)
    while len(states) < 150_000:
        states = states.expand(None).apply_move(0, 0, None)
    states = states.sample(150_000, 1)
    fens = states.fens()
    whole = states.expand(None)
    parts = [core.StateSet.from_fens(fens[i::3], True).expand(None) for i in range(3)]
    assert whole.generated == sum(part.generated for part in parts)
    everything = set(whole)
    assert all(set(part) <= everything for part in parts)
    assert all(any(fen in part for part in parts) for fen in whole.sample(20_000, 1))
    assert len(everything) == len(whole)


def test_unseen_play_from_the_start() -> None:
    """White passes four times without a sense: all that Black may have done."""
    start = chess.Board()
    start.turn = chess.BLACK
    side = Lockstep(start, chess.WHITE)
    for _ in range(4):
        side.expand(None)
        side.move(None, None, None)
    assert max(side.sizes) > 40_000
