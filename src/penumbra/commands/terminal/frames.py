"""A game as a row of frames: the true board after each step, and how many states each player still holds possible.

Each player's set is tracked from that player's own observations alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from penumbra.commands.terminal.board import rich_board
from penumbra.core import START_FEN, GameRecord
from penumbra.rbc.actions import code_to_action, code_to_uci, sense_window, square_name, view, view_code
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.text_board import plain_board
from penumbra.rbc.tracker import Follower
from penumbra.rbc.walk import Step, walk

# States tracked for each player before the set becomes a random draw: a fraction of a second to expand.
CAP = 200_000


@dataclass(frozen=True)
class Frame:
    """One step of a game, in real squares."""

    number: int  # of the turn, counted as in chess
    color: bool  # who acted
    event: str  # what happened
    fen: str  # the true board after it
    sensed: frozenset[int]  # the squares shown by a sense
    sizes: tuple[str, str]  # White's and Black's sets of states
    is_move: bool

    @property
    def title(self) -> str:
        """`turn 3, White`."""
        return f"turn {self.number}, {'White' if self.color else 'Black'}"

    @property
    def line(self) -> str:
        """The step on one line."""
        return f"{self.title:<16} {self.event:<34} states: White {self.sizes[0]}, Black {self.sizes[1]}"

    def plain(self) -> str:
        """The step and the board as plain text."""
        return f"{self.line}\n{plain_board(self.fen, self.sensed)}\n"

    def panel(self, title: str) -> Panel:
        """The step and the board, for a terminal."""
        sizes = Table.grid(padding=(0, 2))
        sizes.add_row("states White holds possible", Text(self.sizes[0], style="bold"))
        sizes.add_row("states Black holds possible", Text(self.sizes[1], style="bold"))
        step = Text.assemble((self.title, "bold"), "  ", self.event)
        return Panel(Group(step, rich_board(self.fen, self.sensed), sizes), title=title, expand=False)


class FrameMaker:
    """Makes the frame of each step of a game, recorded or live, with both players' sets beside it."""

    def __init__(self, fen: str, cap: int = CAP) -> None:
        self._followers = {color: Follower(color, fen, cap=cap) for color in (True, False)}

    def frame(self, step: Step) -> Frame:
        """The frame after a step."""
        color = step.color
        for observation in step.told:
            self._followers[color].observe(observation)
        match step.observation:
            case Sensed(None):
                event, window = "no sense", frozenset[int]()
            case Sensed(int(square)):
                event = f"sense {square_name(view(square, color))}"
                window = frozenset(view(s, color) for s in sense_window(square, color))
            case Moved():
                event, window = _move_event(step.observation, color), frozenset()
        sizes = (self._size(True), self._size(False))
        number, fen = step.before.fullmove_number, step.after.fen()
        return Frame(number, color, event, fen, window, sizes, isinstance(step.observation, Moved))

    def _size(self, color: bool) -> str:
        states = self._followers[color].states
        if states is None:
            return "unknown"
        return f"{len(states):,}" + ("" if states.complete else " of more")


def _move_event(moved: Moved, color: bool) -> str:
    """`e2e4 becomes e2e3, takes on e3`."""
    event = code_to_uci(view_code(moved.requested, color))
    if moved.taken == 0 and moved.requested != 0:
        event += " fails"
    elif code_to_action(moved.taken) != code_to_action(moved.requested):
        event += f" becomes {code_to_uci(view_code(moved.taken, color))}"
    if moved.capture is not None:
        event += f", takes on {square_name(view(moved.capture, color))}"
    return event


def frames_of(record: GameRecord, cap: int = CAP) -> Iterator[Frame]:
    """The frames of a recorded game, two for each turn; the last turn may lack its move."""
    maker = FrameMaker(record.start_fen or START_FEN, cap)
    return (maker.frame(step) for step in walk(record))


def result_line(winner: bool | None, reason: str | None) -> str:
    """How a game ended."""
    if reason is None:
        return "The game was not finished."
    words = reason.lower().replace("_", " ")
    if winner is None:
        return f"A draw: {words}."
    return f"{'White' if winner else 'Black'} wins: {words}."
