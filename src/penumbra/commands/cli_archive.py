"""The commands about archives of games: `penumbra archive`, `penumbra generate` and `penumbra rate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

archive = typer.Typer(help="Keep games: one file, compact, safe against interruption.", rich_markup_mode=None)

ArchiveFile = Annotated[Path, typer.Argument(help="An archive of games.")]
Grown = Annotated[Path, typer.Argument(help="An archive of games; made if it is not there.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one object.")]


@archive.command("import")
def import_games(
    archive: Grown,
    paths: Annotated[list[Path], typer.Argument(help="Games as reconchess writes them: files, lines, folders, gzip.")],
    source: Annotated[str | None, typer.Option(help="Where they come from; by default the name of the path.")] = None,
) -> None:
    """Add games of reconchess; what is broken is told, what is known passed over."""
    from penumbra.commands.archive import import_games as add

    _succeed(add(archive, paths, source))


@archive.command("export")
def export_games(
    archive: ArchiveFile,
    out: Annotated[Path, typer.Argument(help="A file of lines (.jsonl, .jsonl.gz), or a folder.")],
    player: Annotated[str | None, typer.Option(help="Only games of this player.")] = None,
    source: Annotated[str | None, typer.Option(help="Only games that came from here.")] = None,
) -> None:
    """Write games as reconchess does."""
    from penumbra.commands.archive import export_games as write

    write(archive, out, player, source)


@archive.command()
def stats(archive: ArchiveFile, as_json: AsJson = False) -> None:
    """Say what an archive holds."""
    from penumbra.commands.archive import stats as show

    show(archive, as_json)


@archive.command()
def merge(
    archive: Grown, others: Annotated[list[Path], typer.Argument(help="Archives whose games are added.")]
) -> None:
    """Add the games of other archives; those that are known are passed over."""
    from penumbra.commands.archive import merge as add

    _succeed(add(archive, others))


@archive.command()
def verify(
    archive: ArchiveFile,
    track: Annotated[bool, typer.Option("--track", help="Follow both players' sets of states too.")] = False,
    cap: Annotated[int, typer.Option(min=10, help="States tracked at most.")] = 1_000_000,
    until_cut: Annotated[bool, typer.Option("--until-cut", help="Each set no further than the cap.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Games tracked at the same time.")] = 1,
) -> None:
    """Replay every game: its bytes, its moves and its result must agree."""
    from penumbra.commands.archive import verify as look

    _succeed(look(archive, track, cap, workers, until_cut))


@archive.command()
def sample(
    archive: ArchiveFile,
    games: Annotated[int, typer.Option("--games", "-n", min=1, help="How many.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed draws the same games.")] = 0,
    out: Annotated[Path | None, typer.Option(help="As for export; without it the games are listed.")] = None,
) -> None:
    """Draw games at random."""
    from penumbra.commands.archive import sample as draw

    draw(archive, games, seed, out)


def generate(
    config: Annotated[Path, typer.Argument(help="TOML, or one that is shipped: population or variants.")],
    archive: Annotated[Path, typer.Option(help="Where the games go; made if it is not there.")],
    games: Annotated[int | None, typer.Option(min=1, help="Instead of the file's.")] = None,
    minutes: Annotated[float | None, typer.Option(min=0, help="Instead of the file's.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the file's.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Instead of the file's.")] = None,
    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Ray cluster plays; auto: the one here.")] = None,
) -> None:
    """Play a population against itself into an archive; a run that was stopped goes on where it was."""
    from penumbra.arena.generate import pool_for
    from penumbra.arena.population import read_population
    from penumbra.commands.generate import generate as play

    given = {"games": games, "minutes": minutes, "seed": seed, "workers": workers}
    changes = {key: value for key, value in given.items() if value is not None}
    population = read_population(config, **changes)
    status = play(population, archive, Console(stderr=True), pool_for(population, ray))
    if status:
        raise typer.Exit(status)


def rate(
    archives: Annotated[list[Path], typer.Argument(help="Archives of games; one that is in several counts once.")],
    anchor: Annotated[
        str | None, typer.Option(metavar="NAME[=ELO]", help="A player whose rating is fixed; else the average is.")
    ] = None,
    elo: Annotated[float, typer.Option(help="Of the average player, or of an anchor named without it.")] = 1500.0,
    prior: Annotated[float, typer.Option(min=0.01, help="Virtual games of each player, half of them won.")] = 2.0,
    as_json: AsJson = False,
) -> None:
    """Rate the players of archives: Elo with 95 % intervals, who is better how surely, and who is in the top third."""
    from penumbra.commands.generate import show_ratings
    from penumbra.games.archive import results_of
    from penumbra.games.ratings import parse_anchor
    from penumbra.games.ratings import rate as fit

    name, fixed = parse_anchor(anchor, elo)
    show_ratings(fit(results_of(archives), prior=prior, anchor=name, anchor_elo=fixed), as_json)


def _succeed(good: bool) -> None:
    if not good:
        raise typer.Exit(1)
