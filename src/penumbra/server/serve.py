"""`penumbra serve`: the web application on a port of this machine."""

from __future__ import annotations

import logging
import os
import socket
import sys
from pathlib import Path

import uvicorn

from penumbra.server.application import LOOPBACK, ServerSettings, make_app

LONGEST_FRAME = 65_536  # bytes of a socket's message; beyond it the connection ends


def games_folder() -> Path:
    """Where games are kept unless another folder is named."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "penumbra" / "games"


def serve(settings: ServerSettings, host: str, port: int) -> None:
    """Until it is interrupted. A host other than this machine itself is reachable by others."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()  # whoever follows the line below is let in as soon as the server is ready
        except OSError as error:
            raise ValueError(f"{host}:{port} cannot be used: {error.strerror or error}") from None
        port = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        print(f"Penumbra is at http://{shown}:{port} (Ctrl+C ends it)", flush=True)
        if host not in LOOPBACK:
            print("Others who can reach this machine can play here too.", flush=True)
        config = uvicorn.Config(
            make_app(settings),
            log_level="warning",
            ws="websockets-sansio",
            ws_max_size=LONGEST_FRAME,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(config).run(sockets=[listening])
