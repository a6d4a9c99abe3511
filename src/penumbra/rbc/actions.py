"""Actions as numbers, and the squares, move codes and UCI words they stand for.

There are 4,161 actions, seen from the player who acts: the senses 0..63, the moves 64 + from * 64 + to (a pawn that
reaches the last rank becomes a queen) and the pass. Squares count from a1 = 0 to h8 = 63. A *viewer square* is a square
seen from the viewer's side: for Black the ranks are mirrored (square ^ 56), so that the viewer's pieces always start on
ranks 1 and 2. Mirroring is its own inverse.

A *move code* also carries the piece a pawn becomes: from | to << 6 | promotion << 12, with promotion 0 (none) or
2..5 (knight, bishop, rook, queen); code 0 is the pass. Codes exist in either view.
"""

from __future__ import annotations

from typing import Final

SENSES: Final = 64
MOVES: Final = 64 * 64
PASS: Final = SENSES + MOVES
ACTIONS: Final = PASS + 1

KNIGHT: Final = 2
BISHOP: Final = 3
ROOK: Final = 4
QUEEN: Final = 5

PASS_CODE: Final = 0

SQUARE_NAMES: Final = tuple(f"{file}{rank}" for rank in "12345678" for file in "abcdefgh")
_SQUARES: Final = {name: square for square, name in enumerate(SQUARE_NAMES)}
_PROMOTION_LETTERS: Final = {KNIGHT: "n", BISHOP: "b", ROOK: "r", QUEEN: "q"}
_PROMOTIONS: Final = {letter: piece for piece, letter in _PROMOTION_LETTERS.items()}
_PASS_WORD: Final = "pass"


def square_name(square: int) -> str:
    """The name of a square by its number: `e4` for 28."""
    _check_square(square)
    return SQUARE_NAMES[square]


def parse_square(name: str) -> int:
    """The number of a square by its name: 28 for `e4`."""
    try:
        return _SQUARES[name]
    except KeyError:
        raise ValueError(f"{name!r} is not a square; squares are a1 to h8") from None


def mirror(square: int) -> int:
    """The square as the other player sees it."""
    return square ^ 56


def view(square: int, viewer: bool) -> int:
    """A real square as `viewer` (True White) sees it; also the way back."""
    return square if viewer else square ^ 56


def is_sense(action: int) -> bool:
    """Whether the action is one of the 64 senses."""
    return 0 <= action < SENSES


def is_move(action: int) -> bool:
    """Whether the action is a move from one square to another; the pass is not."""
    return SENSES <= action < PASS


def move_action(from_square: int, to_square: int) -> int:
    """The action that moves from one viewer square to another."""
    _check_square(from_square)
    _check_square(to_square)
    return SENSES + from_square * 64 + to_square


def move_squares(action: int) -> tuple[int, int]:
    """The viewer squares (from, to) of a move."""
    if not is_move(action):
        raise ValueError(f"action {action} is not a move; moves are {SENSES} to {PASS - 1}")
    return divmod(action - SENSES, 64)


def mirror_action(action: int) -> int:
    """The action as the other player would see it: every square mirrored, the pass unchanged."""
    _check_action(action)
    if action < SENSES:
        return action ^ 56
    if action == PASS:
        return PASS
    return SENSES + ((action - SENSES) ^ (56 * 64 + 56))


def move_code(from_square: int, to_square: int, promotion: int = 0) -> int:
    """The code of a move; both squares in one view."""
    _check_square(from_square)
    _check_square(to_square)
    if promotion and promotion not in _PROMOTION_LETTERS:
        raise ValueError(f"promotion {promotion} is none of 0, {', '.join(map(str, _PROMOTION_LETTERS))}")
    return from_square | to_square << 6 | promotion << 12


def code_parts(code: int) -> tuple[int, int, int]:
    """(from, to, promotion) of a move code other than the pass."""
    from_square, to_square, promotion = code & 63, code >> 6 & 63, code >> 12
    if code <= 0 or (promotion and promotion not in _PROMOTION_LETTERS):
        raise ValueError(f"{code} is not the code of a move")
    return from_square, to_square, promotion


def mirror_code(code: int) -> int:
    """The code as the other player sees the move."""
    return code ^ (56 | 56 << 6) if code else PASS_CODE


def view_code(code: int, viewer: bool) -> int:
    """A code in real squares as `viewer` sees it; also the way back."""
    return code if viewer else mirror_code(code)


def code_to_action(code: int) -> int:
    """The action of a move code in the mover's view. The promotion is lost: an action promotes to a queen."""
    return SENSES + (code & 63) * 64 + (code >> 6 & 63) if code else PASS


def action_to_code(action: int, promotion: int = 0) -> int:
    """The move code of a move or the pass. The promotion is the caller's, for an action does not know its piece."""
    if action == PASS:
        return PASS_CODE
    return move_code(*move_squares(action), promotion)


def code_to_uci(code: int) -> str:
    """`e7e8q` for that code; `pass` for 0."""
    if code == PASS_CODE:
        return _PASS_WORD
    from_square, to_square, promotion = code_parts(code)
    return SQUARE_NAMES[from_square] + SQUARE_NAMES[to_square] + _PROMOTION_LETTERS.get(promotion, "")


def uci_to_code(word: str) -> int:
    """The code of `e2e4`, `e7e8q` or `pass`."""
    if word == _PASS_WORD:
        return PASS_CODE
    try:
        promotion = _PROMOTIONS[word[4:]] if word[4:] else 0
        return move_code(_SQUARES[word[:2]], _SQUARES[word[2:4]], promotion)
    except KeyError:
        raise ValueError(f"{word!r} is not a move; moves look like e2e4, e7e8q or pass") from None


def action_name(action: int) -> str:
    """`sense e4`, `e2e4` or `pass`, in the squares of the view the action is given in."""
    _check_action(action)
    if action < SENSES:
        return f"sense {SQUARE_NAMES[action]}"
    return code_to_uci(action_to_code(action))


def parse_action(name: str) -> int:
    """The action of a name as `action_name` writes it."""
    if name.startswith("sense "):
        return parse_square(name.removeprefix("sense "))
    return code_to_action(uci_to_code(name))


def sense_window(square: int, viewer: bool) -> tuple[int, ...]:
    """The 9, 6 or 4 viewer squares that a sense shows, in the order of its contents.

    The order is that of the real board, from the rank above to the rank below and each from the a-file on, so that
    Black, who sees the ranks mirrored, gets the lowest of its own ranks first.
    """
    _check_square(square)
    rank, file = divmod(square, 8)
    up = 1 if viewer else -1
    ranks = [r for r in (rank + up, rank, rank - up) if 0 <= r < 8]
    files = [f for f in (file - 1, file, file + 1) if 0 <= f < 8]
    return tuple(r * 8 + f for r in ranks for f in files)


def _check_square(square: int) -> None:
    if not 0 <= square < 64:
        raise ValueError(f"{square} is not a square; squares are 0 to 63")


def _check_action(action: int) -> None:
    if not 0 <= action < ACTIONS:
        raise ValueError(f"{action} is not an action; actions are 0 to {ACTIONS - 1}")
