"""Whatever a client says, the server answers in its own words, with a status of 400 to 499, and goes on."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from penumbra.core import GameRecord
from penumbra.games.archive import Archive, NewGame
from penumbra.interop.game_files import to_json
from penumbra.interop.history import read_record
from penumbra.players.penumbra.configuration import Configuration
from penumbra.server.access import COOKIE, HEADERS, is_welcome
from penumbra.server.application import ServerSettings, make_app
from penumbra.server.bot_client import MOST_JOBS
from penumbra.server.jobs import LONGEST
from penumbra.server.practice import Practice
from tests.server.listening import SECONDS, Socket, begin, listening, say, status
from tests.server.scripted import BASE, PASSES, Page, ScriptedBots, new_game, page, refused, server
from tests.support import DATA
from tests.support.evidence import scale

GAME = json.loads((DATA / "paper_game.json").read_text())
POSTED = [
    "/api/games",
    "/api/review",
    "/api/analyse",
    "/api/retry",
    "/api/uploads",
    f"/api/puzzles/{next(iter(Practice().listed()))['id']}",
]
HUGE = "9" * 5_000  # more digits than Python reads


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("games")
    archive = folder / "games.db"
    with Archive.create(archive) as games:
        games.add([NewGame(read_record(DATA / "paper_game.json"), "test")])
    with listening(ServerSettings(folder, archive, most_games=8), ScriptedBots(PASSES * 50)) as port:
        yield port


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No stack trace, whatever was asked."""
    yield
    assert [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.ERROR] == []


def error_of(answer: bytes) -> str:
    """The code of an error in our own words."""
    return refused(json.loads(answer.partition(b"\r\n\r\n")[2]))


def length(body: bytes) -> str:
    return f"Content-Length: {len(body)}"


@pytest.mark.parametrize("host", ["[", "]", "[::1", "localhost:", "localhost:99999999", "a b", "\xff", "", "http://["])
def test_a_host_that_is_no_name_is_refused(port: int, host: str) -> None:
    answer = say(port, "GET /api/about HTTP/1.1", f"Host: {host}")
    assert 400 <= status(answer) < 500


@pytest.mark.parametrize("origin", ["http://[", "http://]", "null", "", "\xff", "http://localhost:x", "localhost"])
def test_an_origin_that_is_no_page_of_ours_is_refused(port: int, origin: str) -> None:
    for line in ("GET /api/about HTTP/1.1", "GET / HTTP/1.1"):
        answer = say(port, line, "Host: localhost", f"Origin: {origin}")
        assert status(answer) == 403 and error_of(answer) == "origin"


def test_names_and_origins() -> None:
    local = ("localhost", "127.0.0.1", "::1")
    for host in ("localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "[::1]"):
        assert is_welcome(host, None, local)
        assert is_welcome(host, f"http://{host}", local) and is_welcome(host, f"https://{host}", local)
        assert not is_welcome(host, "http://evil.example", local)
    for stranger in (
        "evil.example",
        "localhost.evil.example",
        "[::2]",
        "",
        None,
        "localhost@evil.example",
        "localhost/",
    ):
        assert not is_welcome(stranger, None, local)
    assert is_welcome("chess.example.org", None, ()) and not is_welcome("[", None, ())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/archive/99999999999999999999", 400),
        ("/api/archive/-1", 400),
        ("/api/archive/x", 400),
        (f"/api/archive/{HUGE}", 400),
        ("/api/archive/9223372036854775807", 404),
        ("/api/archive?before=99999999999999999999", 400),
        ("/api/archive?before=x", 400),
        ("/%00", 404),
        ("/%ff%fe", 404),
        ("/..%2f..%2f..%2fetc%2fpasswd", 404),
        ("/" + "a" * 5_000, 404),
        ("/api/games/%00", 404),
        ("/api/nothing", 404),
        ("/openapi.json", 404),
    ],
)
def test_addresses_of_nothing(port: int, path: str, expected: int) -> None:
    answer = say(port, f"GET {path} HTTP/1.1", "Host: localhost")
    assert status(answer) == expected and error_of(answer)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "BREW"])
def test_methods_that_nothing_takes(port: int, method: str) -> None:
    for path in ("/", "/api/about", "/api/games"):
        answer = say(port, f"{method} {path} HTTP/1.1", "Host: localhost")
        assert status(answer) == 405 and error_of(answer) == "unknown request"


def bodies() -> Iterator[tuple[str, str]]:
    """Where to post, and what cannot be meant."""
    for name in ("\\ud800", "\\udfff\\ud800", "\\u0000"):
        yield "/api/games", f'{{"mode": "play", "opponent": {{"player": "{name}"}}}}'
        game = json.dumps(GAME | {"white_name": "NAME"}).replace("NAME", name)
        if name != "\\u0000":
            yield "/api/review", game
            yield "/api/analyse", f'{{"game": {game}}}'
    for value in (HUGE, "NaN", "1e999", "[" * 900 + "]" * 900, '{"type": "Move", "value": "\\ud800"}', '"\\ud800"'):
        for key in (
            "senses",
            "sense_results",
            "requested_moves",
            "capture_squares",
            "fens_before_move",
            "winner_color",
        ):
            game = json.dumps(GAME | {key: "VALUE"}).replace('"VALUE"', value)
            listed = json.dumps(GAME | {key: {"true": ["VALUE"], "false": []}}).replace('"VALUE"', value)
            yield "/api/review", game
            yield "/api/review", listed
        yield "/api/analyse", f'{{"game": {{"type": "GameHistory", "white_name": {value}}}}}'
        yield "/api/analyse", f'{{"game": {{}}, "turn": {value}}}'
        yield "/api/retry", f'{{"game": {{}}, "step": {value}, "opponent": {{"player": "random"}}}}'
        yield "/api/retry", f'{{"game": {{"type": {value}}}, "step": 0, "opponent": {{"player": "random"}}}}'
        yield POSTED[-1], f'{{"square": {value}}}'
        yield POSTED[-1], f'{{"move": {value}}}'
        yield "/api/games", f'{{"mode": "play", "opponent": {{"player": {value}}}}}'
        yield "/api/games", f'{{"mode": "play", "opponent": {{"player": "random"}}, "clock": {{"seconds": {value}}}}}'
    changed = json.loads(json.dumps(GAME))
    changed["fens_after_move"]["true"][0] = "\ud800"
    yield "/api/review", json.dumps(changed)


def test_bodies_that_cannot_be_meant(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        for path, body in bodies():
            answer = client.post(path, content=body)
            assert 400 <= answer.status_code < 500, (path, body[:200], answer.text)
            assert refused(answer.json()), body[:200]
        assert not list(tmp_path.glob("*.jsonl"))


def test_a_turn_that_a_game_does_not_have_is_refused_before_it_is_played_through(tmp_path: Path) -> None:
    class NoJobs(ScriptedBots):
        def stream(self, *arguments: Any) -> Any:
            raise AssertionError

    with TestClient(make_app(ServerSettings(tmp_path)), base_url=BASE) as client:
        answer = client.post("/api/analyse", json={"game": GAME, "turn": 1_000})
    assert answer.status_code == 400 and "there is no turn 1000" in answer.json()["message"]


def test_games_of_thousands_of_turns_are_not_reviewed(tmp_path: Path) -> None:
    record = GameRecord()
    for _ in range(LONGEST + 2):
        record.add_turn(None, 0)
    with server(tmp_path) as client:
        answer = client.post("/api/review", content=to_json(record))
        assert answer.status_code == 400 and "2,002 turns" in answer.json()["message"]


def test_a_client_that_hangs_up_in_the_middle_of_a_body_leaves_nothing_behind(port: int) -> None:
    for path in POSTED:
        with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
            client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{{".encode())
    for path in ("/api/games", "/api/review"):
        with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
            client.sendall(
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab".encode()
            )
    time.sleep(0.1)
    assert status(say(port, "GET /api/games HTTP/1.1", "Host: localhost")) == 200


def test_a_client_that_does_not_wait_for_its_answer_leaves_nothing_behind(tmp_path: Path) -> None:
    class Slow(ScriptedBots):
        async def try_out(self, name: str, configuration: Configuration) -> None:
            await asyncio.sleep(0.3)

    with listening(ServerSettings(tmp_path), Slow(PASSES)) as port:
        for line in ("GET /api/about HTTP/1.1", "GET /penumbra.js HTTP/1.1"):
            with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
                client.sendall(f"{line}\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(0.5)
        assert status(say(port, "GET /api/about HTTP/1.1", "Host: localhost")) == 200


def test_sockets_of_nothing_are_closed(port: int) -> None:
    for path in ("/", "/api/about", "/api/games/x/socket", "/api/games//socket", "/%00", "/a/b/c"):
        with connect(f"ws://127.0.0.1:{port}{path}") as opened, pytest.raises(ConnectionClosed) as closed:
            opened.recv(SECONDS)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4404


@pytest.mark.parametrize(
    "frame",
    [
        b"\x81\x82\0\0\0\0\xff\xfe",  # text that is none
        b"\x88\x81\0\0\0\0\x03",  # half a code
        b"\xf1\x80\0\0\0\0",  # bits that nobody has agreed on
        b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",  # 2^63 bytes
        b"\x01\x81\0\0\0\0{",  # a message that never ends
        b"\x81\x02{}",  # not masked
        b"\x83\x80\0\0\0\0",
        b"\x89\xfe\x00\xff\0\0\0\0" + b"x" * 255,  # a ping that is too long
    ],
)
def test_broken_frames_end_their_own_connection_alone(port: int, frame: bytes) -> None:
    game = begin(port)
    handshake = (
        f"GET /api/games/{game}/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    with Socket(port, game) as neighbour, socket.create_connection(("127.0.0.1", port), SECONDS) as client:
        step = neighbour.receive()["state"]["step"]
        client.sendall(handshake.encode() + frame)
        client.recv(65_536)
        assert neighbour.send(type="sense", step=step, square="e7")["event"]["square"] == "e7"


def test_no_more_jobs_wait_than_the_page_is_told(tmp_path: Path) -> None:
    class Busy(ScriptedBots):
        def __init__(self) -> None:
            super().__init__([])
            self._jobs = MOST_JOBS

    with listening(ServerSettings(tmp_path), Busy()) as port:
        body = json.dumps(GAME).encode()
        answer = say(port, "POST /api/review HTTP/1.1", "Host: localhost", length(body), body=body)
        assert status(answer) == 503 and error_of(answer) == "busy"


def test_every_answer_keeps_the_page_to_itself(port: int) -> None:
    for line in ("GET / HTTP/1.1", "GET /api/about HTTP/1.1", "GET /nothing HTTP/1.1", "PUT / HTTP/1.1"):
        for host in ("localhost", "evil.example"):
            head = say(port, line, f"Host: {host}").partition(b"\r\n\r\n")[0].decode().lower()
            for name, value in HEADERS.items():
                assert f"{name}: {value}".lower() in head.split("\r\n"), (line, host, name)
            assert "\r\nserver:" not in head


def test_a_game_with_a_secret_is_played_by_its_browser_alone(tmp_path: Path) -> None:
    bots = ScriptedBots(PASSES)
    with listening(ServerSettings(tmp_path, secret=True), bots) as port:
        wish = json.dumps({"mode": "play", "opponent": {"player": "random"}, "color": "white"}).encode()
        lines = ("POST /api/games HTTP/1.1", "Host: localhost", length(wish))
        answer = say(port, *lines, body=wish)
        head, _, body = answer.decode().partition("\r\n\r\n")
        game = json.loads(body)["game"]
        cookie = next(line for line in head.split("\r\n") if line.lower().startswith(f"set-cookie: {COOKIE}"))[12:]
        secret, _, attributes = cookie.partition("; ")
        assert secret.startswith(f"{COOKIE}=") and "secret" not in body and "Secure" not in attributes
        proxied = say(port, *lines, "X-Forwarded-Proto: https", body=wish)
        assert b"; Secure" in proxied
        for attribute in ("HttpOnly", "SameSite=strict", f"Path=/api/games/{game}"):
            assert attribute in attributes.split("; ")
        log = (tmp_path / f"{game}.jsonl").read_text()
        assert secret.partition("=")[2] not in log
        for headers in ({}, {"Cookie": f"{COOKIE}=x"}, {"Cookie": f'{COOKIE}="\xe9'}):
            with Socket(port, game, **headers) as stranger, pytest.raises(ConnectionClosed) as closed:
                stranger.receive()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 4403
        with Socket(port, game, Cookie=secret) as person:
            step = person.receive()["state"]["step"]
            assert person.send(type="sense", step=step, square="e7")["event"]["square"] == "e7"
            person.send(type="resign")
            with Socket(port, game) as stranger:
                assert stranger.receive()["state"]["phase"] == "over"


# -- at random

ODD = ["[", "]", "\x7f", "é", "ÿ", "%00", "..", "//", ":", "@", "\t", "'", '"', ";", "localhost", "http://"]
WORDS = st.lists(st.one_of(st.sampled_from(ODD), st.text(string.printable.strip(), max_size=8)), max_size=5).map(
    "".join
)
NAMES = st.sampled_from(
    [
        "Origin",
        "Range",
        "If-Modified-Since",
        "If-None-Match",
        "Cookie",
        "Accept-Encoding",
        "Content-Type",
        "X-Y",
        "Expect",
    ]
)
PATHS = st.sampled_from(
    ["/", "/api/about", "/api/games", "/api/games/", "/api/archive", "/api/archive/", "/penumbra.js"]
)


@settings(deadline=None, max_examples=scale(100, 5_000), suppress_health_check=list(HealthCheck))
@given(PATHS, WORDS, st.lists(st.tuples(NAMES, WORDS), max_size=3), st.sampled_from(["GET", "HEAD", "POST", "BREW"]))
@example("/penumbra.js", "", [("Range", "bytes=-"), ("Range", "bytes=0-0,9-1")], "GET")
def test_any_header_and_path(port: int, start: str, rest: str, headers: list[tuple[str, str]], method: str) -> None:
    lines = [f"{name}: {value}" for name, value in headers]
    answer = say(port, f"{method} {start}{rest.replace(' ', '')} HTTP/1.1", "Host: localhost", *lines)
    assert answer and status(answer) < 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["random", "play"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["mode", "opponent", "player", "color", "clock", "seconds", "strength", "game", "type"]),
            inner,
        )
    ),
    max_leaves=10,
)


@settings(deadline=None, max_examples=scale(100, 5_000), suppress_health_check=list(HealthCheck))
@given(st.sampled_from(POSTED), JSON | st.binary(max_size=50))
def test_any_body(port: int, path: str, body: object) -> None:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = say(port, f"POST {path} HTTP/1.1", "Host: localhost", length(sent), body=sent)
    assert 400 <= status(answer) < 500 and error_of(answer)


VALUES: list[Any] = [None, True, -1, 64, 10**30, 0.5, "", "e2e4", "\ud800", [], {}, [[]], {"type": "Move"}]


def changed_game(rng: random.Random) -> bytes:
    """A game file in which something is not as it was."""
    game = json.loads(json.dumps(GAME))
    for _ in range(rng.choice((1, 1, 3))):
        at = game
        while isinstance(at, (dict, list)) and at:
            key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
            if rng.random() < 0.25 or not isinstance(at[key], (dict, list)):
                at[key] = rng.choice(
                    [None, True, -1, 64, 10**30, 0.5, "", "e2e4", "\ud800", [], {}, [[]], {"type": "Move"}]
                )
                break
            at = at[key]
    text = json.dumps(game).encode()
    cut = rng.randrange(len(text)) if rng.random() < 0.2 else len(text)
    return text[:cut]


def test_any_change_of_a_game_file(tmp_path: Path) -> None:
    """It is reviewed or refused."""
    rng = random.Random(1)
    with server(tmp_path) as client:
        for _ in range(scale(60, 3_000)):
            body = changed_game(rng)
            answer = client.post("/api/review", content=body)
            assert answer.status_code in (200, 400), body[-300:]


MESSAGES = JSON | st.fixed_dictionaries(
    {"type": st.sampled_from(["sense", "move", "resign", "assist", "pace", "step"])},
    optional={
        "step": st.integers() | st.none(),
        "square": st.text(max_size=2),
        "move": st.text(max_size=5),
        "on": JSON,
    },
)


@settings(deadline=None, max_examples=scale(100, 5_000), suppress_health_check=list(HealthCheck))
@given(message=MESSAGES | st.text(max_size=50) | st.binary(max_size=20))
def test_any_message(person: Page, message: object) -> None:
    """Each is answered, by an error or by what the game has come to."""
    if isinstance(message, bytes):
        person.socket.send_bytes(message)
        answer = person.receive()
    else:
        answer = person.send(message if isinstance(message, str) else json.dumps(message))
    assert answer["type"] in ("error", "update", "assistance")


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with server(tmp_path_factory.mktemp("games"), PASSES) as client, page(client, new_game(client)) as person:
        yield person
