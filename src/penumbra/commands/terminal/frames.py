"""A game as a row of frames: the true board after each step, and how many states each player still holds possible.

Each player's set is tracked from that player's own observations alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from penumbra.commands.terminal.board import plain_board, rich_board
from penumbra.core import Game, GameRecord
from penumbra.rbc.actions import code_to_action, code_to_uci, sense_window, square_name, view, view_code
from penumbra.rbc.tracker import ImpossibleObservation, Tracker
from penumbra.rbc.walk import replay

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


class Shadows:
    """Both players' trackers beside a game, and the frame after each step."""

    def __init__(self, fen: str, cap: int = CAP) -> None:
        # Only the current sets are shown, so no memory goes to past ones.
        self._trackers: dict[bool, Tracker | None] = {
            color: Tracker(color, fen, cap=cap, memory=0) for color in (True, False)
        }
        self._number = int(fen.split()[5])
        self._capture: int | None = None  # by the last move, as the player to act sees it

    def sensed(self, game: Game, color: bool, square: int | None, contents: Sequence[int]) -> Frame:
        """The frame after a sense, given in the view of `color`."""
        self._report(color, lambda tracker: tracker.opponent_moved(self._capture))
        self._report(color, lambda tracker: tracker.sensed(square, contents))
        if square is None:
            return self._frame(game, color, "no sense", frozenset(), False)
        window = frozenset(view(s, color) for s in sense_window(square, color))
        return self._frame(game, color, f"sense {square_name(view(square, color))}", window, False)

    def moved(self, game: Game, color: bool, requested: int, taken: int, capture: int | None) -> Frame:
        """The frame after a move, given in the view of `color`."""
        king_taken = game.reason == "KING_CAPTURE"
        self._report(color, lambda tracker: tracker.moved(requested, taken, capture, king_taken))
        self._capture = game.capture
        event = code_to_uci(view_code(requested, color))
        if taken == 0 and requested != 0:
            event += " fails"
        elif code_to_action(taken) != code_to_action(requested):
            event += f" becomes {code_to_uci(view_code(taken, color))}"
        if capture is not None:
            event += f", takes on {square_name(view(capture, color))}"
        frame = self._frame(game, color, event, frozenset(), True)
        self._number += not color
        return frame

    def _report(self, color: bool, observe: Callable[[Tracker], None]) -> None:
        """A set that was cut to its cap may lose the truth; that player's set is then unknown for good."""
        tracker = self._trackers[color]
        if tracker is None:
            return
        try:
            observe(tracker)
        except ImpossibleObservation as error:
            if error.complete:
                raise
            self._trackers[color] = None

    def _size(self, color: bool) -> str:
        tracker = self._trackers[color]
        if tracker is None:
            return "unknown"
        return f"{len(tracker):,}" + ("" if tracker.complete else " of more")

    def _frame(self, game: Game, color: bool, event: str, window: frozenset[int], is_move: bool) -> Frame:
        sizes = (self._size(True), self._size(False))
        return Frame(self._number, color, event, game.fen(), window, sizes, is_move)


def frames_of(record: GameRecord, cap: int = CAP) -> Iterator[Frame]:
    """The frames of a recorded game, two for each turn; the last turn may lack its move."""
    return replay(record, lambda fen: Shadows(fen, cap))


def result_line(winner: bool | None, reason: str | None) -> str:
    """How a game ended."""
    if reason is None:
        return "The game was not finished."
    words = reason.lower().replace("_", " ")
    if winner is None:
        return f"A draw: {words}."
    return f"{'White' if winner else 'Black'} wins: {words}."
