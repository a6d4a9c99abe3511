"""A player that tries one of four quick attacks on the king and then passes, like reconchess' AttackerBot."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from penumbra.configs.reader import OneOf
from penumbra.players.opponents.settings import OpponentSettings
from penumbra.players.player import Player
from penumbra.rbc.actions import PASS, parse_action

_SCRIPTS = {
    "queenside-b5": "b1c3 c3b5 b5d6 d6e8",
    "queenside-e4": "b1c3 c3e4 e4f6 f6e8",
    "kingside": "g1h3 h3f4 f4h5 h5f6 f6e8",
    "mate": "e2e4 f1c4 d1h5 c4f7 f7e8 h5e8",
}
SCRIPTS: dict[str, tuple[int, ...]] = {
    name: tuple(parse_action(word) for word in line.split()) for name, line in _SCRIPTS.items()
}


Script = Annotated[str, OneOf(("random", *SCRIPTS))]


@dataclass(frozen=True)
class AttackerSettings(OpponentSettings):
    script: Script = "random"  # one of SCRIPTS, or any of them, drawn for each game


class Attacker(Player):
    """Senses at random; moves that are not listed are left out of the script."""

    def __init__(self, seed: int, settings: AttackerSettings | None = None) -> None:
        self.settings = settings or AttackerSettings()
        self._random = random.Random(seed)
        self._script: list[int] = []

    @property
    def name(self) -> str:
        return self.settings.name or "Attacker"

    def start(self, color: bool, fen: str) -> None:
        """Scripts are in the player's own squares: the same for both colours."""
        script = self.settings.script
        self._script = list(SCRIPTS[self._random.choice(list(SCRIPTS)) if script == "random" else script])

    def choose_sense(self) -> int:
        return self._random.randrange(64)

    def choose_move(self, actions: Sequence[int]) -> int:
        while self._script:
            action = self._script.pop(0)
            if action in actions:
                return action
        return PASS
