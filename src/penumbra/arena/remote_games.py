"""Games on a server of reconchess: invitations are accepted, each game has a process of its own, and none is dropped.

A process that ends before its game does is started anew and goes on where the game stands; so does this whole program
when it is started again with the same folder.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import reconchess

from penumbra.dsmcp.domain import EvaluatorGone
from penumbra.games.writer_lock import WriterLock
from penumbra.interop.connection import POLL, Connection, PatientGame, ServerError
from penumbra.interop.kept_game import Invited, KeptGame
from penumbra.interop.remote_game import play_on
from penumbra.players.penumbra.configuration import from_table
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.whole_files import write_text

log = logging.getLogger(__name__)

STARTS = 5  # of the process of one game, with nothing played in between, before the game is given up
EVALUATOR_GONE = 3  # exit status of a game's process
LOG = "connect.log"
FORMAT = "%(asctime)s %(message)s"


@dataclass(frozen=True)
class Account:
    """A server and who plays there."""

    url: str
    username: str
    password: str

    def connect(self) -> Connection:
        return Connection(self.url, self.username, self.password)


@dataclass
class _Starts:
    """How often the process of a game was started since its last observation."""

    count: int = 0
    observations: int = 0
    said: int = 0  # bytes on stderr by the processes before this one


class RemoteGames:
    """All games of one account. `configuration` is a table; every process makes its Penumbra of it.

    `alone` is the configuration after the evaluator that the processes share has gone.
    """

    def __init__(
        self,
        account: Account,
        folder: Path,
        most: int,
        configuration: Mapping[str, Any],
        alone: Mapping[str, Any] | None = None,
    ) -> None:
        self._connection = account.connect()
        self._account = account
        self._folder = folder
        self._most = most
        self._configuration = dict(configuration)
        self._alone = dict(configuration if alone is None else alone)
        self._playing: dict[Path, BaseProcess] = {}
        self._starts: dict[Path, _Starts] = {}
        self._refused: set[int] = set()  # invitations that the server did not let us accept

    def run(self, ranked: bool, stop: Callable[[], bool] = lambda: False) -> None:
        """Until it is told to stop, or interrupted; games that are not over are gone on with the next time."""
        try:
            lock = WriterLock(self._folder / "connect.lock")
        except BlockingIOError:
            raise ValueError(f"{self._folder}: another penumbra connect keeps its games there") from None
        try:
            self._introduce(ranked)
            for path in self.unfinished():
                self._start(path)
            while not stop():
                self._look_after()
                self._accept()
                time.sleep(POLL)
        finally:
            self._leave()
            lock.release()

    def unfinished(self) -> list[Path]:
        """The files of this account's games that are not over."""
        found = []
        for path in sorted(self._folder.glob("*.game")):
            kept = KeptGame(path)
            mine = (kept.invited.server, kept.invited.username) == (self._account.url, self._account.username)
            if mine and not kept.over:
                found.append(path)
        return found

    def _introduce(self, ranked: bool) -> None:
        """A server that is not there is waited for only where it has games of ours."""
        self._connection.waits = bool(self.unfinished())
        theirs = self._connection.ask("GET", "version").get("version")
        if theirs != reconchess.__version__:
            log.warning("the server has reconchess %s, here is %s", theirs, reconchess.__version__)
        self._connection.ask("POST", "users/me/ranked", {"ranked": ranked})
        self._connection.ask("POST", "users/me/max_games", {"max_games": self._most})
        self._connection.waits = True
        log.info("connected to %s as %s", self._account.url, self._account.username)

    def _accept(self) -> None:
        """Invitations, and those that an earlier run was about to accept when it ended."""
        if len(self._playing) >= self._most:
            return
        try:
            listed = self._connection.ask("GET", "invitations/")["invitations"]
        except ServerError as error:
            log.warning("no invitations: %s", error)
            return
        waiting = [int(each) for each in [*self._accepting(), *listed]]
        for invitation in [each for each in dict.fromkeys(waiting) if each not in self._refused]:
            if len(self._playing) >= self._most:
                return
            mark = self._mark(invitation)
            write_text(mark, json.dumps([self._account.url, self._account.username]))
            try:
                game = int(self._connection.ask("POST", f"invitations/{invitation}")["game_id"])
            except ServerError as error:
                log.warning("invitation %d cannot be accepted: %s", invitation, error)
                self._refused.add(invitation)
            else:
                self._begin(invitation, game)
            mark.unlink()

    def _mark(self, invitation: int) -> Path:
        """The file that is there while an invitation is being accepted."""
        return self._folder / f"{invitation}.accepting"

    def _accepting(self) -> list[int]:
        marks = sorted(self._folder.glob("*.accepting"))
        mine = json.dumps([self._account.url, self._account.username])
        return [int(mark.stem) for mark in marks if mark.read_text() == mine]

    def _begin(self, invitation: int, game: int) -> None:
        log.info("invitation %s accepted: game %d", invitation, game)
        if any(KeptGame(path).invited.game == game for path in self.unfinished()):
            return
        path = self._folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{game}.game"
        KeptGame(path, Invited(self._account.url, self._account.username, invitation, game))
        self._start(path)

    def _start(self, path: Path) -> None:
        starts, observations = self._starts.setdefault(path, _Starts()), len(KeptGame(path).observations)
        if observations > starts.observations:
            starts.count, starts.observations = 0, observations
        starts.count += 1
        starts.said = len(_stderr_of(path).read_bytes()) if _stderr_of(path).exists() else 0
        arguments = (self._account, path, self._configuration, os.getpid())
        process = get_context("spawn").Process(target=play_kept, args=arguments, name=path.stem)
        process.start()
        self._playing[path] = process

    def _look_after(self) -> None:
        """Games that are over are finished, and those whose process has ended are gone on with."""
        for path, process in list(self._playing.items()):
            if process.is_alive():
                continue
            del self._playing[path]
            kept = KeptGame(path)
            starts = self._starts[path]
            progress = len(kept.observations) > starts.observations
            if not kept.over:
                log.warning("the process of game %d has ended: %s", kept.invited.game, _why(process, path, starts.said))
                if process.exitcode == EVALUATOR_GONE and self._configuration != self._alone:
                    log.warning("the inference server has gone: each game has its own network from now on")
                    self._configuration = self._alone
                if progress or starts.count < STARTS:
                    log.warning("a new one goes on with game %d", kept.invited.game)
                    self._start(path)
                    continue
                log.error("game %d is given up after %d starts", kept.invited.game, STARTS)
                self._tell(f"games/{kept.invited.game}/error_resign")
                kept.finish("given up")
            self._tell(f"invitations/{kept.invited.invitation}/finish")

    def _tell(self, path: str) -> None:
        try:
            self._connection.ask("POST", path)
        except ServerError as error:
            log.warning("%s", error)

    def _leave(self) -> None:
        for process in self._playing.values():
            process.terminate()
        for process in self._playing.values():
            process.join()
        if left := len(self.unfinished()):
            games = "1 game is" if left == 1 else f"{left} games are"
            log.warning("%s not over, and the clocks run: start again to go on", games)


def play_kept(account: Account, path: Path, configuration: Mapping[str, Any], parent: int) -> None:
    """The main function of a game's process. It ends when its parent has gone, and leaves the game to the next one.

    All that it says besides its log goes to the game's own file, in which whoever looks after it finds why it ended.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # its parent hears it
    _log_apart(path)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until a process of an earlier start has let go of the game
        kept = KeptGame(path)
        if kept.over:
            return
        game = PatientGame(account.connect(), kept.invited.game)
        try:
            result = play_on(
                game, lambda: make_penumbra(from_table(configuration)), kept, lambda: os.getppid() == parent
            )
        except EvaluatorGone as error:
            print(error, file=sys.stderr)
            sys.exit(EVALUATOR_GONE)
    if result is not None:
        log.info("game %d is over: %s", kept.invited.game, result)


def _log_apart(path: Path) -> None:
    """The log goes where the program's goes; stdout and stderr go to a file beside the game."""
    shown = os.fdopen(os.dup(2), "w", buffering=1)
    handlers = [logging.StreamHandler(shown), logging.FileHandler(path.parent / LOG)]
    logging.basicConfig(level=logging.INFO, format=FORMAT, handlers=handlers)
    apart = os.open(_stderr_of(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sys.stdout.flush()
    os.dup2(apart, 1)
    os.dup2(apart, 2)
    os.close(apart)


def _stderr_of(path: Path) -> Path:
    return path.with_suffix(".stderr")


def _why(process: BaseProcess, path: Path, before: int) -> str:
    """The signal or the status with which a process ended, and what it said last, after the bytes `before`."""
    code = process.exitcode or 0
    ended = signal.Signals(-code).name if code < 0 else f"status {code}"
    file = _stderr_of(path)
    said = file.read_bytes()[before:].decode(errors="replace").strip() if file.exists() else ""
    return f"{ended}: {said.splitlines()[-1][:300]} (more in {file})" if said else ended
