"""`penumbra serve`: the web application on a port of this machine."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import logging
import socket
import sys

import uvicorn
from fastapi import FastAPI

from penumbra.server.application import ServerSettings, make_app
from penumbra.server.memory import collect_often, return_freed

LONGEST_FRAME = 65_536  # bytes of a socket's message; beyond it the connection ends
PORTS_TRIED = 20  # after one that is in use
CONNECTIONS = 200  # at the same time, and two more for each game; others are told to come back (503)


def is_public(host: str) -> bool:
    """Whether others than this machine can reach an address of it."""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def serve(settings: ServerSettings, host: str, port: int) -> None:
    """Until it is interrupted. A host other than this machine itself is reachable by others."""
    return_freed()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with listening_socket(family) as listening:
        try:
            listening.bind((host, port))
            listening.listen()  # whoever follows the line below is let in as soon as the server is ready
        except OSError as error:
            free = f"; port {_free_port(family, host, port)} is free" if error.errno == errno.EADDRINUSE else ""
            raise ValueError(f"{host}:{port} cannot be used: {error.strerror or error}{free}") from None
        port = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        print(f"Penumbra is at http://{shown}:{port} (Ctrl+C ends it)", flush=True)
        if is_public(host):
            print("Others who can reach this machine can play here too; each game belongs to its browser.", flush=True)
        server = uvicorn.Server(uvicorn_config(make_app(settings), settings.most_games))
        collect_often()
        server.run(sockets=[listening])


def listening_socket(family: socket.AddressFamily) -> socket.socket:
    """A socket to listen on. What it lets in sends at once: an answer in two parts would otherwise wait 40 ms."""
    door = socket.socket(family, proto=socket.IPPROTO_TCP)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return door


def _free_port(family: socket.AddressFamily, host: str, port: int) -> int:
    """The next port after this one that is free, or any."""
    for candidate in (*range(port + 1, min(port + PORTS_TRIED, 65_535) + 1), 0):
        with contextlib.suppress(OSError), listening_socket(family) as door:
            door.bind((host, candidate))
            return int(door.getsockname()[1])
    return 0


def uvicorn_config(app: FastAPI, most_games: int) -> uvicorn.Config:
    """How the application is served, with the limits that hold before it hears of anything."""
    return uvicorn.Config(
        app,
        log_level="warning",
        log_config=None,  # as everything else is logged
        ws="websockets-sansio",
        ws_max_size=LONGEST_FRAME,
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=CONNECTIONS + 2 * most_games,
    )
