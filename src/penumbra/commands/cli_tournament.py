"""The command `penumbra tournament`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def tournament(
    config: Annotated[Path, typer.Argument(help="TOML, or one that is shipped: tournament or gauntlet.")],
    archive: Annotated[Path, typer.Option(help="Where the games go; made if it is not there.")],
    games: Annotated[int | None, typer.Option(min=1, help="Of each pairing, instead of the file's.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the file's.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Instead of the file's.")] = None,
    on_error: Annotated[str | None, typer.Option(help="lose or replay, instead of the file's.")] = None,
    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Ray cluster plays; auto: the one here.")] = None,
    anchor: Annotated[
        str | None, typer.Option(metavar="NAME[=ELO]", help="A player whose rating is fixed; else the average is.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="An HTML page about it.")] = None,
) -> None:
    """Play a tournament into an archive; one that was stopped goes on where it was."""
    from penumbra.arena.tournament import pool_for
    from penumbra.arena.tournament_plan import read_tournament
    from penumbra.commands.tournament import play
    from penumbra.games.ratings import parse_anchor

    given = {"games": games, "seed": seed, "workers": workers, "on_error": on_error}
    planned = read_tournament(config, **{key: value for key, value in given.items() if value is not None})
    fixed = parse_anchor(anchor)
    if fixed[0] is not None and fixed[0] not in [player.name for player in planned.players]:
        raise ValueError(f"--anchor {anchor}: there is no such player in {config}")
    status = play(planned, archive, Console(stderr=True), pool_for(planned, ray), fixed, report)
    if status:
        raise typer.Exit(status)
