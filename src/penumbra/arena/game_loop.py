"""One game with clocks, in which whatever a player does wrong is its loss and nobody else's trouble.

A player that cannot even start has lost nothing: there was no game, and `CannotStart` says why.

The clock is kept as reconchess keeps it in local games: it runs through all calls of a player's turn, the increment is
added when the turn ends, and time is judged then, before anything else, so that an overrun which the increment makes
good is forgiven. An isolated player that stays silent past that moment, and GRACE more, is not waited for. The record
of a game lost by a fault shows a resignation, as reconchess' server would, or the time.

The calls of a player's turn are those of `penumbra.players.player.Player`, in their order.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penumbra.core import Game, GameRecord
from penumbra.dsmcp.domain import EvaluatorGone
from penumbra.players.player import Player, tell
from penumbra.rbc.actions import action_name, action_to_code, is_move
from penumbra.rbc.walk import Step, move, sense

GRACE = 1.0  # seconds
FAULTS = ("crash", "nonsense", "illegal action", "hang", "killed")  # reasons that are the loser's own fault
_ON_BOARD = ("king capture", "move limit", "turn limit")


@dataclass(frozen=True)
class Clock:
    """Seconds for the whole game, None for no clock, and seconds added after each turn."""

    seconds: float | None = 900.0
    increment: float = 5.0


NO_CLOCK = Clock(None, 0.0)

Spectator = Callable[[Step], None]  # who sees the true game, called after each step


@dataclass(frozen=True)
class Outcome:
    """How a game ended. Tuples are White's and Black's."""

    winner: bool | None
    reason: str  # king capture, time, move limit, turn limit, or one of FAULTS
    detail: str  # of a fault
    record: GameRecord
    least_left: tuple[float, float]  # the lowest reading of each clock at the end of a turn, before the increment
    used: tuple[float, float] = (0.0, 0.0)  # seconds that each took for all its turns


class CannotStart(ValueError):
    """The player of `color` could not start its game, which therefore never was. `detail` is the cause."""

    def __init__(self, color: bool, name: str, reason: str, detail: str) -> None:
        super().__init__(f"{name} cannot start: {detail}")
        self.color = color
        self.reason = reason  # one of FAULTS
        self.detail = detail


class Forfeit(ValueError):
    """A player has lost by its own fault."""

    def __init__(self, color: bool, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.color = color
        self.reason = reason
        self.detail = detail


@dataclass
class GameLoop:
    """Two players, their clocks, and somebody who looks on if wanted, on the time of the player who acts.

    A game of which a player's evaluator has gone is nobody's: that ends it with `EvaluatorGone`.
    With `raise_faults` what a player raises goes on to the caller, and an illegal action raises `Forfeit`. `now` gives
    the time.
    """

    players: dict[bool, Player]
    clock: Clock
    game: Game
    spectator: Spectator | None = None
    raise_faults: bool = False
    now: Callable[[], float] = time.monotonic
    left: dict[bool, float] = field(default_factory=dict)
    least: dict[bool, float] = field(default_factory=lambda: {True: math.inf, False: math.inf})
    used: dict[bool, float] = field(default_factory=lambda: {True: 0.0, False: 0.0})

    def play(self) -> Outcome:
        """The game from its start to its end; both players are told of it. `CannotStart` if there can be no game."""
        seconds = math.inf if self.clock.seconds is None else self.clock.seconds
        self.left = {True: seconds, False: seconds}
        try:
            self._start()
            while not self.game.over:
                self._turn()
                self._judge_time()
            winner, reason, detail = self.game.winner, str(self.game.reason).lower().replace("_", " "), ""
        except Forfeit as forfeit:
            if self.raise_faults and forfeit.reason in FAULTS:
                raise
            winner, reason, detail = not forfeit.color, forfeit.reason, forfeit.detail
        record = self.game.record()
        if reason not in _ON_BOARD:
            record.winner, record.reason = winner, "TIMEOUT" if reason in ("time", "hang") else "RESIGN"
        for player in self.players.values():
            try:
                player.game_over(winner, record.reason, record)
            except Exception:
                continue  # the game is over, and what its players make of it changes nothing
        least, used = ((of[True], of[False]) for of in (self.least, self.used))
        return Outcome(winner, reason, detail, record, least, used)

    def _start(self) -> None:
        try:
            for color, player in self.players.items():
                self._ask(color, player.meet, self.players[not color].name)
            for color, player in self.players.items():
                self._ask(color, player.start, color, self.game.fen())
        except Forfeit as fault:
            for player in self.players.values():
                with contextlib.suppress(Exception):
                    player.close()
            why = str(fault.__cause__) if isinstance(fault.__cause__, ValueError) else fault.detail
            raise CannotStart(fault.color, self.players[fault.color].name, fault.reason, why) from None
        self.game.set_names(self.players[True].name, self.players[False].name)

    def _turn(self) -> None:
        """As reconchess plays a turn, by action numbers."""
        game, color = self.game, self.game.turn
        player = self.players[color]
        began = self.now()
        left = self.left[color]
        player.limit(left + self.clock.increment + GRACE if math.isfinite(left) else None)
        self._ask(color, player.opponent_moved, game.capture)
        self._ask(color, player.tell_time, self._reading(color, began))
        square = self._ask(color, player.choose_sense)
        if square is not None and square not in range(64):
            raise Forfeit(color, "illegal action", f"sense {square!r}")
        self._tell(color, sense(game, square))
        self._ask(color, player.tell_time, self._reading(color, began))
        actions = game.legal_actions()
        action = self._ask(color, player.choose_move, actions)
        if player.gone is not None:
            raise player.gone
        promotion = player.promotion
        if action not in actions:
            raise Forfeit(color, "illegal action", f"move {_shown(action)}")
        try:
            step = move(game, action_to_code(action, promotion))
        except ValueError as error:
            raise Forfeit(color, "illegal action", str(error)) from None
        self._tell(color, step)
        used = self.now() - began
        self.used[color] += used
        self.least[color] = min(self.least[color], left - used)
        self.left[color] = left - used + self.clock.increment

    def _tell(self, color: bool, step: Step) -> None:
        """A player is not told of a move that ended the game; `game_over` follows."""
        if not step.after.over:
            self._ask(color, tell, self.players[color], step.observation)
        if self.spectator is not None:
            self.spectator(step)

    def _judge_time(self) -> None:
        for color, left in self.left.items():
            if left <= 0:
                raise Forfeit(color, "time", f"{-left:.2f} s over")

    def _reading(self, color: bool, began: float) -> float | None:
        left = self.left[color] - (self.now() - began)
        return left if math.isfinite(left) else None

    def _ask(self, color: bool, call: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a player; whatever it raises is its fault, unless what it asks is not there any more."""
        try:
            return call(*arguments)
        except EvaluatorGone:
            raise
        except Exception as error:
            if self.raise_faults:
                raise
            reason = getattr(error, "reason", "crash")
            detail = getattr(error, "detail", f"{type(error).__name__}: {error}")
            raise Forfeit(color, reason, detail) from error


def play(white: Player, black: Player, clock: Clock = NO_CLOCK, game: Game | None = None) -> Outcome:
    """One game; a player's fault is its loss. `CannotStart` if one cannot start."""
    return GameLoop({True: white, False: black}, clock, game or Game()).play()


def rehearse(white: Player, black: Player) -> None:
    """Starts both as for a game, and ends them: `CannotStart` if one cannot start."""
    GameLoop({True: white, False: black}, NO_CLOCK, Game())._start()
    for player in (white, black):
        player.close()


def play_strictly(white: Player, black: Player, game: Game | None = None, spectator: Spectator | None = None) -> Game:
    """One game without clocks; a player's fault is raised. The game, played to its end."""
    game = game or Game()
    GameLoop({True: white, False: black}, NO_CLOCK, game, spectator, raise_faults=True).play()
    return game


def _shown(action: Any) -> str:
    if isinstance(action, int) and (is_move(action) or 0 <= action < 64):
        return action_name(action)
    return repr(action)[:60]
