"""A player that trusts one board, as last seen, and plays the engine's best move on it, like reconchess' TroutBot."""

from __future__ import annotations

from dataclasses import dataclass

from penumbra.configs.reader import Count
from penumbra.players.opponents.engine import Actions, Engine
from penumbra.players.opponents.settings import EngineSettings
from penumbra.players.opponents.single_board_player import OneBoardPlayer


@dataclass(frozen=True)
class TroutSettings(EngineSettings):
    depth: Count = 2
    nodes: Count = 20_000


class Trout(OneBoardPlayer[TroutSettings]):
    kind = "Trout"

    def __init__(self, seed: int, settings: TroutSettings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or TroutSettings(), engine)

    def pick_move(self, actions: Actions) -> int:
        """A king that can be taken scores more than anything else."""
        return self.pick(actions, self.engine.scores(self.state(), actions)[0])
