"""Game files: there and back without loss, and every fault answered by one error that names the file and the turn."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import pytest
import reconchess
from reconchess.history import GameHistory, GameHistoryEncoder

from penumbra.core import GameRecord
from penumbra.interop.game_files import read_games
from penumbra.interop.history import (
    history_to_record,
    read_history,
    read_record,
    record_to_history,
    write_record,
)
from penumbra.interop.history_json import GameFileError
from penumbra.interop.local_game import LocalGame
from penumbra.rbc.actions import uci_to_code
from tests.support import DATA
from tests.support.lockstep import FakeClock, middle_game

Data = dict[str, Any]


def random_history(seed: int, fen: str | None = None, last_move: bool = True) -> GameHistory:
    """A game of a few dozen turns; without `last_move` it ends on time between a sense and its move."""
    rng = random.Random(seed)
    clock = FakeClock()
    game = LocalGame(fen=fen, full_turn_limit=None, clock=clock)
    game.store_players("someone", "someone else")
    game.start()
    plies = rng.randrange(1, 60)
    while not game.is_over():
        moves = game.move_actions()
        assert moves is not None
        game.sense(rng.choice([None, *chess.SQUARES]))
        plies -= 1
        if plies == 0 and not last_move:
            clock.seconds += 10_000
            break
        game.move(rng.choice([None, *moves]))
        game.end_turn()
        if plies == 0:
            game.resign()
    game.end()
    return game.get_game_history()


def text_of(history: GameHistory) -> str:
    return json.dumps(history, cls=GameHistoryEncoder)


@pytest.fixture
def data() -> Data:
    """A whole game as JSON data: 1.e4 (sense d7) d5 (no sense) 2.exd5 (sense d5), then Black gives up."""
    game = LocalGame()
    game.store_players("one", "two")
    game.start()
    for square, move in ((chess.D7, "e2e4"), (None, "d7d5"), (chess.D5, "e4d5")):
        game.sense(square)
        game.move(chess.Move.from_uci(move))
        game.end_turn()
    game.resign()
    game.end()
    loaded: Data = json.loads(text_of(game.get_game_history()))
    return loaded


@pytest.mark.parametrize("last_move", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_json_to_record_to_json_is_the_same(seed: int, last_move: bool, tmp_path: Path) -> None:
    fen = middle_game(random.Random(seed)) if seed % 2 else None
    original, copy = tmp_path / "original.json", tmp_path / "copy.json"
    random_history(seed, fen, last_move).save(str(original))
    record = GameRecord.from_bytes(read_record(original).to_bytes())
    write_record(copy, record)
    assert json.loads(copy.read_text()) == json.loads(original.read_text())
    assert GameHistory.from_file(str(copy)) == read_history(original)


def test_games_from_the_server_survive_unchanged(tmp_path: Path) -> None:
    original, copy = tmp_path / "original.json", tmp_path / "copy.json"
    for line in (DATA / "real_games.jsonl").read_text().splitlines():
        original.write_text(line)
        write_record(copy, read_record(original))
        assert json.loads(copy.read_text()) == json.loads(line)


def test_a_last_turn_may_hold_a_sense_and_no_move() -> None:
    history = random_history(3, last_move=False)
    record = history_to_record(history)
    assert len(record.moves) == len(record.senses) - 1
    assert record.reason == "TIMEOUT"


def test_a_king_taken_too_late_is_a_loss_on_time(tmp_path: Path) -> None:
    clock = FakeClock()
    game = LocalGame(10, 1, fen="4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1", clock=clock)
    game.start()
    game.sense(chess.E8)
    clock.seconds = 20.0
    game.move(chess.Move.from_uci("e7e8"))
    game.end_turn()
    game.end()
    history = game.get_game_history()
    record = history_to_record(history)
    assert (record.winner, record.reason) == (False, "TIMEOUT")
    assert text_of(record_to_history(record)) == text_of(history)


def test_an_empty_game_is_a_game() -> None:
    game = LocalGame()
    game.resign()
    game.end()
    history = game.get_game_history()
    assert text_of(record_to_history(history_to_record(history))) == text_of(history)


def test_requests_keep_their_missing_promotion() -> None:
    game = LocalGame(fen="4k3/P7/8/8/8/8/8/4K3 w - - 0 1")
    game.start()
    game.sense(None)
    game.move(chess.Move.from_uci("a7a8"))
    game.end()
    history = record_to_history(history_to_record(game.get_game_history()))
    turn = reconchess.history.Turn(chess.WHITE, 0)
    assert (history.requested_move(turn).uci(), history.taken_move(turn).uci()) == ("a7a8", "a7a8q")


def refused(data: Data, tmp_path: Path) -> GameFileError:
    path = tmp_path / "game.json"
    path.write_text(json.dumps(data))
    with pytest.raises(GameFileError) as caught:
        read_record(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_whole_game_is_accepted(data: Data, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text(json.dumps(data))
    assert read_record(path).moves == [
        uci_to_code("e2e4"),
        uci_to_code("d2d4"),  # d7d5 as Black sees it
        uci_to_code("e4d5"),
    ]


def test_every_truncation_is_refused(data: Data, tmp_path: Path) -> None:
    text = json.dumps(data)
    path = tmp_path / "game.json"
    for end in [*range(0, len(text), 7), len(text) - 1]:
        path.write_text(text[:end])
        with pytest.raises(GameFileError, match=r"game\.json: is not JSON"):
            read_record(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "is not a text file"),
        (b"[]", "is not a game"),
        (b'{"type": "Game"}', "is not a game"),
        (b'{"type": "GameHistory"}', 'is not a whole game: "white_name" is missing'),
        (b"[" * 100_000, "is not"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_bytes(content)
    with pytest.raises(GameFileError, match=message):
        read_record(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(GameFileError, match=r"nowhere\.json: cannot be read: No such file"):
        read_record(tmp_path / "nowhere.json")


def set_move(key: str, color: str, turn: int, word: str) -> Callable[[Data], None]:
    def edit(data: Data) -> None:
        data[key][color][turn] = {"type": "Move", "value": word}

    return edit


def set_value(key: str, color: str, turn: int, value: object) -> Callable[[Data], None]:
    def edit(data: Data) -> None:
        data[key][color][turn] = value

    return edit


def set_reason(name: str) -> Callable[[Data], None]:
    return lambda data: data.update(win_reason={"type": "WinReason", "value": name})


def clear_black(data: Data) -> None:
    for key in ("senses", "sense_results", "requested_moves", "taken_moves"):
        data[key]["false"].clear()
    for key in ("capture_squares", "fens_before_move", "fens_after_move"):
        data[key]["false"].clear()


@pytest.mark.parametrize(
    ("edit", "turn", "message"),
    [
        (set_move("requested_moves", "true", 0, "e2e5"), "turn 1 of White", "e2e5"),
        (set_move("requested_moves", "false", 0, "a7a2"), "turn 1 of Black", "not on the list"),
        (set_move("requested_moves", "true", 1, "a1b8"), "turn 2 of White", "not on the list"),
        (set_move("requested_moves", "true", 1, "0000"), "turn 2 of White", "is not a move"),
        (set_move("requested_moves", "true", 1, "nonsense"), "turn 2 of White", "is not a move"),
        (set_move("taken_moves", "true", 1, "e4e5"), "turn 2 of White", "the move taken is e4e5"),
        (set_value("requested_moves", "true", 0, "e2e4"), "turn 1 of White", "is not a Move"),
        (set_value("taken_moves", "false", 0, None), "turn 1 of Black", "the move taken is None"),
        (set_value("capture_squares", "true", 1, 1), "turn 2 of White", "the capture square is 1"),
        (set_value("capture_squares", "true", 1, 64), "turn 2 of White", "64 is not a square"),
        (set_value("senses", "false", 0, "d5"), "turn 1 of Black", "is not a square"),
        (set_value("senses", "true", 0, 0), "turn 1 of White", "the sense result"),
        (set_value("sense_results", "true", 1, []), "turn 2 of White", "the sense result"),
        (set_value("sense_results", "true", 1, [[1]]), "turn 2 of White", "is not a square and what stands"),
        (set_value("fens_after_move", "false", 0, 5), "turn 1 of Black", "is not a FEN"),
        (
            set_value("fens_after_move", "false", 0, "8/8/8/8/8/8/8/8 w - - 0 1"),
            "turn 1 of Black",
            "the position after",
        ),
        (lambda data: data["taken_moves"]["true"].pop(), "turn 2 of White", "ends too early"),
        (lambda data: data["senses"]["false"].append(3), "turn 2 of Black", "ends too early"),
        (clear_black, None, "White has 2 turns and Black 0"),
        (lambda data: data.update(winner_color="white"), None, '"winner_color"'),
        (set_reason("LUCK"), None, "LUCK"),
        (set_reason("KING_CAPTURE"), None, "not so on the board"),
        (lambda data: data.pop("senses"), None, '"senses" is missing'),
        (lambda data: data.update(senses=[]), None, "is not an object"),
        (lambda data: data.update(senses={"true": []}), None, "no list for each player"),
        (set_value("fens_before_move", "true", 0, "gibberish"), None, "gibberish"),
    ],
)
def test_faults_are_refused_by_turn(
    edit: Callable[[Data], object], turn: str | None, message: str, data: Data, tmp_path: Path
) -> None:
    edit(data)
    error = refused(data, tmp_path)
    assert error.turn == turn
    assert message in str(error)


def test_the_turn_named_is_the_first_that_differs(data: Data, tmp_path: Path) -> None:
    """Also where what comes of it makes a later turn illegal: after e2e3 there is no e4d5."""
    set_move("requested_moves", "true", 0, "e2e3")(data)
    error = refused(data, tmp_path)
    assert error.turn == "turn 1 of White"
    assert "the move taken is e2e4, but the rules give e2e3" in str(error)


BEFORE = "2b1k2r/1p1p4/r6n/2P3Np/3p2P1/2B3P1/4Q3/5r1K b - - 1 55"  # 55...b5 56.cxb6 would leave the king in check


def server_game(fen: str) -> Data:
    """A double step and an en-passant capture that the server refused, with FENs as it writes them."""
    game = LocalGame(fen=fen)
    game.start()
    for square, move in ((None, "b7b5"), (chess.B5, None), (None, "d7d6")):
        game.sense(square)
        game.move(None if move is None else chess.Move.from_uci(move))
        game.end_turn()
    game.resign()
    game.end()
    data: Data = json.loads(text_of(game.get_game_history()).replace(" b6 0", " - 0"))
    set_move("requested_moves", "true", 0, "c5b6")(data)
    return data


def test_a_game_in_which_the_server_refused_an_en_passant_capture_is_read_with_a_note(tmp_path: Path) -> None:
    path, notes = tmp_path / "game.json", list[str]()
    path.write_text(json.dumps(server_game(BEFORE)))
    (record,) = read_games(path, lambda error: pytest.fail(str(error)), note=notes.append)
    assert record.moves[1] == 0 and len(record.moves) == 3
    assert notes == [
        f"{path}, line 1: turn 1 of White: the server refused c5b6 en passant; kept as the pass that it became"
    ]
    record.replay()


def test_a_capture_that_the_server_would_not_have_refused_is_an_error_all_the_same(tmp_path: Path) -> None:
    """Without the rook the king would not be in check."""
    error = refused(server_game(BEFORE.replace("5r1K", "7K")), tmp_path)
    assert error.turn == "turn 1 of White"
    assert "the move taken is None, but the rules give c5b6" in str(error)


def test_random_damage_is_never_another_error(data: Data, tmp_path: Path) -> None:
    """Replace any one value anywhere by something else: the file is read or refused, never anything else."""
    rng = random.Random(7)
    path = tmp_path / "game.json"
    for _ in range(1_500):
        damaged = json.loads(json.dumps(data))
        node: Any = damaged
        while True:
            key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
            if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.2:
                break
            node = node[key]
        node[key] = rng.choice([None, True, -1, 3, 99, 2.5, "", "e2e4", "k", [], {}, [[]], {"type": "Move"}])
        path.write_text(json.dumps(damaged))
        try:
            record = read_record(path)
        except GameFileError as error:
            assert "\n" not in str(error)
        else:
            record_to_history(record)
