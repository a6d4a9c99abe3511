"""`penumbra connect`: plays on a server of reconchess."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.errors import when_interrupted
from penumbra.commands.options import Config, examples

EXAMPLES = examples(
    "penumbra connect --username MyBot --games 2",
    "PENUMBRA_PASSWORD=secret penumbra connect http://127.0.0.1:5000 --username MyBot",
)


def connect(
    url: Annotated[str, typer.Argument(help="The server's address.")] = "https://rbc.jhuapl.edu",
    username: Annotated[str, typer.Option(help="The account that plays; asked for where it is missing.")] = "",
    password: Annotated[
        str, typer.Option(help="Its password; asked for where it is missing.", envvar="PENUMBRA_PASSWORD")
    ] = "",
    games_at_once: Annotated[int, typer.Option("--games", min=1, help="How many games to play at the same time.")] = 1,
    ranked: Annotated[bool, typer.Option("--ranked", help="Take part in ranked games.")] = False,
    data: Annotated[Path, typer.Option(help="The folder in which games are kept while they are played.")] = Path(
        "remote-games"
    ),
    config: Config = None,
) -> None:
    """Play on a server of reconchess, where others invite Penumbra to games.

    Every step of a game is kept in the folder. After an interruption, of whatever kind, the same command goes on with
    the games that are not over; their clocks run meanwhile. With several games at a time one inference server evaluates
    for all of them.
    """
    import contextlib
    import dataclasses
    import logging
    import os
    import signal
    import sys
    import tempfile

    from penumbra.arena.remote_games import FORMAT, LOG, Account, RemoteGames
    from penumbra.core import threads
    from penumbra.network.inference_server import running_server
    from penumbra.players.penumbra.configuration import from_environment, from_file, to_table

    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url}: a server's address begins with https:// or http://")
    if not (username and password) and not sys.stdin.isatty():
        raise ValueError("there is nobody to ask: give --username, and --password or PENUMBRA_PASSWORD")
    username = username or typer.prompt("Username")
    password = password or typer.prompt("Password", hide_input=True)
    data.mkdir(parents=True, exist_ok=True)
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr), logging.FileHandler(data / LOG)]
    logging.basicConfig(level=logging.INFO, format=FORMAT, handlers=handlers)
    configuration = from_file(config) if config is not None else from_environment(os.environ)
    shared = games_at_once > 1 and configuration.evaluator == "network" and ":" not in configuration.device
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with when_interrupted("the same command goes on with games that are not over"), contextlib.ExitStack() as stack:
        alone = configuration
        if shared:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            device = stack.enter_context(
                running_server(f"{folder}/inference", configuration.weights, configuration.device, threads())
            )
            configuration = dataclasses.replace(configuration, device=device, weights=None)
        account = Account(url.rstrip("/"), username, password)
        RemoteGames(account, data, games_at_once, to_table(configuration), to_table(alone)).run(ranked)
