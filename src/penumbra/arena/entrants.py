"""Who takes part: built-in players, Penumbra's presets, reconchess players by module or path."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penumbra.players import registry
from penumbra.players.configuration import Configuration
from penumbra.players.player import Player

if TYPE_CHECKING:
    from penumbra.interop.foreign import ForeignPlayer


@dataclass(frozen=True)
class Entrant:
    """Who plays: by `source`, a module or a path, one that runs in its own process; by `kind`, a built-in player with
    its settings, or Penumbra; else the built-in player of that name."""

    name: str
    source: str | None = None
    configuration: Configuration = dataclasses.field(default_factory=Configuration)
    kind: str | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)  # variables of its own process
    keep: bool = False  # its own process plays one game after another; else each has a new one

    def plain(self) -> dict[str, Any]:
        """What determines how it plays, as plain data."""
        if self.source is not None:
            return {"name": self.name, "path": self.source, "environment": dict(self.environment)}
        return {"name": self.name, "kind": self.kind or self.name, "settings": dict(self.settings)}

    @property
    def is_penumbra(self) -> bool:
        return self.source is None and registry.is_penumbra(self.kind or self.name)


def entrant(name: str, configuration: Configuration | None = None) -> Entrant:
    """The entrant of that name; ValueError, on one line, if there is none or it cannot be loaded."""
    if name in registry.names():
        configuration = configuration or Configuration()
        preset = name.partition(":")[2] or configuration.preset
        return Entrant(name, None, dataclasses.replace(configuration, preset=preset))
    return loaded(name)


def loaded(name: str, environment: Mapping[str, str] | None = None) -> Entrant:
    """A reconchess player by module or path, found to load; ValueError, on one line, if it does not."""
    from penumbra.interop.foreign import RECONCHESS, ForeignFault, ForeignPlayer, find_player
    from penumbra.interop.stockfish import find_stockfish

    source = find_player(name)
    if source is None:
        known = ", ".join([*registry.names(), *RECONCHESS])
        raise ValueError(f"there is no player {name!r}: it is neither a file, a module, nor one of {known}")
    if source == RECONCHESS["trout"] and find_stockfish() is None:
        raise ValueError(f"{name} needs Stockfish: install it, or set STOCKFISH_EXECUTABLE to its path")
    player = ForeignPlayer(source, environment=environment)
    try:
        player.load()
    except ForeignFault as fault:
        raise ValueError(f"{name} cannot be loaded: {fault.detail}") from None
    finally:
        player.close()
    return Entrant(name, source, environment=environment or {})


class Bench:
    """The players of one worker, new for each game.

    Foreign ones too: reconchess starts a process for each game, and players count on it. Its own AttackerBot uses up a
    list that all its games in a process share, and passes from then on.
    """

    def __init__(self, logs: str | None = None) -> None:
        self._logs = logs
        self._foreign: dict[tuple[str, str, bool], ForeignPlayer] = {}

    def player(self, who: Entrant, color: bool, seed: int, name: str) -> Player:
        if who.kind is not None:
            return registry.make_with_settings(who.kind, seed, who.settings)
        if who.source is None:
            return registry.make(who.name, seed, who.configuration)
        from penumbra.interop.foreign import ForeignPlayer

        key = (who.source, who.name, color)  # one for each side: a player may meet itself
        if key in self._foreign and not who.keep:
            self._foreign.pop(key).close()
        if key not in self._foreign:
            log = None if self._logs is None else str(Path(self._logs) / f"{_file_name(name)}.log")
            self._foreign[key] = ForeignPlayer(who.source, None, log, who.environment)
        player = self._foreign[key]
        player.seed(seed)
        return player

    def close(self) -> None:
        for player in self._foreign.values():
            player.close()
        self._foreign.clear()


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in Path(name).name) or "player"
