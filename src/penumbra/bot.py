"""Penumbra for reconchess: `rc-bot-match penumbra.bot reconchess.bots.random_bot`, `rc-play`, `rc-connect`.

Importing this loads no more than it needs to check the configuration: no numpy, no thread, no inference session, since
`rc-connect` imports it once and then forks for every game. All of that begins with the game. What can be configured,
and how, is said in `penumbra.players.penumbra.configuration`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from penumbra.configs.reader import ConfigurationError
from penumbra.interop import adapters
from penumbra.players.penumbra.configuration import Configuration, from_environment
from penumbra.whole_files import replacing

if TYPE_CHECKING:
    import reconchess

    from penumbra.players.penumbra.player import PenumbraPlayer
    from penumbra.players.player import Player


def _configuration() -> Configuration:
    """reconchess' programs print a stack trace for any error but one that ends the program while they load the bot."""
    try:
        return from_environment(os.environ)
    except ConfigurationError as error:
        raise SystemExit(f"penumbra: {error}") from None


CONFIGURATION = _configuration()


class Penumbra(adapters.ReconchessPlayer):
    """One game of Penumbra."""

    def __init__(self) -> None:
        super().__init__(self._make_player)

    def _make_player(self) -> Player:
        from penumbra.players.penumbra.factory import make_penumbra

        self._penumbra: PenumbraPlayer = make_penumbra(CONFIGURATION)
        return self._penumbra

    def handle_game_end(
        self,
        winner_color: bool | None,
        win_reason: reconchess.WinReason | None,
        game_history: reconchess.GameHistory | None,
    ) -> None:
        """Ends the background work; writes the decisions, and the game beside them, where that was asked for."""
        super().handle_game_end(winner_color, win_reason, game_history)
        if CONFIGURATION.record is None or self.player is None:
            return
        try:
            self._write(Path(CONFIGURATION.record), game_history)
        except OSError as error:  # the game is over; a full disk is no reason for a stack trace in reconchess' programs
            print(f"penumbra: {error}", file=sys.stderr)

    def _write(self, folder: Path, game_history: reconchess.GameHistory | None) -> None:
        from penumbra.players.penumbra.recording import write_decisions

        player = self._penumbra
        folder.mkdir(parents=True, exist_ok=True)
        opponent = "".join(c for c in player.opponent_name if c.isalnum() or c in "-_") or "opponent"
        stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{opponent}-{os.getpid()}"
        if game_history is not None:
            with replacing(folder / f"{stem}.json", "the game goes on") as beside:
                game_history.save(str(beside))
        write_decisions(
            folder / f"{stem}.decisions.json",
            player.recorded,
            player=player.name,
            color=player.color,
            opponent=player.opponent_name,
            settings=player.settings,
        )
