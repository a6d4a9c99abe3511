"""A UCI engine behind pipes: asked about one position at a time, each as a game of its own."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

SILENCE = 10.0  # seconds past its limit until an engine is taken for dead


class EngineDied(Exception):
    """The process ended, fell silent or said what nobody understands."""


@dataclass(frozen=True)
class Line:
    """One of the best lines of a position. `score` is for the player to move: hundredths of a pawn or moves to mate."""

    move: str  # its first move, as UCI writes it
    score: int
    is_mate: bool


class UciEngine:
    """A running engine; it ends with this process, whose end closes its input."""

    def __init__(self, path: str, options: Mapping[str, int]) -> None:
        self._buffer = b""
        try:
            self._process = subprocess.Popen(
                [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
            )
        except OSError as error:
            raise EngineDied(f"{path} cannot be started: {error.strerror}") from None
        self._options: dict[str, int] = {}
        self._send("uci")
        self._read_until("uciok", SILENCE)
        self.set_options(options)

    @property
    def pid(self) -> int:
        return self._process.pid

    def set_options(self, options: Mapping[str, int]) -> None:
        for name, value in options.items():
            if self._options.get(name) != value:
                self._send(f"setoption name {name} value {value}")
                self._options[name] = value

    def analyse(self, fen: str, nodes: int, seconds: float, lines: int) -> list[Line]:
        """The best `lines` of a position, the best first; none where there is no move. `seconds` above 0 bound it."""
        self.set_options({"MultiPV": lines})
        self._send("ucinewgame")
        self._send("isready")
        self._read_until("readyok", SILENCE)
        self._send(f"position fen {fen}")
        self._send(f"go movetime {max(1, round(1000 * seconds))}" if seconds else f"go nodes {nodes}")
        found: dict[int, Line] = {}
        for words in self._read_until("bestmove", seconds + SILENCE):
            if words[:1] == ["info"] and "pv" in words and "score" in words:
                number, line = _parse(words)
                found[number] = line
        return [found[number] for number in sorted(found)]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise EngineDied(f"it ended before {text!r}") from None

    def _read_until(self, word: str, seconds: float) -> list[list[str]]:
        """What it says, word by word, up to the line that begins with `word`."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        said: list[list[str]] = []
        while True:
            *whole, self._buffer = self._buffer.split(b"\n")
            for i, text in enumerate(whole):
                said.append(text.decode(errors="replace").split())
                if said[-1][:1] == [word]:
                    self._buffer = b"\n".join([*whole[i + 1 :], self._buffer])
                    return said
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise EngineDied(f"no {word} in {seconds:g} s")
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                raise EngineDied(f"it ended before {word}")
            self._buffer += more


def _parse(words: list[str]) -> tuple[int, Line]:
    """(the line's number, the line) of an `info`."""
    try:
        number = int(words[words.index("multipv") + 1]) if "multipv" in words else 1
        kind, score = words[words.index("score") + 1], int(words[words.index("score") + 2])
        return number, Line(words[words.index("pv") + 1], score, kind == "mate")
    except (ValueError, IndexError):
        raise EngineDied(f"it said {' '.join(words)[:80]!r}") from None
