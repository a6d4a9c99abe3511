"""A player that looks on one board for the shortest way to the king, as if the opponent only passed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penumbra.configs.reader import Count, NotNegative
from penumbra.core import KING_TAKEN, Game, hunt_king
from penumbra.players.opponents.engine import Actions, Engine
from penumbra.players.opponents.settings import EngineSettings
from penumbra.players.opponents.single_board_player import OneBoardPlayer


@dataclass(frozen=True)
class AggressiveTreeSettings(EngineSettings):
    hunt: Count = 3  # moves to the king that are looked for, the first included
    caution: NotNegative = 0.6  # what a loss of a pawn costs, in moves


class AggressiveTree(OneBoardPlayer[AggressiveTreeSettings]):
    """Of equally short ways it takes the one whose first landing loses least."""

    kind = "AggressiveTree"

    def __init__(self, seed: int, settings: AggressiveTreeSettings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or AggressiveTreeSettings(), engine)

    def pick_move(self, actions: Actions) -> int:
        scores = self.engine.scores(self.state(), actions)[0].astype(np.float64)
        if scores.max() >= KING_TAKEN:
            return int(actions[self.best(scores)])
        fen = self.fen()
        moves = np.array([self._moves_after(fen, int(action)) for action in actions])
        loss = np.clip(scores.max() - scores, 0, 1000) / 100
        return self.pick(actions, -100 * (moves + self.settings.caution * loss))

    def _moves_after(self, fen: str, action: int) -> int:
        """Moves that still take the king after this one; one more than are looked for if that is not enough."""
        game = Game(fen)
        game.sense(None)
        game.move(action)
        placement, _, rest = game.fen().split(" ", 2)
        rights = rest.split(" ")[0]  # the opponent passes: nothing can be taken en passant
        most = self.settings.hunt - 1
        found, _ = hunt_king(f"{placement} {'w' if self.color else 'b'} {rights} - 0 1", most)
        return found or most + 1
