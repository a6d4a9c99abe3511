"""Game records and reconchess' GameHistory, each from the other, and the JSON files that hold histories.

A record keeps what the players did; a history also what came of it: taken moves, captures, sense results and FENs.
Reading a history plays it through on the native game and refuses one that contradicts the rules, so that going there
and back again gives the same content. Both may end in a turn with a sense and no move.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import chess
from reconchess import GameHistory, WinReason
from reconchess.history import Turn

from penumbra.core import GameRecord
from penumbra.interop.adapters import pieces_of
from penumbra.interop.history_json import GameFileError, load_history, turn_name
from penumbra.interop.tables import code_to_move
from penumbra.rbc.actions import sense_window, view, view_code
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.reconchess_values import move_to_code
from penumbra.rbc.walk import IllegalStep, Step, walk
from penumbra.whole_files import AGAIN, replacing

log = logging.getLogger(__name__)


def record_to_history(
    record: GameRecord,
    source: str = "game record",
    look: Callable[[GameHistory, Turn, Sensed | Moved], None] = lambda history, turn, observation: None,
) -> GameHistory:
    """Plays the record through; `GameFileError`, naming `source` and the turn, where it breaks the rules. `look` is
    shown the history after each step."""
    history = GameHistory()
    history.store_players(record.white_name or None, record.black_name or None)
    last: Step | None = None
    counts = {True: 0, False: 0}  # turns that each has begun
    try:
        for last in walk(record):
            _store(history, last)
            counts[last.color] += isinstance(last.observation, Sensed)
            look(history, Turn(last.color, counts[last.color] - 1), last.observation)
    except IllegalStep as error:
        raise GameFileError(source, str(error), turn_name(Turn(error.color, error.turn - 1))) from None
    except GameFileError:
        raise
    except ValueError as error:
        raise GameFileError(source, str(error)) from None
    if record.reason == WinReason.KING_CAPTURE.name and (
        last is None or not last.after.over or last.after.winner != record.winner
    ):
        raise GameFileError(source, "the result is a king captured, but not so on the board")
    history.store_results(record.winner, WinReason[record.reason] if record.reason else None)
    return history


def history_to_record(
    history: GameHistory, source: str = "game history", note: Callable[[str], None] = log.warning
) -> GameRecord:
    """The record of a history; `GameFileError`, naming `source` and the first turn where it contradicts the rules.

    The official server lets an en-passant capture fail after which the king would be in check. Such a request is kept
    as the pass that it became, and `note` hears of it.
    """
    first = _first_color(history)
    record = GameRecord(
        history.get_white_player_name() or "", history.get_black_player_name() or "", _start_fen(history, first)
    )
    turns = _turns(history, first, source)
    for i, turn in enumerate(turns):
        sense = history.sense(turn)
        seen = None if sense is None else view(sense, turn.color)
        if i > 0 and history.has_move(turn) and _server_refused(history, turns[i - 1], turn):
            asked = history.requested_move(turn)
            note(f"{source}: {turn_name(turn)}: the server refused {asked} en passant; kept as the pass that it became")
            record.add_turn(seen, 0)
        elif history.has_move(turn):
            record.add_turn(seen, view_code(move_to_code(history.requested_move(turn)), turn.color))
        else:
            record.add_turn(seen, None)
    record.winner = history.get_winner_color()
    reason = history.get_win_reason()
    record.reason = reason.name if reason is not None else None
    _verify(history, record, source)
    return record


def read_history(path: str | Path) -> GameHistory:
    """The history in a JSON file; `GameFileError` if it cannot be read or contradicts the rules."""
    history = load_history(Path(path))
    history_to_record(history, str(path))
    return history


def read_record(path: str | Path) -> GameRecord:
    """The record of the game in a JSON file; `GameFileError` if it cannot be read or contradicts the rules."""
    return history_to_record(load_history(Path(path)), str(path))


def write_record(path: str | Path, record: GameRecord, go_on: str = AGAIN) -> None:
    """Writes the game as reconchess' JSON."""
    with replacing(path, go_on) as beside:
        record_to_history(record).save(str(beside))


def _store(history: GameHistory, step: Step) -> None:
    color = step.color
    match step.observation:
        case Sensed(square, contents):
            real = None if square is None else view(square, color)
            window = () if real is None else sense_window(real, True)
            history.store_sense(color, real, list(zip(window, pieces_of(contents, color), strict=True)))
        case Moved(requested, taken, capture):
            requested_move, taken_move = (code_to_move(view_code(code, color)) for code in (requested, taken))
            history.store_move(color, requested_move, taken_move, None if capture is None else view(capture, color))
            history.store_fen_before_move(color, step.before.fen())
            history.store_fen_after_move(color, step.after.fen())


def _first_color(history: GameHistory) -> bool:
    """White, unless the game was set up with Black to move: then White's first position is the one Black left."""
    if len(history._senses[chess.BLACK]) > len(history._senses[chess.WHITE]):
        return chess.BLACK
    starts, black = Turn(chess.WHITE, 0), Turn(chess.BLACK, 0)
    if not (history.has_move(starts) and history.has_move(black)):
        return chess.WHITE
    return bool(history.truth_fen_after_move(black) != history.truth_fen_before_move(starts))


def _start_fen(history: GameHistory, first: bool) -> str:
    turn = Turn(first, 0)
    if not history.has_move(turn):
        return ""
    fen: str = history.truth_fen_before_move(turn)
    return "" if fen == chess.STARTING_FEN else fen


def _turns(history: GameHistory, first: bool, source: str) -> list[Turn]:
    """The turns in the order of play: alternating, each with a sense, and all but the last with a move."""
    counts = {color: len(history._senses[color]) for color in chess.COLORS}
    if counts[first] - counts[not first] not in (0, 1):
        raise GameFileError(source, f"White has {counts[True]} turns and Black {counts[False]}")
    turns = [Turn(first if i % 2 == 0 else not first, i // 2) for i in range(sum(counts.values()))]
    for color in chess.COLORS:
        beyond = Turn(color, counts[color])
        if history.has_move(beyond):
            raise GameFileError(source, "there is a move but no sense", turn_name(beyond))
    for turn in turns[:-1]:
        if not history.has_move(turn):
            raise GameFileError(source, "there is no move, but the game goes on", turn_name(turn))
    return turns


def _server_refused(history: GameHistory, before: Turn, turn: Turn) -> bool:
    """Whether the request of a turn failed because the official server keeps positions as python-chess writes them:
    without an en-passant square where no such capture would be legal in chess. `before` is the turn before."""
    asked, last = history.requested_move(turn), history.taken_move(before)
    if asked is None or history.taken_move(turn) is not None or last is None:
        return False
    if last.from_square ^ last.to_square != 16 or (last.from_square + last.to_square) // 2 != asked.to_square:
        return False
    try:
        board = chess.Board(history.truth_fen_before_move(turn))
    except ValueError:
        return False
    board.ep_square = asked.to_square if board.piece_type_at(last.to_square) == chess.PAWN else None
    return board.is_en_passant(asked) and not board.has_legal_en_passant()


def _verify(history: GameHistory, record: GameRecord, source: str) -> None:
    """Plays the record and compares everything the history says came of it, step by step: what differs first is told,
    not what comes of it later."""

    def compare(played: GameHistory, turn: Turn, observation: Sensed | Moved) -> None:
        claims = _sense_claims if isinstance(observation, Sensed) else _move_claims
        for name, said, true in claims(history, played, turn):
            if said != true:
                raise GameFileError(source, f"{name} is {said}, but the rules give {true}", turn_name(turn))

    record_to_history(record, source, compare)


def _sense_claims(history: GameHistory, played: GameHistory, turn: Turn) -> list[tuple[str, object, object]]:
    """(what, as written, as played) for the sense of one turn."""
    return [("the sense result", history.sense_result(turn), played.sense_result(turn))]


def _move_claims(history: GameHistory, played: GameHistory, turn: Turn) -> list[tuple[str, object, object]]:
    """The same for its move."""
    return [
        ("the move taken", history.taken_move(turn), played.taken_move(turn)),
        ("the capture square", history.capture_square(turn), played.capture_square(turn)),
        ("the position before", _before(history, turn), _before(played, turn)),
        ("the position after", _after(history, turn), _after(played, turn)),
    ]


def _before(history: GameHistory, turn: Turn) -> str:
    return _position(history.truth_fen_before_move(turn))


def _after(history: GameHistory, turn: Turn) -> str:
    return _position(history.truth_fen_after_move(turn))


def _position(fen: str) -> str:
    """Placement, side to move and castling rights: programs differ in how they write the rest."""
    return " ".join(fen.split()[:3])
