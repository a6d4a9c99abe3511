"""A game on a server goes on where it stands, whatever was lost: a process, an answer, or what was asked for."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import chess
import pytest
from reconchess.utilities import move_actions

from penumbra.interop import connection
from penumbra.interop.connection import Connection, PatientGame, ServerError
from penumbra.interop.history import read_history
from penumbra.interop.kept_game import Asked, Invited, KeptGame
from penumbra.interop.lost_answers import is_ours, likely_result, own_pieces
from penumbra.interop.remote_game import play_on
from penumbra.players.player import Player
from penumbra.rbc.actions import PASS, code_to_action
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.reconchess_values import moved
from tests.support.rbc_server import PHASES, Fault, Invitation, serving

INVITED = Invited("http://server", "visitor", 0, 0)
TURNS = 5


class Listening(Player):
    """Plays at random, and keeps what it is told."""

    name = "Listening"

    def __init__(self, seed: int) -> None:
        self.told: list[Observation] = []
        self._random = random.Random(seed)

    def start(self, color: bool, fen: str) -> None:
        assert fen.split()[0] == chess.STARTING_BOARD_FEN

    def opponent_moved(self, capture: int | None) -> None:
        self.told.append(OpponentMoved(capture))

    def choose_sense(self) -> int:
        return self._random.randrange(64)

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        self.told.append(Sensed(square, tuple(contents)))

    def choose_move(self, actions: Sequence[int]) -> int:
        return self._random.choice(actions)

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self.told.append(Moved(requested, taken, capture))


class Killed(BaseException):
    """As if the process ended there."""


class Dying(PatientGame):
    """The process dies when it asks for something the `count`-th time, before the server has done it or after."""

    def __init__(self, connected: Connection, fault: Fault) -> None:
        super().__init__(connected, 0)
        self._fault = fault

    def _post(self, endpoint: str, obj: Any) -> Any:
        if endpoint == self._fault.what:
            self._fault.count -= 1
        if endpoint == self._fault.what and self._fault.count == 0:
            if self._fault.done:
                super()._post(endpoint, obj)
            raise Killed
        return super()._post(endpoint, obj)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "POLL", 0.01)
    random.seed(5)  # of the opponent


def played(address: str, path: Path, seed: int, game: Callable[[Connection], PatientGame]) -> Listening:
    player = Listening(seed)
    kept = KeptGame(path) if path.exists() else KeptGame(path, INVITED)
    play_on(game(Connection(address, "visitor", "-")), lambda: player, kept, lambda: True)
    return player


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("what", PHASES)
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("color", [False, True])
def test_nothing_is_done_twice_or_left_out(
    color: bool, killed: bool, what: str, done: bool, strict: bool, tmp_path: Path
) -> None:
    invitation = Invitation(color, 600, turns=TURNS, strict=strict)
    path = tmp_path / "a.game"
    with serving([invitation]) as address:
        if killed:
            with pytest.raises(Killed):
                played(address, path, 1, lambda connected: Dying(connected, Fault(what, 3, done)))
        else:
            invitation.fault = Fault(what, 3, done)
        told = played(address, path, 2, lambda connected: PatientGame(connected, 0)).told
    assert KeptGame(path).over and invitation.fault is None
    assert_in_order(invitation)
    moves = [each for each in told if isinstance(each, Moved)]
    truth = [
        moved(requested, taken, square is not None, square, color)
        for kind, (requested, taken, square) in [each for each in invitation.done if each[0] == "move"]
    ]
    assert len(truth) >= TURNS - 1 and moves == truth[: len(moves)] and len(truth) - len(moves) <= 1


@pytest.mark.parametrize("strict", [False, True])
def test_a_pass_is_not_repeated(strict: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The opponent could pass as well, so that a server that does not look would let it."""
    monkeypatch.setattr(Listening, "choose_move", lambda _self, _actions: PASS)
    invitation = Invitation(True, 600, turns=TURNS, strict=strict)
    invitation.fault = Fault("move", 3, done=True)
    with serving([invitation]) as address:
        told = played(address, tmp_path / "a.game", 2, lambda connected: PatientGame(connected, 0)).told
    assert_in_order(invitation)
    assert [each for each in told if isinstance(each, Moved)] == [Moved(0, 0, None)] * TURNS


@pytest.mark.parametrize("lost", [None, Fault("move", 1, True), Fault("end_turn", 1, False)])
def test_a_turn_that_took_the_king_is_ended(lost: Fault | None, tmp_path: Path) -> None:
    """The server closes the game only then."""
    invitation = Invitation(True, 600)
    invitation.game.board.set_fen("4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1")
    path = tmp_path / "a.game"
    with serving([invitation]) as address, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Listening, "choose_move", lambda _self, _actions: code_to_action(chess.E7 | chess.E8 << 6))
        patch.setattr(Listening, "start", lambda _self, _color, _fen: None)
        if lost is not None:
            with pytest.raises(Killed):
                played(address, path, 1, lambda connected: Dying(connected, lost))
        played(address, path, 1, lambda connected: PatientGame(connected, 0))
    assert read_history(path.with_suffix(".json")).get_winner_color() is True


def test_a_server_that_goes_away_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    invitation = Invitation(True, 600, turns=TURNS)
    invitation.fault = Fault("move", 3, done=True)
    invitation.away = 7
    with serving([invitation]) as address, caplog.at_level("INFO"):
        played(address, tmp_path / "a.game", 2, lambda connected: PatientGame(connected, 0))
    assert_in_order(invitation)
    assert invitation.away == 0
    assert [caplog.text.count(said) for said in ("cannot be reached", "answers again")] == [1, 1]


def assert_in_order(invitation: Invitation) -> None:
    """Every turn is a sense, a move and its end; a sense may be repeated as it was."""
    turns: list[tuple[str, Any]] = []
    for each in invitation.done:
        if not (turns and each[0] == "sense" and each == turns[-1]):
            turns.append(each)
    assert [kind for kind, _ in turns] == [PHASES[i % 3] for i in range(len(turns))]


def test_what_a_server_refuses_the_first_time_was_not_done(tmp_path: Path) -> None:
    """The next process chooses anew, rather than going on as if it had been done."""
    invitation = Invitation(True, 600, turns=TURNS)
    path = tmp_path / "a.game"

    class Illegal(PatientGame):
        def move(self, requested_move: chess.Move | None) -> Any:
            return super().move(chess.Move.from_uci("e1e8"))

    with serving([invitation]) as address:
        with pytest.raises(ServerError, match="status 400"):
            played(address, path, 1, lambda connected: Illegal(connected, 0))
        kept = KeptGame(path)
        assert kept.asked is None and isinstance(kept.observations[-1], Sensed)
        played(address, path, 1, lambda connected: PatientGame(connected, 0))
    assert_in_order(invitation)


@pytest.mark.parametrize(
    ("fen", "asked", "taken", "capture"),
    [
        ("4k3/8/8/3p4/8/5n2/4B3/4K3 w - - 0 1", "e2h5", "e2f3", "f3"),  # stopped on its way
        ("4k3/8/8/3p4/8/5n2/4B3/4K3 w - - 0 1", "e2a6", "e2a6", None),
        ("n3k3/8/n7/3p4/8/8/4B3/4K3 w - - 0 1", "e2a6", "e2a6", "a6"),
        ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "e4d5", "e4d5", "d5"),
        ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "e4f5", None, None),
        ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", None, None, None),
    ],
)
def test_the_result_of_a_move_is_worked_out(
    fen: str, asked: str | None, taken: str | None, capture: str | None
) -> None:
    """From the moves that are listed next, and the states that were possible."""
    told: list[Observation] = [OpponentMoved(None), Sensed(None, ())]
    wanted, done = (None if move is None else chess.Move.from_uci(move) for move in (asked, taken))
    after = chess.Board(fen)
    after.push(done or chess.Move.null())
    after.turn = chess.WHITE
    result = likely_result(fen, True, told, wanted, OpponentMoved(None), move_actions(after))
    square = None if capture is None else chess.parse_square(capture)
    assert result == moved(wanted, done, square is not None, square, True)


def test_listed_moves_say_whose_they_are() -> None:
    board = chess.Board()
    ours = own_pieces(board.fen(), True, [])
    assert is_ours(move_actions(board), [ours])
    board.push_uci("e2e4")
    assert not is_ours(move_actions(board), [ours]) and not is_ours(None, [ours])


def test_a_kept_game_is_what_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.game"
    kept = KeptGame(path, INVITED)
    kept.start(chess.STARTING_FEN)
    told: list[Observation] = [OpponentMoved(None), Sensed(9, (0,) * 9), Moved(5, 5, None), OpponentMoved(3)]
    for observation in told[:3]:
        kept.ask({"sense": 3})
        kept.observe(observation)
    assert KeptGame(path).turn_ended is False
    kept.end_turn()
    kept.observe(told[3])
    again = KeptGame(path)
    assert (again.invited, again.observations, again.asked, again.over) == (INVITED, told, None, False)
    assert again.fen == chess.STARTING_FEN
    kept.ask({"move": "e2e4"})
    kept.ask({"move": "e2e4"})
    assert KeptGame(path).asked == Asked({"move": "e2e4"}, 2)
    kept.refused()
    assert KeptGame(path).asked is None
    kept.lose_result("e2e4")
    again = KeptGame(path)
    assert (again.unheard, again.turn_ended) == ("e2e4", False)
    kept.end_turn()
    kept.observe(Moved(5, 5, None))
    again = KeptGame(path)
    assert (again.unheard, again.turn_ended) == (None, True)
    kept.finish("nobody wins")
    assert KeptGame(path).over


def test_a_line_that_was_torn_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.game"
    kept = KeptGame(path, INVITED)
    kept.observe(OpponentMoved(None))
    whole = path.read_text()
    path.write_text(whole + json.dumps({"sensed": [9, [0] * 9]})[:12])
    again = KeptGame(path)
    assert again.observations == [OpponentMoved(None)]
    again.observe(Sensed(None, ()))
    assert path.read_text().startswith(whole + '{"sensed"')
    assert KeptGame(path).observations == [OpponentMoved(None), Sensed(None, ())]
