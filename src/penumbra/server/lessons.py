"""The lessons of the tutorial, judged by the rules: positions as data (lessons.toml), and what a person does in them.

Nothing is kept between requests. A page sends all that was done in a task so far; the true game is played again, what
its player is told comes from the same `PlayerView` as in any game, and only what a step asks for goes on to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from penumbra.configs.reader import read, read_toml
from penumbra.core import MOVE, SENSE, Game
from penumbra.rbc.actions import code_to_action, parse_square, view
from penumbra.rbc.observations import OpponentMoved
from penumbra.rbc.player_view import PlayerView, color_name, listed_moves, own_pieces, request_code
from penumbra.rbc.walk import move, sense
from penumbra.server.messages import LessonWish, Move, Refusal, Sense

LESSONS = Path(__file__).with_name("lessons.toml")


@dataclass(frozen=True)
class Step:
    """What is asked for; every condition that is named has to hold."""

    do: Literal["sense", "move"]
    say: str
    right: str
    wrong: str = ""
    shows: tuple[str, ...] = ()  # squares that the sense must show
    asks: str = ""  # for this move
    ends: str = ""  # where the piece comes to stand
    captures: str = ""
    fails: bool = False
    wins: bool = False
    safe: bool = False  # the king cannot be taken after it


@dataclass(frozen=True)
class Task:
    """A position with White to sense, and what to do in it."""

    fen: str
    text: str
    step: tuple[Step, ...]
    replies: tuple[str, ...] = ()  # of the opponent, one after each move; then it passes
    known: Mapping[str, Any] = field(default_factory=dict)  # pieces that were seen `age` turns ago
    age: int = 0


@dataclass(frozen=True)
class Lesson:
    title: str
    about: str
    task: tuple[Task, ...]


@dataclass(frozen=True)
class _File:
    lesson: tuple[Lesson, ...]


@cache
def lessons() -> tuple[Lesson, ...]:
    """All of them, in the order in which they are played."""
    return read(_File, read_toml(LESSONS)).lesson


def listed() -> list[dict[str, Any]]:
    """The lessons as a page lists them."""
    return [{"title": one.title, "about": one.about, "tasks": len(one.task)} for one in lessons()]


def play(number: int, wish: LessonWish) -> dict[str, Any]:
    """How a task stands after all that was done in it, and what is said about the last of it.

    What was not asked for has not happened: the position stays as it was, and the page is told what is wrong with it.
    """
    if not 1 <= number <= len(lessons()):
        raise Refusal("unknown lesson", f"there is no lesson {number}; there are {len(lessons())}", 404)
    tasks = lessons()[number - 1].task
    if wish.task >= len(tasks):
        raise Refusal("unknown lesson", f"lesson {number} has no task {wish.task + 1}; it has {len(tasks)}", 404)
    task = tasks[wish.task]
    if len(wish.actions) > len(task.step):
        raise Refusal("over", "this task is done")
    played = _Played(task)
    right = True
    for action in wish.actions:
        if not right:
            raise Refusal("wrong step", "nothing can follow what was not asked for")
        right = played.act(action)
    return played.told(right if wish.actions else None) | {
        "lesson": number,
        "task": wish.task,
        "tasks": len(tasks),
        "text": task.text,
        "known": task.known,
        "age": task.age,
    }


class _Played:
    """A task as far as it has been played."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.game = Game(task.fen)
        self.color = self.game.turn
        self.view = PlayerView(self.color, task.fen)
        self.view.observe(OpponentMoved(None), self.game)
        self.done = 0  # steps
        self._moves = 0

    def act(self, action: Sense | Move) -> bool:
        """Plays one action; whether it is what was asked for. What is not, is taken back."""
        step = self.task.step[self.done]
        if action.type != step.do:
            raise Refusal("wrong step", f"this is the time to {step.do}")
        game = self.game.copy()
        if isinstance(action, Sense):
            square = None if action.square is None else view(parse_square(action.square), self.color)
            shown = sense(game, square)
            if not set(step.shows) <= _window(action.square):
                return False
            self.view.observe(shown.observation, game)
        else:
            if action.move is not None and action.move not in listed_moves(game):
                raise Refusal("illegal", f"{action.move} is not one of your moves")
            moved = move(game, request_code(action.move, self.color))
            if not _holds(step, action.move, moved.before, game):
                return False
            self.view.observe(moved.observation, game)
            self._reply(game)
        self.game = game
        self.done += 1
        return True

    def _reply(self, game: Game) -> None:
        """The opponent's turn, where there is one."""
        if game.over or self.done + 1 == len(self.task.step):
            return
        word = self.task.replies[self._moves] if self._moves < len(self.task.replies) else None
        self._moves += 1
        game.sense(None)
        code = request_code(word, not self.color)
        game.move(code_to_action(code), code >> 12)
        self.view.observe(OpponentMoved(game.capture), game)

    def told(self, right: bool | None) -> dict[str, Any]:
        steps = self.task.step
        over = self.done == len(steps)
        said = None
        if right is not None:
            said = steps[self.done - 1].right if right else steps[self.done].wrong
        state: dict[str, Any] = {"phase": "over" if over else "sense", "step": self.done, "clocks": None, "kept": True}
        if not over and self.game.step == MOVE:
            state |= {"phase": "move", "moves": listed_moves(self.game)}
        return {
            "color": color_name(self.color),
            "start": own_pieces(self.task.fen, self.color),
            "events": self.view.events,
            "state": state,
            "right": right,
            "said": said,
            "say": None if over else steps[self.done].say,
            "done": over,
        }


def _window(square: str | None) -> set[str]:
    """The squares that a sense shows."""
    if square is None:
        return set()
    file, rank = ord(square[0]), int(square[1])
    return {f"{chr(f)}{r}" for f in range(file - 1, file + 2) for r in range(rank - 1, rank + 2)}


def _holds(step: Step, word: str | None, before: Game, after: Game) -> bool:
    """Whether a move was what its step asks for; `after` is the game after it."""
    own = before.turn
    arrived = _arrived(before, after, own)
    return all(
        (
            not step.asks or step.asks == word,
            not step.ends or arrived == step.ends,
            not step.captures or step.captures in _lost(before, after, not own),
            not step.fails or arrived is None,
            not step.wins or (after.over and after.winner == own),
            not step.safe or not _king_can_be_taken(after),
        )
    )


def _arrived(before: Game, after: Game, color: bool) -> str | None:
    """Where the piece that moved stands now; None where nothing moved."""
    new = own_pieces(after.fen(), color).keys() - own_pieces(before.fen(), color).keys()
    return min(new) if new else None


def _lost(before: Game, after: Game, color: bool) -> set[str]:
    return set(own_pieces(before.fen(), color).keys() - own_pieces(after.fen(), color).keys())


def _king_can_be_taken(game: Game) -> bool:
    """Whether the player to act can take the king with its next move."""
    if game.over:
        return False
    at_move = game.copy()
    if at_move.step == SENSE:
        at_move.sense(None)
    for action in at_move.legal_actions():
        after = at_move.copy()
        after.move(action)
        if after.over and after.winner == game.turn:
            return True
    return False
