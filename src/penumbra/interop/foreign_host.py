"""The other end of `penumbra.interop.foreign`: the process in which a foreign player lives.

Nothing but plain numbers and texts goes through the pipe, so that what a player returns is judged here and can do no
harm there.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penumbra.interop.adapters import AdaptedPlayer


def serve(connection: Connection, source: str, log: str | None, environment: Mapping[str, str], parent: int) -> None:
    """Loads the player and answers calls until the pipe closes."""
    with contextlib.suppress(OSError):
        os.setsid()  # an interrupt at the terminal is for the match; and the group can be ended as one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
    _redirect_output(log)
    threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
    try:
        host = Host(source)
    except BaseException as error:
        traceback.print_exc()
        connection.send(("crash", _described(error)))
        return
    connection.send(("answer", host.name))
    while True:
        try:
            method, arguments = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(host.answer(method, arguments))


class Host:
    """One class of players, and the one that plays the current game."""

    def __init__(self, source: str) -> None:
        from reconchess import load_player

        self.name, self._class = load_player(source)
        self._player: AdaptedPlayer | None = None

    def answer(self, method: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
        """("answer", value), or what kind of fault and a line about it."""
        from penumbra.interop.adapters import NotAnAction

        try:
            return "answer", getattr(self, method)(*arguments)
        except NotAnAction as error:
            return "nonsense", str(error)
        except BaseException as error:
            traceback.print_exc()
            return "crash", _described(error)

    @property
    def player(self) -> AdaptedPlayer:
        if self._player is None:
            raise RuntimeError("the game has not started")
        return self._player

    def start(self, color: bool, fen: str, opponent_name: str, seed: int | None) -> None:
        from penumbra.interop.adapters import AdaptedPlayer

        if seed is not None:
            random.seed(seed)
        self._player = AdaptedPlayer(self._class(), self.name)
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

    def game_over(self, winner: bool | None, reason: str | None, record: bytes | None) -> None:
        from penumbra.core import GameRecord

        player, self._player = self.player, None
        player.game_over(winner, reason, None if record is None else GameRecord.from_bytes(record))


def _redirect_output(log: str | None) -> None:
    """Nothing a player prints may disturb the match's own output."""
    target = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    for number in (1, 2):
        os.dup2(target, number)
    os.close(target)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def leave_with(parent: int) -> None:
    """Ends this process and its group when its parent is gone: one that is busy would otherwise stay for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    with contextlib.suppress(OSError):
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _described(error: BaseException) -> str:
    """The error on one line, with where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text[:200]}{where}" if text else f"{type(error).__name__}{where}"
