"""What a client hears whose request is refused, and what is true of every answer.

Nothing that a client sends leads to a stack trace: a request that is not whole, or names nothing, has an answer here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penumbra.server import access
from penumbra.server.messages import Refusal

log = logging.getLogger(__name__)

BODY_SECONDS = 30.0  # in which a body has to be here


class Guard:
    """Refuses other sites' pages, and adds the headers that keep this one's to itself."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in access.HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        said = Headers(scope=scope)
        if access.is_welcome(said.get("host"), said.get("origin"), self._hosts):
            await self._app(scope, receive, send_guarded)
        else:
            refusal = Refusal("origin", "this server does not answer to that name or origin", 403)
            await refused(refusal)(scope, receive, send_guarded)


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request, never more of it than is allowed, and never waited for in vain."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise Refusal("too long", f"the request is too long; {most:,} bytes are read", 413)
    except TimeoutError:
        raise Refusal("too slow", f"the request was not here within {BODY_SECONDS:g} seconds", 408) from None
    return bytes(body)


def as_json(content: Any, status: int = 200) -> Response:
    """Plain ASCII, which can say whatever a client has sent."""
    return Response(json.dumps(content, separators=(",", ":")), status, media_type="application/json")


def refused(refusal: Refusal) -> Response:
    return as_json(refusal.to_json(), refusal.status)


async def _on_refusal(_: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    return refused(refusal)


async def _on_http(_: Request, error: Exception) -> Response:
    """No such page, or another method."""
    assert isinstance(error, HTTPException)
    response = refused(Refusal("unknown request", f"{error.detail}".lower(), error.status_code))
    response.headers.update(error.headers or {})
    return response


async def _on_parameter(_: Request, error: Exception) -> Response:
    """A part of an address that is not what it should be."""
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]
    return refused(Refusal("malformed", f"{fault['loc'][-1]}: {fault['msg']}"))


async def _on_disconnect(_: Request, error: Exception) -> Response:
    """Nobody hears this: the client has hung up before its request was whole."""
    return refused(Refusal("hung up", "the request is not whole"))


async def _on_fault(_: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    return refused(Refusal("failed", "something went wrong in the server; its own log says what", 500))


HANDLERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    Refusal: _on_refusal,
    HTTPException: _on_http,
    RequestValidationError: _on_parameter,
    ClientDisconnect: _on_disconnect,
    Exception: _on_fault,
}
