"""The programs one can play against or watch: those of the registry, as the page offers them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from penumbra.interop.stockfish import find_stockfish
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.presets import PRESETS
from penumbra.server.messages import Refusal, Side, Strength

ANALYSED = 200_000  # states that an analysis follows
GAME_MEMORY = 128_000_000  # bytes that each Penumbra of a game may hold
STATE, ENTRY = 40, 40  # bytes of a state in a set, and of an entry in the table of nodes


@dataclass(frozen=True)
class Bot:
    """A program as the page offers it."""

    name: str
    title: str
    line: str
    rating: int | None  # Elo, where it has been measured
    takes_strength: bool


def bots() -> list[Bot]:
    """Everything that can play here, in the registry's order."""
    has_stockfish = find_stockfish() is not None
    return [
        Bot(entry.name, entry.title, entry.line, entry.rating, registry.takes_strength(entry.name))
        for entry in registry.ENTRIES.values()
        if has_stockfish or not entry.needs_stockfish
    ]


def check(side: Side) -> None:
    if side.player not in {bot.name for bot in bots()}:
        raise Refusal("unknown player", f"there is no player {side.player!r}")


def configured(strength: Strength, base: Configuration, memory: int = GAME_MEMORY) -> Configuration:
    """The server's configuration with the strength asked for, in so many bytes.

    Nothing is recorded, and each game has its own seed. Half of the memory is for sets and beliefs, a quarter for the
    set of the moment while it grows; what the configuration itself says about them comes first.
    """
    entries = 1 << max(10, (memory // 8 // ENTRY).bit_length() - 1)
    budget = {"memory_budget": memory // 2, "table_entries": entries}
    settings = {**budget, **base.settings}
    cap = base.cap or max(1_000, memory // 8 // STATE)
    return dataclasses.replace(base, **strength.of(base), record=None, seed=None, cap=cap, settings=settings)


def analyst(preset: str, strength: Strength, base: Configuration) -> Configuration:
    """Penumbra as it looks at games that are over."""
    if preset not in PRESETS:
        raise Refusal("unknown preset", f"there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    return dataclasses.replace(configured(strength, base), preset=preset, ponder=False, seed=0, cap=ANALYSED)
