"""What a player may also be told, beside the calls of `Player`: whom it meets, the time, and how the game ended.

A player that has the method is told; one that has not is not asked to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from penumbra.core import GameRecord
    from penumbra.players.player import Player


@runtime_checkable
class MeetsOpponents(Protocol):
    def meet(self, opponent_name: str) -> None:
        """Before the game starts: the opponent's name."""


@runtime_checkable
class WatchesTheClock(Protocol):
    def tell_time(self, seconds_left: float | None) -> None:
        """Before each choice: the seconds left on its clock for the whole game; None where there is no clock."""


@runtime_checkable
class HearsTheResult(Protocol):
    def game_over(self, winner: bool | None, reason: str | None, record: GameRecord | None) -> None:
        """After the last move. Whatever the player has running in the background ends here."""


@runtime_checkable
class UnderPromotes(Protocol):
    promotion: int  # what the move chosen last promotes to (2..5), 0 for a queen or no promotion at all


def meet(player: Player, opponent_name: str) -> None:
    if isinstance(player, MeetsOpponents):
        player.meet(opponent_name)


def tell_time(player: Player, seconds_left: float | None) -> None:
    if isinstance(player, WatchesTheClock):
        player.tell_time(seconds_left)


def game_over(player: Player, winner: bool | None, reason: str | None, record: GameRecord | None = None) -> None:
    if isinstance(player, HearsTheResult):
        player.game_over(winner, reason, record)


def promotion(player: Player) -> int:
    return player.promotion if isinstance(player, UnderPromotes) else 0
