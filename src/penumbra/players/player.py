"""What a player is.

Everything is in the player's own view (see `penumbra.rbc.actions`). The calls of one turn are `opponent_moved`,
`choose_sense`, `sensed`, `choose_move`, `moved`; `start` comes first of all. A move that ends the game is not reported
to anybody: the game is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed

if TYPE_CHECKING:
    from penumbra.core import GameRecord
    from penumbra.dsmcp.domain import EvaluatorGone


class Player:
    """One side of a game. A player has a name and makes the two choices; it may leave out all other calls."""

    recoveries: Sequence[str] = ()  # impossible observations of the last game, each survived
    faults: Sequence[str] = ()  # of the search in the last game, each survived
    gone: EvaluatorGone | None = None  # why its evaluator went away in the last game, which is nobody's then

    @property
    def name(self) -> str:
        """The name that goes into the game's record."""
        raise NotImplementedError

    # -- the game

    def meet(self, opponent_name: str) -> None:
        """Before the game starts: the opponent's name."""

    def start(self, color: bool, fen: str) -> None:
        """A game starts from a position that both players know."""

    def game_over(self, winner: bool | None, reason: str | None, record: GameRecord | None = None) -> None:
        """After the last move. Whatever the player has running in the background ends here."""

    def close(self) -> None:
        """Ends the threads and processes that the player has started; another game starts them anew."""

    # -- the clock

    def limit(self, seconds: float | None) -> None:
        """Calls from now on that take longer than this together may be cut short; None: there is no clock."""

    def tell_time(self, seconds_left: float | None) -> None:
        """Before each choice: the seconds left on its clock for the whole game; None where there is no clock."""

    # -- the turn

    def opponent_moved(self, capture: int | None) -> None:
        """The opponent moved and took our piece on `capture`, or none; also said before the first turn of a game."""

    def choose_sense(self) -> int | None:
        """The square to sense; None to sense nothing."""
        raise NotImplementedError

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        """What the sense showed, in the order of `sense_window`."""

    def choose_move(self, actions: Sequence[int]) -> int:
        """One of the actions listed, the pass among them."""
        raise NotImplementedError

    @property
    def promotion(self) -> int:
        """What the move chosen last promotes to (2..5); 0 for a queen or no promotion at all."""
        return 0

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        """What came of the move: move codes, `taken` 0 if it failed, and where it captured."""


class PlayerWrapper(Player):
    """A player that passes every call on to another; a subclass changes some of them."""

    def __init__(self, player: Player) -> None:
        self._player = player

    @property
    def recoveries(self) -> Sequence[str]:  # type: ignore[override]
        return self._player.recoveries

    @property
    def faults(self) -> Sequence[str]:  # type: ignore[override]
        return self._player.faults

    @property
    def gone(self) -> EvaluatorGone | None:  # type: ignore[override]
        return self._player.gone

    @property
    def name(self) -> str:
        return self._player.name

    def meet(self, opponent_name: str) -> None:
        self._player.meet(opponent_name)

    def start(self, color: bool, fen: str) -> None:
        self._player.start(color, fen)

    def game_over(self, winner: bool | None, reason: str | None, record: GameRecord | None = None) -> None:
        self._player.game_over(winner, reason, record)

    def close(self) -> None:
        self._player.close()

    def limit(self, seconds: float | None) -> None:
        self._player.limit(seconds)

    def tell_time(self, seconds_left: float | None) -> None:
        self._player.tell_time(seconds_left)

    def opponent_moved(self, capture: int | None) -> None:
        self._player.opponent_moved(capture)

    def choose_sense(self) -> int | None:
        return self._player.choose_sense()

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        self._player.sensed(square, contents)

    def choose_move(self, actions: Sequence[int]) -> int:
        return self._player.choose_move(actions)

    @property
    def promotion(self) -> int:
        return self._player.promotion

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self._player.moved(requested, taken, capture)


def tell(player: Player, observation: Observation) -> None:
    """Calls the player with an observation; none learns here that its move ended the game."""
    match observation:
        case OpponentMoved(capture):
            player.opponent_moved(capture)
        case Sensed(square, contents):
            player.sensed(square, contents)
        case Moved(requested, taken, capture):
            player.moved(requested, taken, capture)
