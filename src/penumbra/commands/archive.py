"""`penumbra archive`: games in and out of an archive, and what is in it."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from penumbra.arena.pool import Pool
from penumbra.core import GameRecord
from penumbra.games.archive import Archive, NewGame
from penumbra.games.tracking import Track
from penumbra.games.verification import Findings, TrackingWorker, quantiles, verify_tracking
from penumbra.games.verification import verify as verify_games

TROUBLES = 20  # broken games that are told of one by one


def import_games(archive: Path, paths: list[Path], source: str | None) -> bool:
    """Adds games of reconchess, passing over what is broken or known; False if something was broken."""
    from penumbra.interop.game_files import find_files, read_games

    files = find_files(paths)
    troubles = _Troubles()
    read = 0
    with (
        Archive.open_or_create(archive) as games,
        _bar("import", sum(file.stat().st_size for file in files)) as advance,
    ):

        def records() -> Iterator[NewGame]:
            nonlocal read
            for file in files:
                origin = source or (file.name.partition(".")[0] if file in paths else file.parent.name)
                for record in read_games(file, troubles, advance):
                    read += 1
                    yield NewGame(record, origin)

        new = games.add_all(records())
        total = len(games)
    print(f"{archive}: {new:,} games added, {read - new:,} were known, {troubles.count:,} broken; {total:,} in all")
    return troubles.conclude()


def export_games(archive: Path, out: Path, player: str | None, source: str | None) -> None:
    """Writes games as reconchess does."""
    from penumbra.interop.game_files import write_games

    with Archive.open(archive) as games, _bar("export", len(games)) as advance:
        count = write_games(_records(games, player, source, advance), out)
    print(f"{out}: {count:,} games")


def sample(archive: Path, n: int, seed: int, out: Path | None) -> None:
    """Lists games drawn at random, or writes them as `export_games` does."""
    with Archive.open(archive) as games:
        drawn = games.sample(n, seed)
        if out is not None:
            from penumbra.interop.game_files import write_games

            print(f"{out}: {write_games((game.record for game in drawn), out):,} games")
            return
        for game in drawn:
            result = "draw" if game.winner is None else "White wins" if game.winner else "Black wins"
            reason = "unfinished" if game.reason is None else f"{result}, {game.reason.lower().replace('_', ' ')}"
            print(f"{game.id:>8}  {game.white} v {game.black}: {reason}; {game.plies} moves; {game.source}")


def stats(archive: Path, as_json: bool) -> None:
    """Says what an archive holds."""
    with Archive.open(archive) as games:
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


def merge(archive: Path, others: list[Path]) -> bool:
    """Adds the games of other archives; False if some of them were broken."""
    troubles = _Troubles()
    with Archive.open_or_create(archive) as games:
        for path in others:
            if path.absolute() == archive.absolute():
                raise ValueError(f"{path}: an archive cannot be merged into itself")
            with Archive.open(path) as other:
                new, known, broken = games.merge(other)
            print(f"{path}: {new:,} games added, {known:,} were known, {len(broken):,} broken")
            for problem in broken:
                troubles(problem)
    return troubles.conclude()


def verify(archive: Path, track: bool, cap: int, workers: int, until_cut: bool = False) -> bool:
    """Replays every game, and follows its sets if wished; False if something is wrong."""
    troubles = _Troubles()
    with Archive.open(archive) as games, _bar("verify", len(games)) as advance:
        if track:
            pool: Pool[bytes, Track | str] = Pool(functools.partial(TrackingWorker, 1, cap, until_cut), workers)
            findings = verify_tracking(games, pool, lambda: advance(1))
        else:
            findings = verify_games(games, lambda: advance(1))
    for problem in findings.problems:
        troubles(problem)
    print(f"{archive}: {findings.games:,} games, {len(findings.problems):,} problems")
    if track:
        print(sets_line(findings, cap, until_cut))
    return troubles.conclude()


def sets_line(findings: Findings, cap: int, until_cut: bool) -> str:
    """What became of the sets."""
    largest = [size for found in findings.tracks for size in found.most]
    cut = sum(flag for found in findings.tracks for flag in found.cut)
    lost = sum(flag for found in findings.tracks for flag in found.lost)
    cut_ones = "not followed further" if until_cut else f"{lost} of those lost"
    looks = sum(found.looks for found in findings.tracks)
    return (
        f"largest sets: {quantiles(largest)}; {cut} of {len(largest)} cut at {cap:,}, {cut_ones};"
        f" the truth was in the set all {looks:,} times that the set was whole"
    )


class _Troubles:
    """Broken games: the first ones are told of, all are counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, trouble: object) -> None:
        self.count += 1
        if self.count <= TROUBLES:
            print(f"penumbra: {trouble}", file=sys.stderr)

    def conclude(self) -> bool:
        """Whether there were none."""
        if self.count > TROUBLES:
            print(f"penumbra: and {self.count - TROUBLES:,} more", file=sys.stderr)
        return self.count == 0


def _records(
    games: Archive, player: str | None, source: str | None, advance: Callable[[int], None]
) -> Iterator[GameRecord]:
    for game in games.games(player=player, source=source):
        yield game.record
        advance(1)


@contextlib.contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda steps: None
        return
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda steps: progress.advance(task, steps)
