"""Players in a process of their own, where they can neither crash nor stall anybody else.

Every call of an `IsolatedPlayer` goes to the process and waits for the answer, no longer than the limit it was given.
One that raises, dies, stays silent or answers nonsense is a `PlayerFault`; its process is then ended and the next game
gets a new one. What such a player prints goes to a file, or nowhere.

The process runs `isolated_host` by its path: with this interpreter, for players of reconchess, or with the interpreter
of another installation of Penumbra, for whatever that one knows by name.
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import penumbra
from penumbra.core import GameRecord
from penumbra.interop import isolated_host
from penumbra.interop.stockfish import find_stockfish
from penumbra.players.player import Player

HELLO_LIMIT = 30.0  # seconds for an interpreter to start
START_LIMIT = 60.0  # seconds to load a player and to start a game
END_LIMIT = 10.0  # seconds to take leave
UNTIMED_LIMIT = 120.0  # seconds for a call when nobody set a limit

OUR_PYTHON = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")  # variables that another interpreter must not see


class PlayerFault(Exception):
    """Why an isolated player can play no further: `reason` is crash, nonsense, hang or killed."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class Installation:
    """A Python with a Penumbra, as its own process describes it."""

    python: str  # the interpreter's path
    python_version: str
    penumbra: str  # the version
    folder: str  # from which that Penumbra is imported
    player: str = ""  # the name of the player loaded there, as opponents hear it
    built_in: bool = False  # whether that player is one of that Penumbra's own

    def line(self) -> str:
        return f"Penumbra {self.penumbra} in {self.folder}, Python {self.python_version}"


def this_installation() -> Installation:
    folder = str(Path(penumbra.__file__).parent)
    return Installation(sys.executable, platform.python_version(), penumbra.__version__, folder)


def find_python(path: str) -> str:
    """The absolute path of an interpreter, by its path or as a command; ValueError, on one line, if there is none."""
    found = shutil.which(path)
    if found is None and Path(path).exists():
        raise ValueError(f"{path}: not an executable file")
    if found is None:
        raise ValueError(f"{path}: no such file or command")
    return os.path.abspath(found)  # noqa: PTH100  # a virtualenv's interpreter is a link, which must not be followed


def find_player(name: str) -> str | None:
    """What `reconchess.load_player` takes for this name: a file or a module; None if there is neither."""
    if Path(name).is_file():
        return str(Path(name).resolve())
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except (ImportError, ValueError):
        return None


def check_stockfish(name: str) -> None:
    """ValueError, on one line, if the player of that name lacks its engine."""
    if find_stockfish() is None:
        raise ValueError(f"{name} needs Stockfish: install it, or set STOCKFISH_EXECUTABLE to its path")


def make_isolated(source: str, name: str, seed: int | None, needs_stockfish: bool) -> IsolatedPlayer:
    """For the registry: a player of reconchess; its process ends with each game."""
    if needs_stockfish:
        check_stockfish(name)
    player = IsolatedPlayer(source, name, keep=False)
    player.seed(seed)
    return player


class IsolatedPlayer(Player):
    """A player asked through its process, which is started when first needed, and with `keep` stays between games.

    `source` is a reconchess player by module or path. With `python`, another interpreter, it may also be any name that
    the Penumbra of that one knows, with `settings` as a tournament's file has them.
    """

    name = ""
    promotion = 0

    def __init__(
        self,
        source: str,
        name: str | None = None,
        log: str | None = None,
        environment: Mapping[str, str] | None = None,
        python: str | None = None,
        settings: Mapping[str, Any] | None = None,
        keep: bool = True,
    ) -> None:
        self._source = source
        self._keep = keep
        self._environment = dict(environment or {})
        self._log = log
        self._given_name = name
        self._python = python
        self._settings = dict(settings or {})
        self.name = name or Path(source).stem
        self.installation: Installation | None = None
        self.recoveries: list[str] = []  # of the last game, where the player is a Penumbra
        self.faults: list[str] = []  # of its search
        self._seconds_left: float | None = None
        self._deadline: float | None = None
        self._opponent_name = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._seed: int | None = None

    # -- the process

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def load(self) -> None:
        """Starts the process and loads the player; `PlayerFault` if that cannot be done."""
        if self._process is not None:
            return
        python = self._python or sys.executable
        with self._start_process(python) as output:
            try:
                version = self._receive("hello", time.monotonic() + HELLO_LIMIT)
            except PlayerFault as fault:
                why = _last_line(output) or fault.detail.removeprefix("hello: ")
                raise PlayerFault("crash", f"not a Python interpreter: {why}") from None
        ours = self._python is None
        arguments = (self._source, None if ours else self._settings, self._log, list(sys.path) if ours else None)
        found = self._call("load", *arguments, deadline=time.monotonic() + START_LIMIT)
        self.installation = Installation(python, version, **found)
        self.name = self._given_name or self.installation.player

    def _start_process(self, python: str) -> IO[bytes]:
        """Runs the host program; returns what the interpreter prints until then."""
        ours, theirs = multiprocessing.Pipe()
        engine = find_stockfish()  # Trout and others look for it in STOCKFISH_EXECUTABLE
        inherited = {**({"STOCKFISH_EXECUTABLE": engine} if engine else {}), **os.environ}
        if self._python is not None:
            inherited = {name: value for name, value in inherited.items() if name not in OUR_PYTHON}
        try:
            process = subprocess.Popen(
                [python, isolated_host.__file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**inherited, **self._environment},
                pass_fds=[theirs.fileno()],
                # A group of its own: an interrupt at the terminal is for the match, and the group can be ended as one.
                # Not a session of its own: Linux divides a busy machine between sessions, so it would get more time.
                process_group=0,
            )
        except OSError as error:
            ours.close()
            raise PlayerFault("crash", f"cannot be started: {error.strerror}") from None
        finally:
            theirs.close()
        self._process, self._connection = process, ours
        assert process.stdout is not None
        return process.stdout

    def seed(self, seed: int | None) -> None:
        """Python's own random numbers, in the player's process, start from here at each game."""
        self._seed = seed

    def limit(self, seconds: float | None) -> None:
        """Calls from now on must be answered within so many seconds together; None: each within UNTIMED_LIMIT."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def close(self) -> None:
        """Ends the process, and whatever it started in its own group."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is None or connection is None:
            return
        connection.close()
        _wait(process, 0.3)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        _wait(process, 5)

    def _call(self, method: str, *arguments: Any, deadline: float | None = None) -> Any:
        if self._connection is None:
            self.load()
        assert self._connection is not None
        try:
            self._connection.send((method, arguments))
        except OSError:
            raise self._dead(method) from None
        if deadline is None:
            deadline = self._deadline if self._deadline is not None else time.monotonic() + UNTIMED_LIMIT
        return self._receive(method, deadline)

    def _receive(self, method: str, deadline: float) -> Any:
        assert self._connection is not None
        began = time.monotonic()
        try:
            if not self._connection.poll(max(0.0, deadline - began)):
                self.close()
                raise PlayerFault("hang", f"{method} gave no answer in {time.monotonic() - began:.1f} s")
            outcome, value = self._connection.recv()
        except (EOFError, OSError):
            raise self._dead(method) from None
        if outcome != "answer":
            self.close()
            raise PlayerFault(outcome, f"{method}: {value}")
        return value

    def _dead(self, method: str) -> PlayerFault:
        process = self._process
        code = None if process is None else _wait(process, 1)
        self.close()
        if code is not None and code < 0:
            return PlayerFault("killed", f"{method}: the process was ended by {signal.Signals(-code).name}")
        return PlayerFault("killed", f"{method}: the process exited with code {code}")

    # -- the player

    def meet(self, opponent_name: str) -> None:
        self._opponent_name = opponent_name

    def tell_time(self, seconds_left: float | None) -> None:
        self._seconds_left = seconds_left

    def start(self, color: bool, fen: str) -> None:
        self.recoveries, self.faults = [], []
        self._call("start", color, fen, self._opponent_name, self._seed, deadline=time.monotonic() + START_LIMIT)

    def opponent_moved(self, capture: int | None) -> None:
        self._call("opponent_moved", capture)

    def choose_sense(self) -> int | None:
        square: int | None = self._call("choose_sense", self._seconds_left)
        return square

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        self._call("sensed", square, tuple(contents))

    def choose_move(self, actions: Sequence[int]) -> int:
        action: int
        action, self.promotion = self._call("choose_move", self._seconds_left)
        return action

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        self._call("moved", requested, taken, capture)

    def game_over(self, winner: bool | None, reason: str | None, record: GameRecord | None = None) -> None:
        """A player that fails now has nothing left to lose; its process is ended."""
        if self._connection is None:
            return
        data = None if record is None else record.to_bytes()
        with contextlib.suppress(PlayerFault):
            told = self._call("game_over", winner, reason, data, deadline=time.monotonic() + END_LIMIT)
            self.recoveries, self.faults = told["recoveries"], told["faults"]
        if not self._keep:
            self.close()


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Its exit code; None if it still runs."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode


def _last_line(output: IO[bytes]) -> str:
    """The last line that a process printed before it was ended."""
    os.set_blocking(output.fileno(), False)
    lines = (output.read(1 << 16) or b"").decode(errors="replace").splitlines()
    return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")
