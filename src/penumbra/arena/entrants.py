"""Who takes part: players by their names in the registry, reconchess players, and any of them in another Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penumbra.core import threads
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration, to_table
from penumbra.players.player import Player

if TYPE_CHECKING:
    from penumbra.interop.isolated_player import Installation, IsolatedPlayer


@dataclass(frozen=True)
class Entrant:
    """Who plays: by `kind`, the player of that name in the registry, which is `name` where it is left out; or by
    `source`, a module or a file, a reconchess player in a process of its own.

    With an `installation`, another Python, `source` may also be a name in the registry there.
    """

    name: str
    source: str | None = None
    kind: str | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)  # variables of its own process
    keep: bool = False  # its own process plays one game after another; else each has a new one
    installation: Installation | None = None  # of another Python, in which its process runs
    title: str | None = None  # what opponents hear, where it has a process of its own and its name is known
    label: str | None = None  # what the records of its games call it; None: as it calls itself

    def plain(self) -> dict[str, Any]:
        """What determines how it plays, as plain data."""
        if self.installation is not None:
            return {
                "name": self.name,
                "player": self.source,
                "settings": dict(self.settings),
                "environment": dict(self.environment),
                "python": self.installation.python,
                "penumbra": self.installation.penumbra,
                "folder": self.installation.folder,
            }
        if self.source is not None:
            return {"name": self.name, "path": self.source, "environment": dict(self.environment)}
        return {"name": self.name, "kind": self.kind or self.name, "settings": dict(self.settings)}

    @property
    def is_penumbra(self) -> bool:
        return registry.is_penumbra(self.source or self.kind or self.name)


def entrant(
    player: str,
    configuration: Configuration | None = None,
    python: str | None = None,
    label: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    keep: bool = False,
) -> Entrant:
    """Who plays under a name of the registry, a module or a path, in another Python if one is given; ValueError, on one
    line, if there is no such player or it cannot be loaded.

    `settings` are as a file has them; left out, Penumbra has those of the configuration. A label stands for the name in
    results and records. The environment, and whether to keep its process, are for a player that has one of its own.
    """
    if settings is None:
        settings = to_table(configuration) if configuration and registry.is_penumbra(player) else {}
    known = registry.ENTRIES.get(player)
    if python is None and known is not None and known.module is None:
        registry.make_with_settings(player, 0, settings)
        return Entrant(label or player, kind=player, settings=settings, label=label)
    source = player if known is None else known.module or player
    if any(entry.needs_stockfish and entry.module == source for entry in registry.ENTRIES.values()):
        from penumbra.interop.isolated_player import check_stockfish

        check_stockfish(player)
    if python is not None:
        return _in_python(player, source, python, settings, environment, keep, label)
    return _isolated(player, source, environment, keep, label)


def _isolated(name: str, source: str, environment: Mapping[str, str] | None, keep: bool, label: str | None) -> Entrant:
    """A reconchess player, found to load."""
    from penumbra.interop.isolated_player import IsolatedPlayer, find_player

    found = find_player(source)
    if found is None:
        if name.endswith(".py"):
            raise ValueError(f"{name} cannot be read: there is no such file")
        known = ", ".join(registry.names())
        raise ValueError(f"there is no player {name!r}: it is neither a file, a module, nor one of {known}")
    player = IsolatedPlayer(found, environment=environment)
    _try(player, lambda fault: f"{name} cannot be loaded: {fault.removeprefix('load: ')}")
    return Entrant(label or name, found, environment=environment or {}, keep=keep, title=player.name, label=label)


def _try(player: IsolatedPlayer, line: Callable[[str], str]) -> None:
    """Loads it once; ValueError, with the line for the fault, if it cannot be."""
    from penumbra.interop.isolated_player import PlayerFault

    try:
        player.load()
    except PlayerFault as fault:
        raise ValueError(line(fault.detail)) from None
    finally:
        player.close()


def _in_python(
    name: str,
    source: str,
    python: str,
    settings: Mapping[str, Any],
    environment: Mapping[str, str] | None,
    keep: bool,
    label: str | None,
) -> Entrant:
    """A player of the Penumbra that another Python has, or a reconchess player there, found to load."""
    from penumbra.interop.isolated_player import IsolatedPlayer, find_python

    path = find_python(python)
    if name not in registry.ENTRIES and Path(name).is_file():
        source = str(Path(name).resolve())
    player = IsolatedPlayer(source, environment=environment, python=path, settings=settings)
    _try(player, lambda fault: f"{python}: {fault.removeprefix('load: ')}")
    assert player.installation is not None
    label = label or f"{name} ({python})"
    return Entrant(
        label,
        source,
        settings=settings,
        environment=environment or {},
        keep=keep or player.installation.built_in,
        installation=player.installation,
        title=player.name,
        label=label,
    )


class PlayerPool:
    """The players of one worker, new for each game.

    Isolated ones too: reconchess starts a process for each game, and players count on it. Its own AttackerBot uses up a
    list that all its games in a process share, and passes from then on. Built-in players of another Python keep their
    process, as ours keep this one. Each Penumbra computes with as many threads as this process.
    """

    def __init__(self, logs: str | None = None) -> None:
        self._logs = logs
        self._isolated: dict[tuple[str, str, str | None, bool], IsolatedPlayer] = {}

    def player(self, who: Entrant, color: bool, seed: int) -> Player:
        if who.source is None:
            return registry.make_with_settings(who.kind or who.name, seed, who.settings)
        python = None if who.installation is None else who.installation.python
        key = (who.source, who.name, python, color)  # one for each side: a player may meet itself
        if key not in self._isolated:
            self._isolated[key] = self._make(who, who.source, python)
        player = self._isolated[key]
        if not who.keep:
            player.close()  # a game that failed may have left its process
        player.seed(seed)
        return player

    def _make(self, who: Entrant, source: str, python: str | None) -> IsolatedPlayer:
        from penumbra.interop.isolated_player import IsolatedPlayer

        stem = _file_name(who.label or Path(who.name).name)
        log = None if self._logs is None else str(Path(self._logs) / f"{stem}.log")
        environment = {"PENUMBRA_THREADS": str(threads()), **who.environment}
        return IsolatedPlayer(source, who.title, log, environment, python, who.settings, who.keep)

    def close(self) -> None:
        for player in self._isolated.values():
            player.close()
        self._isolated.clear()


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "player"
