"""reconchess' GameHistory JSON, read with care: whatever is wrong with a file, the error names the file and the turn.

Only the form is judged here; whether the game follows the rules is judged in `penumbra.interop.history`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
from reconchess import GameHistory, WinReason
from reconchess.history import Turn


class GameFileError(ValueError):
    """A game that cannot be read or contradicts the rules. `source` names the file, `turn` the turn where known."""

    def __init__(self, source: str, message: str, turn: str | None = None) -> None:
        super().__init__(": ".join(part for part in (source, turn, message) if part))
        self.source = source
        self.turn = turn


def turn_name(turn: Turn) -> str:
    """`turn 3 of White`, counted from 1."""
    return f"turn {turn.turn_number + 1} of {'White' if turn.color else 'Black'}"


def load_history(path: Path) -> GameHistory:
    """The history in a file, its form checked; `GameFileError` if it has another."""
    source = str(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise GameFileError(source, f"cannot be read: {error.strerror or error}") from None
    return parse_history(text, source)


def parse_history(text: bytes, source: str) -> GameHistory:
    """The history in one JSON object, its form checked; `GameFileError`, naming `source`, if it has another."""
    try:
        data = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError:
        raise GameFileError(source, "is not a text file") from None
    except json.JSONDecodeError as error:
        raise GameFileError(source, f"is not JSON: {error.msg} at line {error.lineno}") from None
    except RecursionError:
        raise GameFileError(source, "is not a game: nested too deeply") from None
    if not isinstance(data, dict) or data.get("type") != "GameHistory":
        raise GameFileError(source, 'is not a game: it has no "type": "GameHistory"')
    return _history(data, source)


def _history(data: dict[str, Any], source: str) -> GameHistory:
    history = GameHistory()
    history.store_players(
        _field(data, "white_name", _name, source),
        _field(data, "black_name", _name, source),
    )
    columns = {key: _column(data, key, parse, source) for key, parse in _COLUMNS.items()}
    for color in chess.COLORS:
        _same_length(columns, color, ("senses", "sense_results"), source)
        _same_length(columns, color, tuple(_COLUMNS)[2:], source)
    history._senses = columns["senses"]
    history._sense_results = columns["sense_results"]
    history._requested_moves = columns["requested_moves"]
    history._taken_moves = columns["taken_moves"]
    history._capture_squares = columns["capture_squares"]
    history._fens_before_move = columns["fens_before_move"]
    history._fens_after_move = columns["fens_after_move"]
    history.store_results(
        _field(data, "winner_color", _winner, source),
        _field(data, "win_reason", _reason, source),
    )
    return history


def _field(data: dict[str, Any], key: str, parse: Callable[[Any], Any], source: str) -> Any:
    if key not in data:
        raise GameFileError(source, f'is not a whole game: "{key}" is missing')
    try:
        return parse(data[key])
    except ValueError as error:
        raise GameFileError(source, f'"{key}": {error}') from None


def _column(data: dict[str, Any], key: str, parse: Callable[[Any], Any], source: str) -> dict[bool, list[Any]]:
    """One value for each turn, by colour."""
    by_color = _field(data, key, _object, source)
    column: dict[bool, list[Any]] = {}
    for color in chess.COLORS:
        values = by_color.get("true" if color else "false")
        if not isinstance(values, list):
            raise GameFileError(source, f'is not a whole game: "{key}" has no list for each player')
        column[color] = []
        for number, value in enumerate(values):
            try:
                column[color].append(parse(value))
            except ValueError as error:
                raise GameFileError(source, f'"{key}": {error}', turn_name(Turn(color, number))) from None
    return column


def _same_length(columns: dict[str, dict[bool, list[Any]]], color: bool, keys: tuple[str, ...], source: str) -> None:
    counts = {key: len(columns[key][color]) for key in keys}
    short = min(counts, key=lambda key: counts[key])
    if counts[short] != max(counts.values()):
        raise GameFileError(source, f'"{short}" ends too early', turn_name(Turn(color, counts[short])))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{_shown(value)} is not an object")
    return value


def _name(value: Any) -> str | None:
    if value is not None and not _is_text(value):
        raise ValueError(f"{_shown(value)} is not a name")
    return value  # type: ignore[no-any-return]


def _winner(value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"{_shown(value)} is neither true, false nor null")
    return value


def _typed(value: Any, kind: str) -> str:
    """The value of `{"type": kind, "value": ...}`."""
    if not isinstance(value, dict) or value.get("type") != kind or not isinstance(value.get("value"), str):
        raise ValueError(f"{_shown(value)} is not a {kind}")
    text: str = value["value"]
    return text


def _reason(value: Any) -> WinReason | None:
    if value is None:
        return None
    name = _typed(value, "WinReason")
    if name not in WinReason.__members__:
        raise ValueError(f"{name} is not a reason for a game to end")
    return WinReason[name]


def _square(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 64:
        raise ValueError(f"{_shown(value)} is not a square")
    return value


def _move(value: Any) -> chess.Move | None:
    if value is None:
        return None
    word = _typed(value, "Move")
    try:
        move = chess.Move.from_uci(word)
    except ValueError:
        raise ValueError(f"{_shown(word)} is not a move") from None
    if not move or move.drop is not None or move.promotion in (chess.PAWN, chess.KING):
        raise ValueError(f"{_shown(word)} is not a move")
    return move


def _sense_result(value: Any) -> list[tuple[int, chess.Piece | None]]:
    if not isinstance(value, list):
        raise ValueError(f"{_shown(value)} is not a sense result")
    return [_sensed_square(pair) for pair in value]


def _sensed_square(pair: Any) -> tuple[int, chess.Piece | None]:
    if not isinstance(pair, list) or len(pair) != 2 or pair[0] is None:
        raise ValueError(f"{_shown(pair)} is not a square and what stands there")
    square = _square(pair[0])
    assert square is not None
    if pair[1] is None:
        return square, None
    symbol = _typed(pair[1], "Piece")
    if len(symbol) != 1 or symbol not in "PNBRQKpnbrqk":
        raise ValueError(f"{_shown(symbol)} is not a piece")
    return square, chess.Piece.from_symbol(symbol)


def _fen(value: Any) -> str:
    if not _is_text(value):
        raise ValueError(f"{_shown(value)} is not a FEN")
    return value  # type: ignore[no-any-return]


def _is_text(value: Any) -> bool:
    """JSON can name halves of characters, which are no text by themselves."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


# The columns with the senses first, then those that every move has.
_COLUMNS: dict[str, Callable[[Any], Any]] = {
    "senses": _square,
    "sense_results": _sense_result,
    "requested_moves": _move,
    "taken_moves": _move,
    "capture_squares": _square,
    "fens_before_move": _fen,
    "fens_after_move": _fen,
}
