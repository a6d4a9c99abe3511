"""`penumbra serve`: the web page on which to play, watch and review games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.checks import file_to_read, first
from penumbra.commands.options import Config, examples

EXAMPLES = examples(
    "penumbra serve",
    "penumbra serve --port 9000 --ponder",
    "penumbra serve --bot my_bot.py",
    "penumbra serve --public --host 0.0.0.0 --name chess.example.org",
)


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for other machines, with --public.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any that is free.")] = 8000,
    data: Annotated[
        Path | None, typer.Option(help="The folder in which games are kept.", show_default="one in your home")
    ] = None,
    archive: Annotated[Path | None, typer.Option(help="An archive of games to review on the page.")] = None,
    puzzles: Annotated[
        Path | None,
        typer.Option(
            help="A file of `penumbra puzzles` to practise with.",
            show_default="those of this package",
            callback=first(file_to_read),
        ),
    ] = None,
    config: Config = None,
    ponder: Annotated[bool, typer.Option("--ponder", help="Penumbra thinks during its opponent's turn too.")] = False,
    public: Annotated[
        bool,
        typer.Option("--public", help="Others may reach this server; a game belongs to the browser that began it."),
    ] = False,
    active_games: Annotated[int, typer.Option(min=1, help="How many games can be in memory at the same time.")] = 64,
    game_memory: Annotated[int, typer.Option(min=8, help="Megabytes that Penumbra may use in each game.")] = 128,
    bot: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A file with a reconchess player of your own, to play and watch; may be repeated."
        ),
    ] = None,
    keep_days: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Delete games, uploads and analyses so many days after their last change.",
            show_default="they are kept until their owners delete them",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A host name under which the server may be reached; may be repeated."),
    ] = None,
) -> None:
    """Play, watch and review games in the browser."""
    import dataclasses
    import os

    from penumbra.arena.entrants import entrant
    from penumbra.games.archive import Archive
    from penumbra.players import registry
    from penumbra.players.penumbra.configuration import from_environment, from_file
    from penumbra.server.access import LOOPBACK
    from penumbra.server.application import ServerSettings
    from penumbra.server.games_folder import games_folder
    from penumbra.server.serve import is_public
    from penumbra.server.serve import serve as run

    if is_public(host) and not public:
        raise ValueError(f"{host}: other machines could connect; add --public if they may, or leave out --host")

    if archive is not None:
        Archive.open(archive).close()
    own_players = {}
    for path in bot or ():
        title = entrant(str(path)).title or path.stem
        registry.add_file(path, title)
        own_players[str(path.resolve())] = title
    base = from_file(config) if config is not None else from_environment(os.environ)
    configuration = dataclasses.replace(base, ponder=ponder)
    hosts = (*LOOPBACK, *(word.lower() for word in name or ())) if not is_public(host) or name else ()
    folder = data or games_folder()
    memory = game_memory * 1_000_000
    settings = ServerSettings(
        folder, archive, active_games, hosts, configuration, memory, puzzles, own_players, keep_days, public
    )
    run(settings, host, port)
