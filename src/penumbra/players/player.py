"""What a player is, and how two of them play a game.

Everything is in the player's own view (see `penumbra.rbc.actions`). The calls of one turn are `opponent_moved`,
`choose_sense`, `sensed`, `choose_move`, `moved`; `start` comes first of all. A move that ends the game is not reported
to anybody: the game is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from penumbra.core import Game
from penumbra.rbc.actions import action_to_code
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.walk import Step, move, sense

Spectator = Callable[[Step], None]  # who sees the true game, called after each step


class Player(Protocol):
    """One side of a game."""

    @property
    def name(self) -> str:
        """The name that goes into the game's record."""

    def start(self, color: bool, fen: str) -> None:
        """A game starts from a position that both players know."""

    def opponent_moved(self, capture: int | None) -> None:
        """The opponent moved and took our piece on `capture`, or none; also said before the first turn of a game."""

    def choose_sense(self) -> int | None:
        """The square to sense; None to sense nothing."""

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        """What the sense showed, in the order of `sense_window`."""

    def choose_move(self, actions: Sequence[int]) -> int:
        """One of the actions listed, the pass among them."""

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        """What came of the move: move codes, `taken` 0 if it failed, and where it captured."""


def tell(player: Player, observation: Observation) -> None:
    """Calls the player with an observation; none learns here that its move ended the game."""
    match observation:
        case OpponentMoved(capture):
            player.opponent_moved(capture)
        case Sensed(square, contents):
            player.sensed(square, contents)
        case Moved(requested, taken, capture):
            player.moved(requested, taken, capture)


def play_game(white: Player, black: Player, game: Game | None = None, spectator: Spectator | None = None) -> Game:
    """Plays a game to its end and returns it. ValueError if a player chooses what it may not."""
    game = game or Game()
    game.set_names(white.name, black.name)
    players = {True: white, False: black}
    for color, player in players.items():
        player.start(color, game.fen())
    while not game.over:
        _play_turn(players[game.turn], game, spectator)
    return game


def _play_turn(player: Player, game: Game, spectator: Spectator | None) -> None:
    player.opponent_moved(game.capture)
    step = sense(game, player.choose_sense())
    tell(player, step.observation)
    if spectator is not None:
        spectator(step)
    step = move(game, action_to_code(player.choose_move(game.legal_actions())))
    if not game.over:
        tell(player, step.observation)
    if spectator is not None:
        spectator(step)
