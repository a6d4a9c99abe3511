"""Bad input to a state set is refused with one clear line, and an observation nothing explains leaves it intact."""

from collections.abc import Callable

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penumbra import core
from tests.oracles.views import move_code

START = core.START_FEN


def white_to_act() -> core.StateSet:
    return core.StateSet(START, True)


def black_moved() -> core.StateSet:
    """White to act after e2e4 and an unseen move."""
    e4 = move_code(chess.Move.from_uci("e2e4"), chess.WHITE)
    return white_to_act().apply_move(e4, e4, None).expand(None)


BAD_FENS = {
    "empty": "",
    "words": "not a position",
    "seven ranks": "8/8/8/8/8/8/8 w - - 0 1",
    "nine files": "ppppppppp/8/8/8/8/8/8/K6k w - - 0 1",
    "short rank": "7/8/8/8/8/8/8/K6k w - - 0 1",
    "unknown piece": "x7/8/8/8/8/8/8/K6k w - - 0 1",
    "side": "k7/8/8/8/8/8/8/K7 x - - 0 1",
    "castling": "k7/8/8/8/8/8/8/K7 w X - 0 1",
    "ep square": "k7/8/8/8/8/8/8/K7 w - e9 0 1",
    "ep rank": "k7/8/8/8/8/8/8/K7 w - e4 0 1",
}


@pytest.mark.parametrize("fen", BAD_FENS.values(), ids=BAD_FENS)
def test_malformed_fens(fen: str) -> None:
    with pytest.raises(ValueError, match="FEN"):
        core.StateSet(fen, True)
    with pytest.raises(ValueError, match="FEN"):
        core.StateSet.from_fens([START, fen], True)


@given(st.text(alphabet="kKqQpPrnbRNB12345678/ wb-KQkqabcdefgh0", max_size=60))
def test_any_text_is_a_position_or_refused(text: str) -> None:
    try:
        states = core.StateSet(text, True)
    except ValueError:
        return
    assert len(states) == 1
    assert core.StateSet(states.fen(0), True).fens() == states.fens()


def test_states_of_one_set_share_own_pieces_and_turn() -> None:
    with pytest.raises(ValueError):
        core.StateSet.from_fens([], True)
    with pytest.raises(ValueError):
        core.StateSet.from_fens([START, START.replace(" w ", " b ")], True)
    with pytest.raises(ValueError):
        core.StateSet.from_fens([START, START.replace("RNBQ", "RNB1")], True)
    assert len(core.StateSet.from_fens([START, START, START.replace("rnbq", "rnb1")], True)) == 2


OUT_OF_RANGE: dict[str, Callable[[], object]] = {
    "capture 64": lambda: black_moved().apply_move(0, 0, None).expand(64),
    "capture -1": lambda: black_moved().apply_move(0, 0, None).expand(-1),
    "cap -1": lambda: black_moved().apply_move(0, 0, None).expand(None, -1),
    "sense at 64": lambda: black_moved().filter_sense(64, [0] * 9),
    "sense at -1": lambda: black_moved().filter_sense(-1, [0] * 9),
    "eight contents": lambda: black_moved().filter_sense(chess.E5, [0] * 8),
    "four contents": lambda: black_moved().filter_sense(chess.E5, [0] * 4),
    "content 13": lambda: black_moved().filter_sense(chess.E5, [13] * 9),
    "content -1": lambda: black_moved().filter_sense(chess.E5, [-1] * 9),
    "move code -1": lambda: black_moved().apply_move(-1, 0, None),
    "move code 2^16": lambda: black_moved().apply_move(1 << 16, 0, None),
    "own capture 64": lambda: black_moved().apply_move(0, 0, 64),
    "contains no FEN": lambda: "e4" in black_moved(),
}


@pytest.mark.parametrize("call", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_out_of_range(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError) as refusal:
        call()
    assert not isinstance(refusal.value, core.ImpossibleObservation)
    assert "\n" not in str(refusal.value)


def test_only_the_opponent_is_expanded_and_only_the_owner_moves() -> None:
    with pytest.raises(ValueError):
        white_to_act().expand(None)
    with pytest.raises(ValueError):
        core.StateSet(START, False).apply_move(0, 0, None)


def test_a_request_that_is_not_listed() -> None:
    jump = move_code(chess.Move.from_uci("e2e5"), chess.WHITE)
    with pytest.raises(ValueError):
        white_to_act().apply_move(jump, jump, None)


E2E4 = move_code(chess.Move.from_uci("e2e4"), chess.WHITE)
E4E5 = move_code(chess.Move.from_uci("e4e5"), chess.WHITE)
IMPOSSIBLE: dict[str, Callable[[core.StateSet], object]] = {
    "an own piece that is not there": lambda states: states.filter_sense(chess.E5, [0] * 6 + [0, 0, 0]),
    "a queen on e5": lambda states: states.filter_sense(chess.E5, [0, 0, 0, 0, 11, 0, 0, 1, 0]),
    "a step that fails": lambda states: states.apply_move(E4E5, E4E5, chess.E5),
    "a capture of nothing": lambda states: states.apply_move(0, 0, None).expand(chess.A4),
    "a capture out of reach": lambda states: states.apply_move(0, 0, None).expand(chess.A1),
}


@pytest.mark.parametrize("observe", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_impossible_observations_leave_the_set_intact(observe: Callable[[core.StateSet], object]) -> None:
    states = black_moved()
    before = states.fens()
    with pytest.raises(core.ImpossibleObservation):
        observe(states)
    assert states.fens() == before
    assert len(states.expand(None) if states.turn != states.owner else states.apply_move(0, 0, None)) == len(before)
