"""The web application: the page, the games and their sockets, reviews and analyses. docs/server.md describes it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response, WebSocket
from fastapi import Path as InPath
from fastapi.responses import StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

import penumbra
from penumbra.core import GameRecord
from penumbra.interop.game_files import to_json
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.player_view import PROTOCOL
from penumbra.rbc.synopsis import PLANES
from penumbra.review.ending import explain
from penumbra.server import access, bots, jobs, lessons
from penumbra.server.answers import HANDLERS, Guard, as_json, body_of
from penumbra.server.bot_client import BotClient, Failed
from penumbra.server.connection import LATER, Allowance, Connection
from penumbra.server.live_game import LiveGame
from penumbra.server.lobby import Lobby
from penumbra.server.messages import (
    AboutGame,
    Refusal,
    Strength,
    parse_analyse,
    parse_lesson,
    parse_new_game,
    parse_retry,
)
from penumbra.server.practice import Practice

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
LARGEST_WISH = 10_000  # bytes of what a new game is asked for with
LARGEST_GAME = 4_000_000  # bytes of a game file
TRIAL_SECONDS = 3.0  # that the list of players waits for the trial of Penumbra
NEW_GAMES = (2.0, 60)  # a second, and at once, for the whole server
UNKNOWN_ORIGIN = 4403  # code of a closed socket
NO_GAME = 4404
FREE_SEAT = 4409
Number = Annotated[int, InPath(ge=0, lt=2**63)]  # of a game in the archive


@dataclass(frozen=True)
class ServerSettings:
    """How a server runs."""

    folder: Path  # of the games' logs
    archive: Path | None = None  # of games to review
    most_games: int = 64  # awake at once
    hosts: tuple[str, ...] = access.LOOPBACK  # names under which it may be reached; empty: any
    configuration: Configuration = field(default_factory=lambda: Configuration(ponder=False))
    game_memory: int = bots.GAME_MEMORY  # bytes that each Penumbra of a game may hold
    puzzles: Path | None = None  # to practise with; None: those of the package
    own_players: Mapping[str, str] = field(default_factory=dict)  # files with players of reconchess, and their titles
    keep_days: int | None = None  # for which games are kept after their last change; None: until they are deleted
    secret: bool = False  # whether a game is played by the browser alone that made it


def make_app(settings: ServerSettings, lobby: Lobby | None = None) -> FastAPI:
    """The application; `lobby` can be given by tests."""
    for path, title in settings.own_players.items():
        registry.add_file(path, title)
    client = BotClient(settings.own_players)
    games = lobby or Lobby(
        settings.folder, client, settings.configuration, settings.most_games, game_memory=settings.game_memory
    )
    new_games = Allowance(*NEW_GAMES)
    reading = asyncio.Semaphore()  # one game file is read at a time, in a thread

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        games.client.prepare()
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(games.penumbra_fault()),
            asyncio.create_task(games.watch_memory()),
        ]
        if settings.keep_days is not None:
            tasks.append(asyncio.create_task(games.forget_old_games(settings.keep_days)))
        yield
        for task in tasks:
            task.cancel()
        await games.close()

    app = FastAPI(
        title="Penumbra",
        version=penumbra.__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)
    app.add_middleware(GZipMiddleware, minimum_size=1_000)
    app.add_middleware(Guard, hosts=settings.hosts)

    async def game_file(body: bytes) -> GameRecord:
        async with reading:
            return await asyncio.to_thread(jobs.parse_game, body)

    async def game_of(wish: AboutGame) -> GameRecord:
        return await game_file(wish.file()) if wish.kept is None else games.record(wish.kept)

    @app.get("/api/about")
    async def about() -> dict[str, Any]:
        fault = ""
        with contextlib.suppress(TimeoutError):
            fault = await asyncio.wait_for(games.penumbra_fault(), TRIAL_SECONDS)
        return {
            "version": penumbra.__version__,
            "protocol": PROTOCOL,
            "players": [asdict(bot) for bot in bots.bots() if not (fault and registry.is_penumbra(bot.name))],
            "fault": f"Penumbra cannot play here: {fault}" if fault else None,
            "planes": [{"name": plane.name, "description": plane.description} for plane in PLANES],
            "archive": settings.archive is not None,
        }

    @app.post("/api/games")
    async def create(request: Request) -> Response:
        wish = parse_new_game(await body_of(request, LARGEST_WISH))
        return await begin(request, functools.partial(games.create, wish))

    @app.post("/api/retry")
    async def retry(request: Request) -> Response:
        wish = parse_retry(await body_of(request, LARGEST_GAME))
        record = await game_of(wish)
        return await begin(request, functools.partial(games.retry, wish, record))

    async def begin(request: Request, make: Callable[[str | None, str | None], Awaitable[LiveGame]]) -> Response:
        """A new game, made with its secret and its owner, and the cookies that a page needs for it."""
        if not new_games.take():
            raise Refusal("too many", "too many new games at once; try again in a moment", 429)
        secret = access.new_secret() if settings.secret else None
        person = person_of(request)
        game = await make(None if secret is None else access.digest(secret), access.owner(person))
        response = as_json({"game": game.setup.id})
        if game.setup.persons:
            remember_person(request, response, person)
        if secret is not None and game.setup.secret is not None:
            response.set_cookie(
                access.COOKIE,
                secret,
                max_age=access.COOKIE_SECONDS,
                path=f"/api/games/{game.setup.id}",
                secure=request.url.scheme == "https",
                httponly=True,
                samesite="strict",
            )
        return response

    def person_of(request: Request) -> str:
        """The cookie of whoever asks, a new one where there is none."""
        shown = request.cookies.get(access.PERSON_COOKIE)
        return shown if shown is not None and access.owner(shown) else access.new_secret()

    def remember_person(request: Request, response: Response, person: str) -> None:
        """Each game lets the cookie live on."""
        response.set_cookie(
            access.PERSON_COOKIE,
            person,
            max_age=access.PERSON_SECONDS,
            path="/api",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )

    def owner_of(request: Request) -> str | None:
        return access.owner(request.cookies.get(access.PERSON_COOKIE))

    @app.get("/api/history")
    async def history_of_person(request: Request) -> dict[str, Any]:
        owner = owner_of(request)
        listed = [] if owner is None else await asyncio.to_thread(games.history, owner)
        uploaded = [] if owner is None else await asyncio.to_thread(games.uploaded, owner)
        days = {"days": access.PERSON_SECONDS // 86_400, "kept_days": settings.keep_days}
        return {"games": listed, "uploads": uploaded, **days}

    @app.delete("/api/history")
    async def forget_person(request: Request) -> Response:
        """Everything that is known of whoever shows this cookie, the cookie included."""
        owner = owner_of(request)
        deleted = 0 if owner is None else games.delete(owner, games.histories.games(owner))
        response = as_json({"deleted": deleted})
        response.delete_cookie(access.PERSON_COOKIE, path="/api")
        return response

    @app.delete("/api/games/{game_id}")
    async def forget_game(request: Request, game_id: str) -> Response:
        owner = owner_of(request)
        if owner is None or not games.delete(owner, [game_id]):
            raise Refusal("unknown game", "there is no such game in your history", 404)
        return as_json({"deleted": 1})

    @app.get("/api/games/{game_id}/seat")
    async def free_seat(request: Request, game_id: str) -> dict[str, Any]:
        return games.free_seat(game_id, owner_of(request))

    @app.post("/api/games/{game_id}/seat")
    async def take_seat(request: Request, game_id: str) -> Response:
        person = person_of(request)
        games.take_seat(game_id, access.digest(person))
        response = as_json({"game": game_id})
        remember_person(request, response, person)
        return response

    @app.post("/api/games/{game_id}/rematch")
    async def rematch(request: Request, game_id: str) -> dict[str, Any]:
        return {"game": games.rematch(game_id, owner_of(request)).setup.id}

    @app.get("/api/games/{game_id}/ending")
    async def ending(request: Request, game_id: str) -> dict[str, Any]:
        """How a game ended, as a person who played it is told; as White is, where two programs played."""
        record, color = games.record(game_id), games.side_of(game_id, owner_of(request))
        async for facts in games.client.stream(_ending, record.to_bytes(), color):
            return dict(facts)
        raise Failed("nothing came")

    @app.post("/api/uploads")
    async def upload(request: Request) -> Response:
        """Keeps a game file, so that it can be reviewed again by its address."""
        record = await game_file(await body_of(request, LARGEST_GAME))
        if not new_games.take():
            raise Refusal("too many", "too many new games at once; try again in a moment", 429)
        person = person_of(request)
        response = as_json({"game": games.upload(record, access.digest(person))})
        remember_person(request, response, person)
        return response

    @app.get("/api/games/{game_id}/analysis")
    async def kept_analysis(game_id: str) -> Response:
        return Response(games.analysis(game_id), media_type="application/x-ndjson")

    @app.get("/api/games")
    async def finished() -> list[dict[str, Any]]:
        return await asyncio.to_thread(games.finished)

    @app.get("/api/games/{game_id}")
    async def history(game_id: str) -> Response:
        return await _game_file(games.record(game_id))

    @app.websocket("/api/games/{game_id}/socket")
    async def play(socket: WebSocket, game_id: str) -> None:
        await socket.accept()
        if not access.is_welcome(socket.headers.get("host"), socket.headers.get("origin"), settings.hosts):
            await socket.close(UNKNOWN_ORIGIN, "this server does not answer to that name or origin")
            return
        try:
            game = games.find(game_id)
        except Refusal as refusal:
            await socket.close(LATER if refusal.status in (409, 503) else NO_GAME, str(refusal))
            return
        if not (game.over or access.may_play(game.setup, socket.cookies.get(access.COOKIE))):
            await socket.close(UNKNOWN_ORIGIN, "this game is played in another browser; you can see it once it is over")
            return
        try:
            place = game.place(access.owner(socket.cookies.get(access.PERSON_COOKIE)))
        except Refusal as refusal:
            await socket.close(FREE_SEAT if refusal.code == "free" else UNKNOWN_ORIGIN, str(refusal))
            return
        await Connection(socket, place).run()

    @app.websocket("/{path:path}")
    async def nowhere(socket: WebSocket, path: str) -> None:
        await socket.accept()
        await socket.close(NO_GAME, "there is no such socket")

    @app.get("/api/lessons")
    async def all_lessons() -> list[dict[str, Any]]:
        return lessons.listed()

    @app.post("/api/lessons/{number}")
    async def lesson(request: Request, number: Annotated[int, InPath(ge=1, le=100)]) -> dict[str, Any]:
        return lessons.play(number, parse_lesson(await body_of(request, LARGEST_WISH)))

    @app.get("/api/archive")
    async def archived(before: Annotated[int | None, Query(ge=0, lt=2**63)] = None) -> list[dict[str, Any]]:
        return await asyncio.to_thread(jobs.archived_games, settings.archive, before)

    @app.get("/api/archive/{number}")
    async def archived_game(number: Number) -> Response:
        return await _game_file(await asyncio.to_thread(jobs.archived_record, settings.archive, number))

    @app.post("/api/review")
    async def review(request: Request) -> Response:
        record = await game_file(await body_of(request, LARGEST_GAME))
        games.client.expect_job()
        return _lines(jobs.review(games.client, record))

    @app.post("/api/analyse")
    async def analyse(request: Request) -> Response:
        wish = parse_analyse(await body_of(request, LARGEST_GAME))
        record = await game_of(wish)
        jobs.check_turn(record, wish.turn)
        strength = wish.strength if wish.strength != Strength() else Strength(seconds=1.0)
        configuration = bots.analyst(wish.preset, strength, settings.configuration)
        games.client.expect_job()
        items = jobs.analyse(games.client, record, configuration, wish.turn, wish.player)
        return _lines(items if wish.kept is None else games.analyses.keep(wish.kept, items, whole=wish.turn is None))

    app.include_router(Practice(settings.puzzles).routes())
    if STATIC.is_dir():
        app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


def _ending(data: bytes, color: bool) -> Iterator[dict[str, Any]]:
    """In the bot process: the player's sets of states are followed through the whole game."""
    yield explain(data, color)


async def _game_file(record: GameRecord) -> Response:
    return Response(await asyncio.to_thread(to_json, record), media_type="application/json")


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
