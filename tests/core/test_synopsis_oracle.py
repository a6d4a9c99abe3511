"""The synopsis oracle itself: hand-made positions, and what must follow from the definitions."""

import random

import chess
import pytest

from penumbra.rbc.synopsis import PLANES
from tests.oracles.positions import random_placement, random_walk
from tests.oracles.synopsis import MOVE, PAIRS, SENSE, Context, bit, synopsis, union
from tests.oracles.walks import Step, walk


@pytest.fixture(scope="module", params=range(12))
def steps(request: pytest.FixtureRequest) -> list[Step]:
    """A random game: sets of one to sixty states, both players, both kinds of step."""
    rng = random.Random(request.param)
    start = random_placement(rng) if request.param % 2 else random_walk(rng, 10 * request.param)
    return list(walk(rng, start, plies=6, limit=60))


def planes_of(step: Step, boards: list[chess.Board]) -> list[int]:
    return synopsis(step.actor, step.kind, boards, step.context[step.actor])


def test_order_of_states_does_not_matter(steps: list[Step]) -> None:
    for step in steps:
        boards = step.actor_boards()
        assert planes_of(step, boards) == planes_of(step, boards[::-1])


def test_definite_is_possible_and_equals_it_for_a_single_state(steps: list[Step]) -> None:
    for step in steps:
        boards = step.actor_boards()
        many, one = planes_of(step, boards), planes_of(step, boards[:1])
        assert [(d, p) for d, p in PAIRS if many[d] & ~many[p]] == []
        assert [(d, p) for d, p in PAIRS if one[d] != one[p]] == []


def test_one_more_state_clears_definite_bits_and_sets_possible_ones(steps: list[Step]) -> None:
    for step in steps:
        boards = step.actor_boards()
        fewer, more = planes_of(step, boards[1:] or boards), planes_of(step, boards)
        for plane in PLANES:
            cleared, set_ = fewer[plane.number] & ~more[plane.number], more[plane.number] & ~fewer[plane.number]
            assert not cleared or plane.sort in ("and", "derived"), plane
            assert not set_ or plane.sort == "or", plane


def test_inclusions(steps: list[Step]) -> None:
    within = [(18, 25), (36, 37), (37, 38), (39, 40), (40, 41), (71, 72), (72, 70), (40, 37), (41, 38)]
    within += [(64, 66), (83, 82), (82, 81), (65, 31)]
    for step in steps:
        p = planes_of(step, step.actor_boards())
        assert p[11] == chess.BB_ALL & ~p[79]
        assert p[79] == union(p[12:18])
        assert p[80] == p[18] & p[11]
        assert p[38] == p[49] | p[50]
        assert p[52] == p[63] | p[64]
        assert [(smaller, larger) for smaller, larger in within if p[smaller] & ~p[larger]] == []


def test_mirroring_and_swapping_colours_changes_nothing(steps: list[Step]) -> None:
    for step in steps:
        boards = step.actor_boards()
        mirrored = [board.mirror() for board in boards]
        assert planes_of(step, boards) == synopsis(not step.actor, step.kind, mirrored, step.context[step.actor])


def test_previous_planes_are_those_of_the_last_move_step(steps: list[Step]) -> None:
    last = {chess.WHITE: [0] * 18, chess.BLACK: [0] * 18}
    for step in steps:
        planes = planes_of(step, step.actor_boards())
        assert planes[86:] == last[step.actor]
        if step.kind == MOVE:
            last[step.actor] = planes[18:36]


def test_previous_squares_differ_from_the_last_ones_in_an_ordinary_game() -> None:
    game = [planes_of(step, step.actor_boards()) for step in walk(random.Random(0), chess.Board(), 12, limit=20)]
    assert sum(planes[100:] != planes[32:36] for planes in game) > len(game) // 2


def squares(names: str) -> int:
    return union(bit(chess.parse_square(name)) for name in names.split())


def white(fen: str, *fens: str, step: int = SENSE, context: Context | None = None) -> list[int]:
    return synopsis(chess.WHITE, step, map(chess.Board, (fen, *fens)), context or Context())


def test_constants() -> None:
    p = white(chess.STARTING_FEN, step=MOVE)
    assert p[0] & squares("e1 h8 d1 a8") == squares("e1 h8")
    assert p[1] == chess.BB_ALL & ~p[0]
    assert p[2] & squares("a4 a5") == squares("a4")
    assert p[3] == chess.BB_ALL & ~p[2]
    assert p[4:8] == [chess.BB_RANK_1, chess.BB_RANK_8, chess.BB_FILE_A, chess.BB_FILE_H]
    assert p[8] & squares("a1 b1") == squares("a1")
    assert p[9] == chess.BB_ALL & ~p[8]
    assert p[10] == chess.BB_ALL and white(chess.STARTING_FEN)[10] == 0


def test_start() -> None:
    p = white(chess.STARTING_FEN)
    assert p[38] == p[44] == squares("a3 c3 f3 h3")  # no pawn captures, so only knights reach anything
    assert p[41] == 0
    assert p[52] == squares("a6 c6 f6 h6")
    assert p[66] == chess.BB_RANK_6 | chess.BB_RANK_5
    assert p[67] == squares("a8 h8")
    assert p[81] == squares("a1 h1")
    assert p[82] == p[83] == 0
    assert p[69] == squares("d1 f1 d2 e2 f2")
    assert p[70] == squares("c2 g2 d3 f3")
    assert p[73] == squares("d2 f2") and p[76] == squares("d1 f1 e2")
    assert p[84] == squares("c1 e1 d2") and p[85] == squares("c2 e2")
    assert p[65] == squares("e8")
    assert p[68] == chess.BB_ALL


def test_pawns_attack_only_what_they_can_capture() -> None:
    bare, filled = "4k3/8/8/4P3/8/8/8/4K3 w - - 0 1", "4k3/8/3n4/4P3/8/8/8/4K3 w - - 0 1"
    passing = "4k3/8/8/4Pp2/8/8/8/4K3 w - f6 0 1"
    assert white(bare)[43] == 0
    assert white(filled)[42] == squares("d6")
    assert white(passing)[42] == squares("f6")
    assert white(filled, passing)[42] == 0 and white(filled, passing)[43] == squares("d6 f6")


def test_the_ep_square_is_not_the_opponents() -> None:
    p = white("4k3/8/8/5p2/4p3/8/8/4K3 w - f6 0 1")
    assert p[55] == p[56] == 0
    assert p[66] & squares("f6 f4 e3") == squares("f4 e3")


def test_attacked_by_one_kind_or_by_some_piece_in_every_state() -> None:
    rook_only, bishop_only = "4k3/8/8/8/R7/4n3/8/K5B1 w - - 0 1", "4k3/8/8/8/Rn6/8/8/K5B1 w - - 0 1"
    p = white(rook_only, bishop_only)
    assert p[37] & squares("d4 b1 h8") == squares("d4 b1")
    assert p[36] & squares("d4 b1 h8") == squares("b1")  # by the king, in both
    assert p[40] & squares("d4") == 0


def test_doubly_attacked_by_one_kind_or_by_two() -> None:
    two_rooks = white("4k3/8/8/8/R2p4/8/8/K2R4 w - - 0 1")
    rook_and_knight = white("4k3/8/8/8/R2p4/5N2/8/K7 w - - 0 1")
    queen_alone = white("4k3/8/8/8/3p4/8/8/K2Q4 w - - 0 1")
    assert two_rooks[39] & two_rooks[40] & squares("d4")
    assert rook_and_knight[39] & rook_and_knight[40] & squares("d4")
    assert queen_alone[41] & squares("d4") == 0
    knight_and_bishop, knight_and_rook = "4k3/8/8/8/Rn1p4/5N2/8/K5B1 w - - 0 1", "4k3/8/8/8/R2p4/4nN2/8/K5B1 w - - 0 1"
    p = white(knight_and_bishop, knight_and_rook)
    assert p[39] & squares("d4") == 0  # one kind for certain
    assert p[40] & squares("d4") == squares("d4")


def test_opposing_king_is_safe_where_nothing_attacks_it() -> None:
    assert white("4k3/8/8/8/8/8/8/K3R3 w - - 0 1")[65] == 0
    assert white("4k3/8/8/8/4p3/8/8/K3R3 w - - 0 1")[65] == squares("e8")


def test_pieces_near_the_own_king() -> None:
    near, far = "4k3/8/8/8/1b6/3n4/8/r3K3 w - - 0 1", "4k3/8/8/8/1b6/2P2n2/8/1r2K3 w - - 0 1"
    p = white(near)
    assert p[71] == p[72] == squares("d3")
    assert p[74] == p[75] == squares("b4")
    assert p[77] == p[78] == squares("a1")
    q = white(far)
    assert q[72] == squares("f3") and q[75] == 0 and q[78] == squares("b1")
    queen = white("4k3/8/8/8/8/8/8/q3K2q w - - 0 1")
    assert queen[78] == squares("a1 h1") and queen[75] == 0


def test_castling_succeeds_through_check_and_not_past_a_piece() -> None:
    free, blocked = "4kr2/8/8/8/8/8/8/R3K2R w KQ - 0 1", "4kr2/8/8/8/8/8/8/Rn2K2R w KQ - 0 1"
    p = white(free, blocked)
    assert p[81] == p[82] == squares("a1 h1")
    assert p[83] == squares("h1")


def test_castling_is_among_the_opponents_moves() -> None:
    p = white("4k2r/7p/8/8/8/8/3P1P2/3QKB2 w k - 0 1")
    assert p[66] & squares("g8") and p[67] == squares("h8")
    assert white("4k2r/7p/8/8/8/8/3P1P2/3QKB2 w - - 0 1")[66] & squares("h8") == 0


def test_missing_kings_have_no_planes() -> None:
    p = white("8/8/8/8/8/8/8/R7 w - - 0 1")
    assert [p[number] for number in (17, 24, 31, 65, 69, 70, 73, 76)] == [0] * 8


def test_memory_is_shown_as_it_is() -> None:
    previous = tuple(range(18))
    context = Context(last_from=12, last_to=28, last_own_capture=None, last_opposing_capture=63, previous=previous)
    p = white(chess.STARTING_FEN, context=context)
    assert p[32:36] == [1 << 12, 1 << 28, 0, 1 << 63]
    assert p[86:] == list(previous)


def test_black_sees_its_own_side_first() -> None:
    p = synopsis(chess.BLACK, SENSE, [chess.Board("4k3/p7/8/8/8/8/7P/4K3 b - - 0 1")], Context())
    assert p[12] == squares("a2") and p[17] == squares("e1") and p[19] == squares("h7")


@pytest.mark.parametrize(
    "fens",
    [
        [],
        ["4k3/8/8/8/8/8/8/4K3 b - - 0 1"],
        ["4k3/8/8/8/8/8/8/4K3 w - - 0 1", "4k3/8/8/8/8/8/8/3K4 w - - 0 1"],
    ],
    ids=["no state", "not to act", "other own pieces"],
)
def test_what_is_no_information_state_is_refused(fens: list[str]) -> None:
    with pytest.raises(ValueError):
        synopsis(chess.WHITE, SENSE, map(chess.Board, fens), Context())
