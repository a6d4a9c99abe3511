"""Who takes part: built-in players, Penumbra's presets, reconchess players, and any of them in another Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penumbra.core import threads
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration, to_table
from penumbra.players.player import Player

if TYPE_CHECKING:
    from penumbra.interop.isolated_player import ForeignPlayer, Installation


@dataclass(frozen=True)
class Entrant:
    """Who plays: by `source`, a module or a path, one that runs in its own process; by `kind`, a built-in player with
    its settings, or Penumbra; else the built-in player of that name.

    With an `installation`, another Python, `source` may also be a built-in player's name there, with `settings`.
    """

    name: str
    source: str | None = None
    configuration: Configuration = dataclasses.field(default_factory=Configuration)
    kind: str | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)  # variables of its own process
    keep: bool = False  # its own process plays one game after another; else each has a new one
    installation: Installation | None = None  # of another Python, in which its process runs
    known_as: str | None = None  # the built-in player's name, where `name` is a label

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
        return registry.is_penumbra(self.source or self.kind or self.known_as or self.name)

    @property
    def label(self) -> str | None:
        """What the records of its games call it; None: as it calls itself."""
        return None if self.installation is None and self.known_as is None else self.name


def entrant(
    name: str, configuration: Configuration | None = None, python: str | None = None, label: str | None = None
) -> Entrant:
    """The entrant of that name, in another Python if one is given; ValueError, on one line, if there is none or it
    cannot be loaded. The configuration is for Penumbra alone. A label stands for the name in results and records."""
    configuration = configuration or Configuration()
    if python is not None:
        settings = to_table(configuration) if registry.is_penumbra(name) else {}
        return loaded_in_python(name, python, settings, label=label)
    if name in registry.names():
        preset = name.partition(":")[2] or configuration.preset
        who = Entrant(name, None, dataclasses.replace(configuration, preset=preset))
    else:
        who = loaded(name)
    return who if label is None else dataclasses.replace(who, name=label, known_as=name)


def loaded(name: str, environment: Mapping[str, str] | None = None) -> Entrant:
    """A reconchess player by module or path, found to load; ValueError, on one line, if it does not."""
    from penumbra.interop.isolated_player import RECONCHESS, ForeignFault, ForeignPlayer, find_player

    source = find_player(name)
    if source is None:
        known = ", ".join([*registry.names(), *RECONCHESS])
        raise ValueError(f"there is no player {name!r}: it is neither a file, a module, nor one of {known}")
    _check_stockfish(name, source)
    player = ForeignPlayer(source, environment=environment)
    try:
        player.load()
    except ForeignFault as fault:
        raise ValueError(f"{name} cannot be loaded: {fault.detail}") from None
    finally:
        player.close()
    return Entrant(name, source, environment=environment or {})


def loaded_in_python(
    name: str,
    python: str,
    settings: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    label: str | None = None,
    is_kind: bool = False,
) -> Entrant:
    """A player of the Penumbra that another Python has, or a reconchess player there, found to load; ValueError, on one
    line, if it does not. `attacker` and `trout` are reconchess' own, unless the name is a kind."""
    from penumbra.interop.isolated_player import RECONCHESS, ForeignFault, ForeignPlayer, find_python

    path = find_python(python)
    source = name if is_kind else RECONCHESS.get(name, name)
    if not is_kind and name not in registry.names() and Path(name).is_file():
        source = str(Path(name).resolve())
    _check_stockfish(name, source)
    player = ForeignPlayer(source, environment=environment, python=path, settings=settings)
    try:
        player.load()
    except ForeignFault as fault:
        raise ValueError(f"{python}: {fault.detail.removeprefix('load: ')}") from None
    finally:
        player.close()
    assert player.installation is not None
    return Entrant(
        label or f"{name} ({python})",
        source,
        settings=settings or {},
        environment=environment or {},
        keep=player.installation.built_in,
        installation=player.installation,
    )


def _check_stockfish(name: str, source: str) -> None:
    from penumbra.interop.isolated_player import RECONCHESS
    from penumbra.interop.stockfish import find_stockfish

    if source == RECONCHESS["trout"] and find_stockfish() is None:
        raise ValueError(f"{name} needs Stockfish: install it, or set STOCKFISH_EXECUTABLE to its path")


class Bench:
    """The players of one worker, new for each game.

    Foreign ones too: reconchess starts a process for each game, and players count on it. Its own AttackerBot uses up a
    list that all its games in a process share, and passes from then on. Built-in players of another Python keep their
    process, as ours keep this one. Each Penumbra computes with as many threads as this process.
    """

    def __init__(self, logs: str | None = None) -> None:
        self._logs = logs
        self._foreign: dict[tuple[str, str, str | None, bool], ForeignPlayer] = {}

    def player(self, who: Entrant, color: bool, seed: int, name: str) -> Player:
        if who.kind is not None:
            return registry.make_with_settings(who.kind, seed, who.settings)
        if who.source is None:
            return registry.make(who.known_as or who.name, seed, who.configuration)
        from penumbra.interop.isolated_player import ForeignPlayer

        there = who.installation
        python = None if there is None else there.python
        key = (who.source, who.name, python, color)  # one for each side: a player may meet itself
        if key in self._foreign and not who.keep:
            self._foreign.pop(key).close()
        if key not in self._foreign:
            stem = _file_name(who.label or Path(name).name)
            log = None if self._logs is None else str(Path(self._logs) / f"{stem}.log")
            environment = {"PENUMBRA_THREADS": str(threads()), **who.environment}
            self._foreign[key] = (
                ForeignPlayer(who.source, None, log, environment)
                if there is None
                else ForeignPlayer(who.source, there.player, log, environment, there.python, who.settings)
            )
        player = self._foreign[key]
        player.seed(seed)
        return player

    def close(self) -> None:
        for player in self._foreign.values():
            player.close()
        self._foreign.clear()


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "player"
