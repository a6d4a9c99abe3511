"""Games on a server of reconchess: invitations are accepted, each game has a process of its own, and none is dropped.

A process that ends before its game does is started anew and goes on where the game stands; so does this whole program
when it is started again with the same folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import reconchess
import requests

from penumbra.interop.remote_game import Invited, KeptGame, play_on
from penumbra.players.penumbra.configuration import from_table
from penumbra.players.penumbra.factory import make_penumbra

log = logging.getLogger(__name__)

POLL = 1.0  # seconds between two looks at the invitations
PATIENCE = 30.0  # seconds for an answer of the server
STARTS = 5  # of the process of one game, before the game is given up


class ServerError(ValueError):
    """The server does not do what was asked, for good."""


@dataclass(frozen=True)
class Account:
    """A server and who plays there."""

    url: str
    username: str
    password: str


class Server:
    """What a server of reconchess is asked beside its games. It is waited for while it cannot be reached."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._session = requests.Session()
        self._session.auth = (account.username, account.password)
        self._reached = True

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        while True:
            try:
                answer = self._session.request(method, f"{self.account.url}/api/{path}", json=body, timeout=PATIENCE)
                if answer.status_code == 200:
                    self._reached = True
                    return answer.json()
                trouble = f"status {answer.status_code}"
            except requests.RequestException as error:
                answer, trouble = None, type(error).__name__
            if answer is not None and answer.status_code == 401:
                raise ServerError(f"{self.account.url} does not accept this name and password")
            if answer is not None and answer.status_code < 500:
                raise ServerError(f"{self.account.url}: {path}: {trouble}: {' '.join(answer.text.split())[:200]}")
            if self._reached:
                log.warning("%s cannot be reached (%s); waiting", self.account.url, trouble)
            self._reached = False
            time.sleep(POLL)


class RemoteGames:
    """All games of one account. `configuration` is a table; every process makes its Penumbra of it."""

    def __init__(self, account: Account, folder: Path, most: int, configuration: Mapping[str, Any]) -> None:
        self._server = Server(account)
        self._account = account
        self._folder = folder
        self._most = most
        self._configuration = dict(configuration)
        self._playing: dict[Path, BaseProcess] = {}
        self._starts: dict[Path, int] = {}

    def run(self, ranked: bool, stop: Callable[[], bool] = lambda: False) -> None:
        """Until it is told to stop, or interrupted; games that are not over are gone on with the next time."""
        theirs = self._server.get("version")["version"]
        if theirs != reconchess.__version__:
            log.warning("the server has reconchess %s, here is %s", theirs, reconchess.__version__)
        self._server.post("users/me/ranked", {"ranked": ranked})
        self._server.post("users/me/max_games", {"max_games": self._most})
        log.info("connected to %s as %s", self._account.url, self._account.username)
        try:
            for path in self.unfinished():
                self._start(path)
            while not stop():
                self._look_after()
                self._accept()
                time.sleep(POLL)
        finally:
            self._leave()

    def unfinished(self) -> list[Path]:
        """The files of this account's games that are not over."""
        found = []
        for path in sorted(self._folder.glob("*.game")):
            kept = KeptGame(path)
            mine = (kept.invited.server, kept.invited.username) == (self._account.url, self._account.username)
            if mine and not kept.over:
                found.append(path)
        return found

    def _accept(self) -> None:
        for invitation in self._server.get("invitations/")["invitations"]:
            if len(self._playing) >= self._most:
                return
            game = int(self._server.post(f"invitations/{invitation}")["game_id"])
            invited = Invited(self._account.url, self._account.username, int(invitation), game)
            path = self._folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{game}.game"
            KeptGame(path, invited)
            log.info("invitation %s accepted: game %d", invitation, game)
            self._start(path)

    def _start(self, path: Path) -> None:
        self._starts[path] = self._starts.get(path, 0) + 1
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
            if not kept.over and self._starts[path] < STARTS:
                log.warning("the process of game %d has ended (%s): a new one", kept.invited.game, process.exitcode)
                self._start(path)
                continue
            if not kept.over:
                log.error("game %d is given up after %d starts", kept.invited.game, STARTS)
                with contextlib.suppress(ServerError):
                    self._server.post(f"games/{kept.invited.game}/error_resign")
                kept.finish("given up")
            with contextlib.suppress(ServerError):
                self._server.post(f"invitations/{kept.invited.invitation}/finish")

    def _leave(self) -> None:
        for process in self._playing.values():
            process.terminate()
        for process in self._playing.values():
            process.join()
        if left := len(self.unfinished()):
            log.warning("%d games are not over, and their clocks run: start again to go on with them", left)


def play_kept(account: Account, path: Path, configuration: Mapping[str, Any], parent: int) -> None:
    """The main function of a game's process. It ends when its parent has gone, and leaves the game to the next one."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s")
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until a process of an earlier start has let go of the game
        kept = KeptGame(path)
        if kept.over:
            return
        game = reconchess.RemoteGame(account.url, kept.invited.game, (account.username, account.password))
        result = play_on(game, lambda: make_penumbra(from_table(configuration)), kept, lambda: os.getppid() == parent)
    if result is not None:
        log.info("game %d is over: %s", kept.invited.game, result)
