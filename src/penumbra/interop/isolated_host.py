"""The program that runs in an isolated player's process, and answers the calls of `penumbra.interop.isolated_player`.

It is run by its path, possibly by the interpreter of another installation of Penumbra, older or newer than this one. So
it imports nothing of Penumbra before it is told what to load, and then no more than this, which releases must keep:
`penumbra.players.registry` (`make`, `make_with_settings`, `names`), `penumbra.interop.adapters` (`AdaptedPlayer`,
`ReconchessPlayer`, `NotAnAction`) and `penumbra.core.GameRecord.from_bytes`.

Nothing but plain numbers and texts goes through the pipe, so that what a player returns is judged here and can do no
harm there. The first message is the version of Python; then each call (method, arguments) has one answer.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import platform
import random
import select
import signal
import sys
import threading
import time
import traceback
from importlib.machinery import PathFinder
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import reconchess

    from penumbra.interop.adapters import AdaptedPlayer
    from penumbra.players.player import Player

SECONDS_TO_LEAVE = 1.0  # after the pipe has closed


class CannotLoad(Exception):
    """Why there is no such player here, on one line."""


def main() -> None:
    """Answers calls until the pipe, whose number is the only argument, closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != here]
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)  # whatever the player starts must not keep the pipe open
    threading.Thread(target=_leave_at_hangup, args=(connection.fileno(),), daemon=True).start()
    connection.send(("answer", platform.python_version()))
    host = Host()
    while True:
        try:
            method, arguments = connection.recv()
            connection.send(host.answer(method, arguments))
        except (EOFError, OSError):
            return


class Host:
    """One sort of players, and the one that plays the current game."""

    def __init__(self) -> None:
        self.name = ""
        self._make: Callable[[int | None], reconchess.Player] | None = None
        self._reconchess_player: reconchess.Player | None = None
        self._player: AdaptedPlayer | None = None
        self._not_an_action: type[Exception] | tuple[()] = ()

    def answer(self, method: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
        """("answer", value), or what kind of fault and a line about it."""
        try:
            return "answer", getattr(self, method)(*arguments)
        except self._not_an_action as error:
            return "nonsense", str(error)
        except CannotLoad as error:
            return "crash", str(error)
        except BaseException as error:
            traceback.print_exc()
            return "crash", _described(error)

    def load(
        self, source: str, settings: Mapping[str, Any] | None, log: str | None, path: Sequence[str] | None
    ) -> dict[str, Any]:
        """Finds the player, and says what was found where. Whatever is printed goes to `log`, or nowhere.

        Without `settings` it is a reconchess player by module or file; with them, first of all one that this Penumbra
        knows by name. `path` is where to import from, None for this interpreter's own.
        """
        _redirect_output(log)
        if path is None:
            sys.meta_path.insert(0, PathFinder)  # PYTHONPATH before an editable installation
        else:
            sys.path[:] = path
        try:
            import penumbra
        except ImportError as error:
            raise CannotLoad(f"no Penumbra: {error}") from None
        from penumbra.interop.adapters import NotAnAction

        self._not_an_action = NotAnAction
        built_in = settings is not None and self._load_built_in(source, settings)
        if not built_in:
            self._load_reconchess(source, settings is not None)
        return {
            "player": self.name,
            "built_in": built_in,
            "penumbra": str(getattr(penumbra, "__version__", "")),
            "folder": str(Path(penumbra.__file__ or "").parent),
        }

    def _load_built_in(self, name: str, settings: Mapping[str, Any]) -> bool:
        """Whether the registry knows the name; `CannotLoad` if it does, and not the settings."""
        from penumbra.interop.adapters import ReconchessPlayer
        from penumbra.players import registry

        def make(seed: int | None) -> Player:
            return registry.make_with_settings(name, seed or 0, settings) if settings else registry.make(name, seed)

        try:
            registry.make(name, 0)
        except ValueError:
            return False
        try:
            self.name = make(0).name
        except (ValueError, TypeError) as error:
            raise CannotLoad(f"{name}: {error}") from None
        self._make = lambda seed: ReconchessPlayer(lambda: make(seed))
        return True

    def _load_reconchess(self, source: str, by_name_too: bool) -> None:
        from reconchess import load_player

        if by_name_too and not Path(source).is_file() and not _is_module(source):
            from penumbra.players import registry

            known = ", ".join(registry.names())
            raise CannotLoad(f"no player {source!r}: it is neither a file, a module, nor one of {known}")
        self.name, player_class = load_player(source)
        self._make = lambda seed: player_class()

    @property
    def player(self) -> AdaptedPlayer:
        if self._player is None:
            raise RuntimeError("the game has not started")
        return self._player

    def start(self, color: bool, fen: str, opponent_name: str, seed: int | None) -> None:
        from penumbra.interop.adapters import AdaptedPlayer

        if self._make is None:
            raise RuntimeError("no player is loaded")
        if seed is not None:
            random.seed(seed)
        self._reconchess_player = self._make(seed)
        self._player = AdaptedPlayer(self._reconchess_player, self.name)
        self._player.meet(opponent_name)
        self._player.start(color, fen)

    def opponent_moved(self, capture: int | None) -> None:
        self.player.opponent_moved(capture)

    def choose_sense(self, seconds_left: float | None) -> int | None:
        self.player.tell_time(seconds_left)
        return self.player.choose_sense()

    def sensed(self, square: int | None, contents: tuple[int, ...]) -> None:
        self.player.sensed(square, contents)

    def choose_move(self, seconds_left: float | None) -> tuple[int, int]:
        self.player.tell_time(seconds_left)
        return self.player.choose_move(()), self.player.promotion

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self.player.moved(requested, taken, capture)

    def game_over(self, winner: bool | None, reason: str | None, record: bytes | None) -> dict[str, list[str]]:
        """Ends the game; a Penumbra says what went wrong in it."""
        player, self._player = self.player, None
        ours = getattr(self._reconchess_player, "player", None)
        player.game_over(winner, reason, _read_record(record))
        self._reconchess_player = None
        return {key: [str(line) for line in getattr(ours, key, ())] for key in ("recoveries", "faults")}


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _read_record(data: bytes | None) -> Any:
    """The game; None if it is written in a way that this Penumbra does not know."""
    from penumbra.core import GameRecord

    if data is None:
        return None
    try:
        return GameRecord.from_bytes(data)
    except ValueError:
        return None


def _redirect_output(log: str | None) -> None:
    """Nothing a player prints may disturb the match's own output."""
    target = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    for number in (1, 2):
        os.dup2(target, number)
    os.close(target)
    sys.stdout = io.TextIOWrapper(_Output(1, "w", closefd=False), line_buffering=True)
    sys.stderr = io.TextIOWrapper(_Output(2, "w", closefd=False), line_buffering=True)


class _Output(io.FileIO):
    """What a player prints is lost on a full disk; that must not lose it the game."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _leave_at_hangup(pipe: int) -> None:
    """Ends this process and its group when nobody is left at the other end of the pipe: a busy player never looks."""
    poll = select.poll()
    poll.register(pipe, 0)  # hangups alone
    poll.poll()
    time.sleep(SECONDS_TO_LEAVE)
    os.killpg(0, signal.SIGKILL)


def _described(error: BaseException) -> str:
    """The error on one line, with where it was raised; of a mistake in a program's text, where that is."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}".strip(
            ": "
        )
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text[:200]}{where}" if text else f"{type(error).__name__}{where}"


if __name__ == "__main__":
    main()
