"""A puzzle as data, and the files that hold puzzles.

A file has a line for each game that was looked through, `{"game": HASH, "puzzles": [...]}`, so that making more goes on
where it stopped. Squares and moves are those of the real board; states are FENs without clocks, in alphabetical order.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from penumbra.core import StateSet

Kind = Literal["take", "sense", "queen", "king", "save"]
Grade = Literal["easy", "medium", "hard"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GRADES: tuple[Grade, ...] = get_args(Grade)
SENSES: frozenset[Kind] = frozenset({"sense", "queen", "king"})  # whose answer is, or begins with, a sense

# Bits up to which a puzzle is easy, and medium: about a third of those found in real games each.
EASIER: dict[Kind, tuple[float, float]] = {
    "take": (1.5, 2.7),
    "sense": (3.5, 4.8),
    "queen": (6.0, 7.5),
    "king": (5.5, 7.2),
    "save": (1.8, 2.9),
}
QUESTIONS: dict[Kind, str] = {
    "take": "A move takes the king for certain. Find it.",
    "sense": "One sense, and then one move, takes the king. Where do you sense?",
    "queen": "Which sense tells you where the queen is?",
    "king": "Which sense tells you where the king is?",
    "save": "Your king can be taken. Which move saves it in every state?",
}


class BrokenPuzzles(ValueError):
    """A file that holds no puzzles, or a line of it that is not as they are written."""


@dataclass(frozen=True)
class Puzzle:
    """One question. `solutions` are all answers that are as good as the best, senses or moves."""

    kind: Kind
    difficulty: float  # bits, as `kinds.difficulty` has it
    color: bool  # of the player, True for White
    turn: int  # of the game, from 1
    states: tuple[str, ...]  # all that the player holds possible, the whole set
    truth: int  # which of them it was: what a sense of the puzzle shows
    remembered: tuple[dict[str, Any], ...]  # the events of the player's last turns, as `PlayerView` writes them
    solutions: tuple[str, ...]
    reason: str

    @cached_property
    def id(self) -> str:
        """Twelve letters that stand for the question."""
        text = json.dumps([self.kind, self.color, *self.states])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def grade(self) -> Grade:
        easy, medium = EASIER[self.kind]
        return GRADES[(self.difficulty > easy) + (self.difficulty > medium)]

    @property
    def fens(self) -> list[str]:
        """The states with clocks."""
        return [f"{state} 0 1" for state in self.states]

    @cached_property
    def set(self) -> StateSet:
        """Of all the states."""
        return StateSet.from_fens(self.fens, self.color)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def puzzle_of(data: Any) -> Puzzle:
    """A puzzle from JSON; ValueError, TypeError or KeyError where it is none."""
    puzzle = Puzzle(
        **data | {name: tuple(data[name]) for name in ("states", "remembered", "solutions")},
    )
    if puzzle.kind not in KINDS:
        raise ValueError(f"there is no kind {puzzle.kind!r}")
    if not 0 <= puzzle.truth < len(puzzle.states) or not puzzle.solutions:
        raise ValueError("it has no truth or no solution")
    return puzzle


def line_of(game: str, puzzles: Iterable[Puzzle]) -> str:
    """The line of a file that says what was found in a game."""
    found = [puzzle.to_json() for puzzle in puzzles]
    return json.dumps({"game": game, "puzzles": found}, separators=(",", ":")) + "\n"


def read_puzzles(path: Path) -> dict[str, list[Puzzle]]:
    """What was found in each game, by its hash; a last line that a kill cut short is left out."""
    data = path.read_bytes()
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError):
        raise BrokenPuzzles(f"{path} is not a file of puzzles") from None
    found = {}
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            entry = json.loads(line)
            found[str(entry["game"])] = [puzzle_of(item) for item in entry["puzzles"]]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BrokenPuzzles(f"{path}, line {number}: not a line of a file of puzzles ({error})") from None
    return found


def shipped() -> Path:
    """The puzzles of the package."""
    return Path(__file__).parent / "puzzles.jsonl.gz"
