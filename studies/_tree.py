"""A checkout that is built, used from outside: its commands, in processes of their own, and its server."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from websockets.sync.client import ClientConnection, connect

from penumbra.server.memory import children

POPULATION = """
games = GAMES
seed = 7
workers = 1
ply_limit = 40
[[player]]
name = "NAME 1"
kind = "random"
[[player]]
name = "NAME 2"
kind = "random"
"""
SECONDS = 60.0  # that an answer may take
STACK_TRACE = "Traceback (most recent call last)"


@dataclass
class Tree:
    """The checkout that is tried, and a folder for the files of one fault."""

    root: Path
    folder: Path

    @cached_property
    def environment(self) -> dict[str, str]:
        others = [path for path in sys.path if path.endswith("site-packages")]
        return os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), *others]),
            "PENUMBRA_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "200",
        }

    @cached_property
    def is_old(self) -> bool:
        """Whether options have the names that they had in f639592."""
        return not (self.root / "src/penumbra/commands").exists()

    def start(self, *arguments: object, ready: Callable[[], object] | None = None) -> subprocess.Popen[str]:
        """`python ARGUMENTS` in a session of its own; `ready` is called in it before it begins."""
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=ready,
            start_new_session=True,
        )

    def run(self, *arguments: object, seconds: float = 240.0) -> tuple[int | None, str, str]:
        """(the exit status or None if it had to be ended, stdout, stderr) of `penumbra ARGUMENTS`."""
        process = self.start("-m", "penumbra", *arguments)
        try:
            out, error = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            end(process)
            out, error = process.communicate()
            return None, out, error
        return process.returncode, out, error

    def clock(self, seconds: int) -> tuple[str, ...]:
        """Of a match; 0: none."""
        if self.is_old:
            return "--seconds", str(seconds), "--increment", "0"
        return "--clock", f"{seconds}+0" if seconds else "none"

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def games(self, name: str, number: int = 60, player: str = "Wild") -> Path:
        """An archive of random games."""
        text = POPULATION.replace("GAMES", str(number)).replace("NAME", player)
        status, _, error = self.run("generate", self.file(f"{name}.toml", text), "--archive", self.folder / name)
        assert status == 0, error
        return self.folder / name

    def weights(self) -> Path:
        return self.root / "src/penumbra/weights/lite.safetensors"

    def torn_weights(self) -> Path:
        """Their first half."""
        whole = self.weights().read_bytes()
        path = self.folder / "torn.safetensors"
        path.write_bytes(whole[: len(whole) // 2])
        return path


def end(process: subprocess.Popen[str]) -> None:
    """With everything that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing"])[-1]


def brief(text: str, most: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


# -- the server


@dataclass
class Server:
    """`penumbra serve` of the tree."""

    tree: Tree
    data: Path
    options: tuple[object, ...] = ()
    said: list[str] = field(default_factory=list)  # its log

    def __enter__(self) -> Server:
        with socket.create_server(("127.0.0.1", 0)) as door:
            self.port = door.getsockname()[1]
        self.process = self.tree.start(
            "-m", "penumbra", "serve", "--port", self.port, "--data", self.data, *self.options
        )
        self._reader = ThreadPoolExecutor(1)
        assert self.process.stderr is not None
        self._reader.submit(self.said.extend, self.process.stderr)
        deadline = time.monotonic() + 4 * SECONDS
        while status(self.say("GET /api/about HTTP/1.1", "Host: localhost")) != 200:
            assert time.monotonic() < deadline, "the server does not begin"
            time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        end(self.process)
        self._reader.shutdown()

    def traces(self) -> int:
        """Stack traces in its log."""
        time.sleep(0.5)
        return "".join(self.said).count(STACK_TRACE)

    def say(self, *lines: str, body: bytes = b"", cut: bool = False) -> bytes:
        """What a request is answered; with `cut` the client hangs up without waiting."""
        head = "".join(f"{line}\r\n" for line in (*lines, "Connection: close", ""))
        try:
            with socket.create_connection(("127.0.0.1", self.port), SECONDS) as client:
                client.sendall(head.encode("latin-1") + body)
                return b"" if cut else b"".join(iter(lambda: client.recv(65_536), b""))
        except ConnectionError:
            return b""

    def post(self, path: str, body: object) -> dict[str, Any]:
        request = Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(), method="POST")
        with urlopen(request, timeout=SECONDS) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found

    def begin(self, opponent: str = "random", clock: object = None, **strength: object) -> str:
        """A game as White."""
        side = {"player": opponent, "strength": strength}
        return str(
            self.post("/api/games", {"mode": "play", "opponent": side, "color": "white", "clock": clock})["game"]
        )

    def page(self, game: str) -> ClientConnection:
        return connect(f"ws://127.0.0.1:{self.port}/api/games/{game}/socket", close_timeout=2)

    def memory(self) -> float:
        """Megabytes of all its processes."""
        return sum(resident(pid) for pid in [self.process.pid, *children(self.process.pid)])

    def log(self, game: str) -> Path:
        return self.data / f"{game}.jsonl"


def resident(pid: int) -> float:
    """Megabytes."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    return 0.0


def status(answer: bytes) -> int:
    """Of an answer; 0 where there is none."""
    return int(answer.split(b" ", 2)[1]) if answer else 0


def hear(page: ClientConnection, phase: str | None = None) -> dict[str, Any]:
    """The next message; with `phase` the next that says that the game is in it, or an error."""
    while True:
        message: dict[str, Any] = json.loads(page.recv(SECONDS))
        if phase is None or message["type"] == "error" or message.get("state", {}).get("phase") == phase:
            return message


def play(page: ClientConnection, state: dict[str, Any], move: str | None = None) -> dict[str, Any]:
    """A sense and a move; what the move is answered."""
    if state["phase"] == "sense":
        page.send(json.dumps({"type": "sense", "step": state["step"], "square": "e7"}))
        state = hear(page, "move")["state"]
    page.send(json.dumps({"type": "move", "step": state["step"], "move": move}))
    return hear(page)


def steps(log: Path) -> list[int]:
    """The numbers of the steps in a game's log."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["step"] for line in lines if "step" in line]


def words(text: str, tree: Tree) -> str:
    """What was said, shortly."""
    return (
        "a stack trace"
        if STACK_TRACE in text
        else brief(text.strip().partition("\n")[0].replace(f"{tree.folder}/", ""), 130)
    )


def count(path: Path) -> int:
    """Games of an archive; 0 where there is none."""
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM game").fetchone()[0])
        except sqlite3.Error:
            return 0


def wait_for_games(path: Path, process: subprocess.Popen[str]) -> None:
    """Until there are some in the archive."""
    deadline = time.monotonic() + SECONDS
    while count(path) < 3:
        assert process.poll() is None and time.monotonic() < deadline, "no game is played"
        time.sleep(0.2)
