"""One page's connection to one game: messages in order, none too long, none too many, each fault answered by a line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any

from fastapi import WebSocket, WebSocketDisconnect

from penumbra.server.live_game import Place
from penumbra.server.messages import Refusal, parse_message

LONGEST = 1_024  # bytes of a message
RATE = 20.0  # messages a second, in the long run
BURST = 40
PATIENCE = 100  # messages beyond the rate, after which the connection is closed
BACKLOG = 500  # messages that a page may be behind
BACKLOG_BYTES = 4_000_000  # and characters; a single message may be longer

TOO_SLOW, TOO_MANY, LATER = 1013, 1008, 1013  # codes of a closed socket


class Allowance:
    """So many a second, and so many at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._left, self._at = float(burst), time.monotonic()

    def take(self) -> bool:
        """Whether there is one left."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Connection:
    """Listens to a game until either side hangs up."""

    def __init__(self, socket: WebSocket, place: Place) -> None:
        self._socket = socket
        self._place = place
        self._outgoing: asyncio.Queue[str | int] = asyncio.Queue()  # messages, or the code to close with
        self._behind = 0  # characters of the messages that wait
        self._given_up = False
        self._allowance = Allowance(RATE, BURST)
        self._excess = 0

    def send(self, message: dict[str, Any]) -> None:
        """Queues a message as it is now; a page that is too far behind is hung up on, and may come back."""
        if self._given_up:
            return
        text = json.dumps(message, separators=(",", ":"))
        waiting = self._outgoing.qsize()
        if waiting and (waiting >= BACKLOG or self._behind + len(text) > BACKLOG_BYTES):
            self._given_up = True
            self._outgoing.put_nowait(TOO_SLOW)
        else:
            self._behind += len(text)
            self._outgoing.put_nowait(text)

    async def run(self) -> None:
        try:
            self._place.join(self)
        except Refusal as refusal:
            await self._socket.close(LATER, str(refusal))
            return
        writer = asyncio.get_running_loop().create_task(self._write())
        try:
            with contextlib.suppress(WebSocketDisconnect):
                while self._excess <= PATIENCE:
                    self._receive(await self._socket.receive())
                self._outgoing.put_nowait(TOO_MANY)
                await writer
        finally:
            self._place.leave(self)
            writer.cancel()

    def _receive(self, frame: Any) -> None:
        if frame["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(frame.get("code", 1000))
        try:
            self._place.handle(parse_message(self._admitted(frame)))
        except Refusal as refusal:
            self.send(refusal.to_json())

    def _admitted(self, frame: Any) -> str:
        """The text of a frame that may be looked at."""
        if not self._allowance.take():
            self._excess += 1
            raise Refusal("too many", f"too many messages; {RATE:g} a second are read")
        text = frame.get("text")
        if text is None:
            raise Refusal("malformed", "messages are text, not binary")
        if len(text) > LONGEST:
            raise Refusal("too long", f"the message is too long; {LONGEST} characters are read")
        return str(text)

    async def _write(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the page is gone
            while True:
                message = await self._outgoing.get()
                if isinstance(message, int):
                    await self._socket.close(message)
                    return
                self._behind -= len(message)
                await self._socket.send_text(message)
