"""A game on disk: what follows is written, what does not is refused; a torn end is cut off; a full disk is survived."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penumbra.players.penumbra.configuration import Configuration
from penumbra.server.game_log import EndLine, GameLog, Line, MoveLine, Result, SenseLine, Setup, SideSetup, read
from penumbra.server.lobby import Lobby
from penumbra.server.messages import Move, NewPlay, Sense, Side
from tests.server.browser import Server
from tests.server.listening import Socket, begin
from tests.server.scripted import PASSES, ScriptedBots

LINES: list[Line] = [
    SenseLine(0, "e7", None),
    MoveLine(1, "e2e4", None),
    SenseLine(2, None, None),
    MoveLine(3, None, None),
]
END = EndLine(Result("white", "RESIGN", 2))
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


def new_log(folder: Path) -> GameLog:
    log = GameLog(folder / f"{next(NUMBERS)}.jsonl")
    log.create(Setup(log.path.stem, 0, SideSetup("Person"), SideSetup("Random", "random"), 1))
    return log


def test_a_log_refuses_what_does_not_follow(folder: Path) -> None:
    log = new_log(folder)
    for line in LINES:
        for other in (*LINES, SenseLine(1, "e7", None), MoveLine(0, None, None), SenseLine(5, None, None)):
            if other != line:
                with pytest.raises(ValueError, match="does not follow"):
                    log.append(other)
        log.append(line)
    log.append(END)
    for line in (*LINES, SenseLine(4, "e7", None), END):
        with pytest.raises(ValueError, match="does not follow"):
            log.append(line)
    log.close()
    assert read(log.path).lines == [*LINES, END]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 400), st.binary(max_size=40), st.booleans())
def test_whatever_happens_to_its_end_a_log_goes_on_from_a_whole_line(
    folder: Path, cut: int, torn: bytes, ended: bool
) -> None:
    log = new_log(folder)
    for line in LINES:
        log.append(line)
    log.close()
    whole = log.path.read_bytes()
    setup = whole.index(b"\n") + 1
    kept = max(setup, len(whole) - cut)
    log.path.write_bytes(whole[:kept] + torn + b"\n" * ended)
    again = GameLog(log.path)
    lines = again.open().lines
    assert lines == LINES[: len(lines)]
    assert len(lines) >= whole[:kept].count(b"\n") - 1
    for line in LINES[len(lines) :]:
        again.append(line)
    again.close()
    assert log.path.read_bytes() == whole


class FullDisk:
    """Holds so many bytes more, and then half a line."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room: float = float("inf")
        self._write = os.pwrite
        monkeypatch.setattr(os, "pwrite", self._pwrite)

    def _pwrite(self, file: int, data: bytes, offset: int) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._write(file, data[: int(min(self.room, len(data)))], offset)
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 10, 49, 60, 101])
def test_what_a_full_disk_does_not_take_is_written_when_it_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    log, disk = new_log(folder), FullDisk(monkeypatch)
    disk.room = room
    for line in LINES:
        log.append(line)
    assert not log.kept and log.fault == "No space left on device"
    assert read(log.path).lines == LINES[: len(read(log.path).lines)], "what is there is whole"
    disk.room = 1_000
    log.append(END)
    assert log.kept and not log.fault
    assert read(log.path).lines == [*LINES, END]
    log.close()


def test_a_game_goes_on_while_the_disk_is_full_and_its_player_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[dict[str, Any]] = []

    class Listener:
        def send(self, message: dict[str, Any]) -> None:
            messages.append(message)

    async def run() -> None:
        disk = FullDisk(monkeypatch)
        lobby = Lobby(tmp_path, ScriptedBots(PASSES), Configuration(), 1, now=lambda: 0.0)
        clock = {"seconds": 60.0, "increment": 5.0}
        wish = {"mode": "play", "opponent": {"player": "random"}, "color": "white", "clock": clock}
        game = await lobby.create(NewPlay.model_validate(wish))
        game.place().join(Listener())
        assert messages[-1]["state"]["kept"]
        disk.room = 70
        for word in ("a2a3", "b2b3"):
            while game.game.turn is False:
                await asyncio.sleep(0)
            game.place().handle(Sense(type="sense", step=game.step, square="d5"))
            game.place().handle(Move(type="move", step=game.step, move=word))
        assert not messages[-1]["state"]["kept"]
        assert game.game.plies >= 3
        assert messages[-1]["state"]["clocks"]["white"] == 70.0
        assert not game.over
        disk.room = 10_000
        assert game.keep()
        assert messages[-1]["state"]["kept"]
        await lobby.close()
        again = lobby.find(game.setup.id)
        assert again.step == game.step and again.views[True].events[:4] == game.views[True].events[:4]
        await lobby.close()

    asyncio.run(run())


def test_a_new_game_on_a_full_disk_is_played(tmp_path: Path) -> None:
    """Its folder cannot even be made. It is never put to sleep, for it would not be found again."""

    async def run() -> None:
        (tmp_path / "file").touch()
        lobby = Lobby(tmp_path / "file" / "games", ScriptedBots(PASSES), Configuration(), 1)
        game = await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        game.place().handle(Sense(type="sense", step=0, square="e7"))
        assert not game.kept and game.step == 1
        with pytest.raises(ValueError, match="all are in use"):
            await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        await lobby.close()

    asyncio.run(run())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    server.start()
    yield server
    server.stop()


def test_a_server_whose_disk_is_full_plays_on(server: Server) -> None:
    """No file of the process may grow past 500 bytes, which ends the log in the middle of a line."""
    game = begin(server.port, clock={"seconds": 600.0, "increment": 100.0})
    path = server.folder / f"{game}.jsonl"
    assert server.process is not None
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (500, resource.RLIM_INFINITY))
    with Socket(server.port, game) as person:
        state = person.receive()["state"]
        for turn in range(1, 5):
            for message in ({"type": "sense", "square": "e7"}, {"type": "move", "move": None}):
                step = state["step"]
                person.connection.send(json.dumps({**message, "step": step}))
                while state["phase"] == "waiting" or state["step"] == step:
                    state = person.receive()["state"]
            assert state["clocks"]["white"] <= 600.0 + 100.0 * turn
        assert not state["kept"] and path.stat().st_size == 500
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        person.send(type="sense", step=state["step"], square="e7")
        state = person.receive()["state"]
        assert state["phase"] == "move" and state["kept"]
    steps = [json.loads(line).get("step") for line in path.read_text().splitlines()]
    assert steps[1:] == list(range(state["step"]))
