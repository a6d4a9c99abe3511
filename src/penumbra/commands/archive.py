"""`penumbra archive`: games in and out of an archive, and what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import file_to_write, first, folder_to_fill
from penumbra.commands.errors import Problems
from penumbra.commands.options import ArchiveFile, ArchiveToFill, AsJson, Cap, Seed, Workers, examples

if TYPE_CHECKING:
    from penumbra.core import GameRecord
    from penumbra.games.archive import Archive, ArchivedGame, NewGame
    from penumbra.games.tracking import Track
    from penumbra.games.verification import Findings

app = typer.Typer(
    help="Keep games: one compact file for any number of them, safe against interruption.",
    epilog=examples("penumbra archive import games.db demo.json", "penumbra archive verify --help"),
    rich_markup_mode=None,
)


def games_to_write(path: Path) -> None:
    """A file of lines or a folder, by its name, that can be written."""
    from penumbra.interop.game_files import is_file_of_lines

    (file_to_write if is_file_of_lines(path) else folder_to_fill)(path)


@app.command(
    "import", epilog=examples("penumbra archive import games.db demo.json", "penumbra archive import games.db folder/")
)
def import_games(
    archive: ArchiveToFill,
    paths: Annotated[
        list[Path],
        typer.Argument(help="Games as reconchess writes them: files, files of lines, folders; gzip or not."),
    ],
    source: Annotated[
        str | None, typer.Option(help="What to call the games' source.", show_default="the name of the path")
    ] = None,
) -> None:
    """Add games of reconchess.

    Broken games are named and left out; games that are already there are passed over.
    """
    from penumbra.commands.terminal.progress import progress
    from penumbra.games import archive as archives
    from penumbra.interop.game_files import find_files, read_games

    files = find_files(paths)
    problems, notes = Problems(), list[str]()
    read = 0
    with (
        archives.Archive.open_or_create(archive) as games,
        progress("import", sum(file.stat().st_size for file in files)) as bar,
    ):

        def records() -> Iterator[NewGame]:
            nonlocal read
            for file in files:
                origin = source or (file.name.partition(".")[0] if file in paths else file.parent.name)
                for record in read_games(file, problems, bar.advance, notes.append):
                    read += 1
                    yield archives.NewGame(record, origin)

        new = games.add_all(records())
        total = len(games)
    for line in notes:
        print(line)
    print(f"{archive}: {new:,} games added, {read - new:,} were known, {problems.count:,} broken; {total:,} in all")
    problems.conclude()


@app.command("export", epilog=examples("penumbra archive export games.db trout.jsonl.gz --player Trout"))
def export_games(
    archive: ArchiveFile,
    out: Annotated[
        Path,
        typer.Argument(
            help="A file of lines (.jsonl, .jsonl.gz) or a folder to write.", callback=first(games_to_write)
        ),
    ],
    player: Annotated[str | None, typer.Option(help="Only games of the player of this name.")] = None,
    source: Annotated[str | None, typer.Option(help="Only games from this source.")] = None,
) -> None:
    """Write games as reconchess does. Damaged games are named and left out."""
    from penumbra.commands.terminal.progress import progress
    from penumbra.games.archive import Archive
    from penumbra.interop.game_files import write_games

    problems = Problems()
    with Archive.open(archive, report=problems) as games, progress("export", len(games)) as bar:

        def records() -> Iterator[GameRecord]:
            for record in _playable(games, games.games(player=player, source=source), problems):
                yield record
                bar.advance(1)

        count = write_games(records(), out)
    print(f"{out}: {count:,} games")
    problems.conclude()


def _playable(archive: Archive, games: Iterable[ArchivedGame], problems: Problems) -> Iterator[GameRecord]:
    """Their records, without those that break the rules: no such game can be written as reconchess does."""
    from penumbra.games.archived_game import contradiction

    for game in games:
        problem = contradiction(game.record)
        if problem:
            problems(f"{archive.path}: {game.name}: {problem}; it is left out")
        else:
            yield game.record


@app.command(
    epilog=examples(
        "penumbra archive sample games.db --games 5", "penumbra archive sample games.db -n 5 --out five.jsonl"
    )
)
def sample(
    archive: ArchiveFile,
    games: Annotated[int, typer.Option("--games", "-n", min=1, help="How many games to draw.")] = 10,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the games to this file of lines (.jsonl, .jsonl.gz) or folder, instead of a list.",
            callback=first(games_to_write),
        ),
    ] = None,
) -> None:
    """Draw games at random."""
    from penumbra.games.archive import Archive

    problems = Problems()
    with Archive.open(archive, report=problems) as kept:
        drawn = kept.sample(games, seed)
        if out is not None:
            from penumbra.interop.game_files import write_games

            print(f"{out}: {write_games(_playable(kept, drawn, problems), out):,} games")
        else:
            for game in drawn:
                print(_listed(game))
    problems.conclude()


def _listed(game: ArchivedGame) -> str:
    result = "draw" if game.winner is None else "White wins" if game.winner else "Black wins"
    reason = "unfinished" if game.reason is None else f"{result}, {game.reason.lower().replace('_', ' ')}"
    return f"{game.id:>8}  {game.white} v {game.black}: {reason}; {game.plies} moves; {game.source}"


@app.command(epilog=examples("penumbra archive stats games.db"))
def stats(archive: ArchiveFile, as_json: AsJson = False) -> None:
    """Say what an archive holds."""
    import json

    from penumbra.games.archive import Archive
    from penumbra.games.verification import quantiles

    problems = Problems()
    with Archive.open(archive, report=problems) as games:
        found = games.statistics()
        runs = list(games.runs().values())
    if as_json:
        data = {
            "games": found.games,
            "validation": found.validation,
            "plies": {"total": sum(found.plies), "median": found.median_plies},
            "bytes": found.nbytes,
            "players": {
                name: {"wins": won, "draws": drawn, "losses": lost}
                for name, (won, drawn, lost) in found.players.items()
            },
            "reasons": found.reasons,
            "sources": found.sources,
            "runs": runs,
        }
        print(json.dumps(data, indent=1))
        problems.conclude()
        return
    each = found.nbytes / found.games if found.games else 0
    print(
        f"{found.games:,} games, {found.validation:,} of them for validation; {found.nbytes:,} bytes, {each:.0f} a game"
    )
    print(f"plies: {sum(found.plies):,} in all; {quantiles(found.plies)}")
    print("ended by: " + (", ".join(f"{name} {count:,}" for name, count in found.reasons.items()) or "none"))
    print("sources: " + (", ".join(f"{name} {count:,}" for name, count in found.sources.items()) or "none"))
    if runs:
        print("generated, run by run: " + ", ".join(f"{count:,}" for count in runs))
    width = max((len(name) for name in found.players), default=6)
    print(f"{'player':<{width}}  {'games':>8} {'won':>8} {'drawn':>8} {'lost':>8}")
    for name, (wins, draws, losses) in found.players.items():
        print(f"{name:<{width}}  {wins + draws + losses:>8,} {wins:>8,} {draws:>8,} {losses:>8,}")
    problems.conclude()


@app.command(epilog=examples("penumbra archive merge all.db games.db more.db"))
def merge(
    archive: ArchiveToFill, others: Annotated[list[Path], typer.Argument(help="Archives whose games are added.")]
) -> None:
    """Add the games of other archives; games that are already there are passed over."""
    from penumbra.games.archive import Archive

    problems = Problems()
    with Archive.open_or_create(archive) as games:
        for path in others:
            if path.absolute() == archive.absolute():
                raise ValueError(f"{path}: an archive cannot be merged into itself")
            with Archive.open(path, report=problems) as other:
                new, known, broken = games.merge(other)
            print(f"{path}: {new:,} games added, {known:,} were known, {len(broken):,} broken")
            for problem in broken:
                problems(problem)
    problems.conclude()


@app.command(epilog=examples("penumbra archive repair damaged.db saved.db"))
def repair(
    archive: Annotated[Path, typer.Argument(help="A damaged archive, which is only read.")],
    to: Annotated[Path, typer.Argument(metavar="NEW", help="The archive to make of what can be read of it.")],
) -> None:
    """Save what can be read of a damaged archive into a new one, and say what is lost.

    The exit status is 1 if anything is lost.
    """
    from penumbra.games.salvage import repair as save

    found = save(archive, to)
    problems = Problems(told=100)
    for loss in found.lost:
        problems(f"{archive}: lost: {loss}")
    print(f"{to}: {len(found.games):,} of {found.expected:,} games saved")
    problems.conclude()


@app.command(
    epilog=examples("penumbra archive verify games.db", "penumbra archive verify games.db --track --until-cut")
)
def verify(
    archive: ArchiveFile,
    track: Annotated[bool, typer.Option("--track", help="Follow both players' sets of possible states too.")] = False,
    cap: Cap = 1_000_000,
    until_cut: Annotated[
        bool, typer.Option("--until-cut", help="With --track, follow each set only until it reaches the cap.")
    ] = False,
    workers: Workers = 1,
) -> None:
    """Replay every game: its bytes, its moves and its result must agree."""
    import functools

    from penumbra.arena.pool import Pool
    from penumbra.commands.terminal.progress import progress
    from penumbra.games.archive import Archive
    from penumbra.games.verification import TrackingWorker, verify_tracking
    from penumbra.games.verification import verify as verify_games

    problems = Problems()
    with Archive.open(archive) as games, progress("verify", len(games)) as bar:
        if track:
            pool: Pool[bytes, Track | str] = Pool(functools.partial(TrackingWorker, 1, cap, until_cut), workers)
            findings = verify_tracking(games, pool, lambda: bar.advance(1))
        else:
            findings = verify_games(games, lambda: bar.advance(1))
    for problem in findings.problems:
        problems(problem)
    print(f"{archive}: {findings.games:,} games, {len(findings.problems):,} problems")
    if track:
        print(sets_line(findings, cap, until_cut))
    problems.conclude()


def sets_line(findings: Findings, cap: int, until_cut: bool) -> str:
    """What became of the sets."""
    from penumbra.games.verification import quantiles

    largest = [size for found in findings.tracks for size in found.most]
    cut = sum(flag for found in findings.tracks for flag in found.cut)
    lost = sum(flag for found in findings.tracks for flag in found.lost)
    cut_ones = "not followed further" if until_cut else f"{lost} of those lost"
    looks = sum(found.looks for found in findings.tracks)
    return (
        f"largest sets: {quantiles(largest)}; {cut} of {len(largest)} cut at {cap:,}, {cut_ones};"
        f" the truth was in the set all {looks:,} times that the set was whole"
    )
