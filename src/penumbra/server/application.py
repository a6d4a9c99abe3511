"""The web application: the page, the games and their sockets, reviews and analyses. docs/server.md describes it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

import penumbra
from penumbra.core import GameRecord
from penumbra.interop.game_files import to_json
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.player_view import PROTOCOL
from penumbra.rbc.synopsis import PLANES
from penumbra.server import bots, jobs
from penumbra.server.bot_client import BotClient, Failed
from penumbra.server.connection import Allowance, Connection
from penumbra.server.lobby import Lobby
from penumbra.server.messages import Refusal, Strength, parse_analyse, parse_new_game

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
LARGEST_GAME = 4_000_000  # bytes of a game file
NEW_GAMES = (2.0, 60)  # a second, and at once, for the whole server
LOOPBACK = ("localhost", "127.0.0.1", "::1")
UNKNOWN_ORIGIN = 4403  # code of a closed socket
NO_GAME = 4404

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class ServerSettings:
    """How a server runs."""

    folder: Path  # of the games' logs
    archive: Path | None = None  # of games to review
    most_games: int = 64  # awake at once
    hosts: tuple[str, ...] = LOOPBACK  # names under which it may be reached; empty: any
    configuration: Configuration = field(default_factory=lambda: Configuration(ponder=False))


def make_app(settings: ServerSettings, lobby: Lobby | None = None) -> FastAPI:
    """The application; `lobby` can be given by tests."""
    games = lobby or Lobby(settings.folder, BotClient(), settings.configuration, settings.most_games)
    new_games = Allowance(*NEW_GAMES)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        games.client.prepare()
        yield
        await games.close()

    app = FastAPI(title="Penumbra", version=penumbra.__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(GZipMiddleware, minimum_size=1_000)

    @app.middleware("http")
    async def guard(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        """Refuses other sites' pages, and adds the headers that keep this one's to itself."""
        if not _is_welcome(request.headers.get("host"), request.headers.get("origin"), settings.hosts):
            response: Response = _refused(Refusal("origin", "this server does not answer to that name or origin", 403))
        else:
            response = await answer(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.exception_handler(Refusal)
    async def refuse(_: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, Refusal)
        return _refused(refusal)

    @app.exception_handler(Exception)
    async def fail(_: Request, error: Exception) -> Response:
        log.error("a request failed", exc_info=error)
        return _refused(Refusal("failed", "something went wrong in the server; its own log says what", 500))

    @app.get("/api/about")
    async def about() -> dict[str, Any]:
        return {
            "version": penumbra.__version__,
            "protocol": PROTOCOL,
            "players": [asdict(bot) for bot in bots.bots()],
            "planes": [{"name": plane.name, "description": plane.description} for plane in PLANES],
            "archive": settings.archive is not None,
        }

    @app.post("/api/games")
    async def create(request: Request) -> dict[str, str]:
        wish = parse_new_game(await _body(request, 10_000))
        if not new_games.take():
            raise Refusal("too many", "too many new games at once; try again in a moment", 429)
        game = await games.create(wish)
        return {"game": game.setup.id}

    @app.get("/api/games")
    async def finished() -> list[dict[str, Any]]:
        return await asyncio.to_thread(games.finished)

    @app.get("/api/games/{game_id}")
    async def history(game_id: str) -> Response:
        return _game_file((await games.find(game_id)).record())

    @app.websocket("/api/games/{game_id}/socket")
    async def play(socket: WebSocket, game_id: str) -> None:
        await socket.accept()
        if not _is_welcome(socket.headers.get("host"), socket.headers.get("origin"), settings.hosts):
            await socket.close(UNKNOWN_ORIGIN, "this server does not answer to that name or origin")
            return
        try:
            game = await games.find(game_id)
        except Refusal as refusal:
            await socket.close(NO_GAME, str(refusal))
            return
        await Connection(socket, game).run()

    @app.get("/api/archive")
    async def archived(before: int | None = None) -> list[dict[str, Any]]:
        return jobs.archived_games(settings.archive, before)

    @app.get("/api/archive/{number}")
    async def archived_game(number: int) -> Response:
        return _game_file(jobs.archived_record(settings.archive, number))

    @app.post("/api/review")
    async def review(request: Request) -> Response:
        record = jobs.parse_game(await _body(request, LARGEST_GAME))
        return _lines(jobs.review(games.client, record))

    @app.post("/api/analyse")
    async def analyse(request: Request) -> Response:
        wish = parse_analyse(await _body(request, LARGEST_GAME))
        record = jobs.parse_game(json.dumps(wish.game).encode())
        strength = wish.strength if wish.strength != Strength() else Strength(seconds=1.0)
        configuration = bots.analyst(wish.preset, strength, settings.configuration)
        return _lines(jobs.analyse(games.client, record, configuration, wish.turn, wish.player))

    if STATIC.is_dir():
        app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


def _is_welcome(host: str | None, origin: str | None, hosts: tuple[str, ...]) -> bool:
    """Whether a request names this server as it may be named, and comes from this server's own page or from none.

    A name is checked so that another site cannot have its own name lead here.
    """
    name = urlsplit(f"//{host or ''}").hostname
    if hosts and name not in hosts:
        return False
    return origin is None or urlsplit(origin).netloc == host


async def _body(request: Request, most: int) -> bytes:
    """The body of a request, never more of it than is allowed."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise Refusal("too long", f"the request is too long; {most:,} bytes are read", 413)
    return body


def _refused(refusal: Refusal) -> Response:
    return JSONResponse(refusal.to_json(), refusal.status)


def _game_file(record: GameRecord) -> Response:
    return Response(to_json(record), media_type="application/json")


def _lines(items: AsyncIterator[dict[str, Any]]) -> Response:
    """JSON objects, one a line, each sent when it is there; a fault on the way is the last of them."""

    async def lines() -> AsyncIterator[str]:
        try:
            async for item in items:
                yield json.dumps(item, separators=(",", ":")) + "\n"
        except Refusal as refusal:
            yield json.dumps(refusal.to_json()) + "\n"
        except Failed as error:
            log.error("a job failed: %s", error)
            yield json.dumps(Refusal("failed", "the analysis failed; the server's own log says why").to_json()) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")
