"""The games of Tables 2 to 4: variants of Penumbra against baselines, and one rating over all three tables.

A baseline is rated once for each way it is recognised: `StockyInference as Trout` is StockyInference against variants
that take it to act by the policy of the headset `Trout`; one that is not recognised acts by `Top`'s. Public programs
are given as files (`Request.baselines`) and play in processes of their own, without a clock; those that are not given
are our own kinds after them. Thinking is bounded by nodes, so that the same command plays the same games (on a GPU
almost, since there numbers depend on who asks at the same time). All games are in one archive, and a run that was
stopped plays what is missing.

A game in which a program fails is no loss of its: it is played again where all players are ours, and otherwise counted
apart and not rated.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penumbra.arena.archive_run import at_intervals
from penumbra.arena.entrants import Entrant
from penumbra.arena.game_loop import FAULTS
from penumbra.arena.match import Job
from penumbra.arena.pool import AnyPool
from penumbra.arena.score import GameResult
from penumbra.arena.tournament import Standing, outset, pool_for, run
from penumbra.arena.tournament_plan import Pairing, Tournament
from penumbra.games.archive import Archive, ArchivedGame
from penumbra.games.ratings import Ratings, rate
from penumbra.network import weights as files
from penumbra.network.inference_server import running_server
from penumbra.network.weights import WeightsError
from penumbra.players.penumbra.configuration import headset
from penumbra.players.penumbra.player import STATE_CAP
from penumbra.reproduce import published
from penumbra.reproduce.accuracy import one_network
from penumbra.reproduce.request import PROCESS, STATE, Cost, ReproductionError, Request
from penumbra.reproduce.result import Claim
from penumbra.reproduce.telling import ONE_SIDE, games_for_gap, needing

ARCHIVE = "tournament.db"
UNRECOGNISED = "unrecognized"
STEPS = 60  # of Penumbra in a game, about
STEP_SECONDS = 0.08  # of a step besides its nodes, about
NODES_A_SECOND = {"cpu": 600.0, "cuda": 2_500.0}  # of each of several workers, about
STAND_INS = {"Genetic": "DynamicEntropy"}  # headsets that the paper had and we have not
KINDS = {  # our own after the paper's baselines
    "StockyInference": "stocky-inference",
    "AggressiveTree": "aggressive-tree",
    "FullMonte": "full-monte",
    "Trout": "trout",
}


@dataclass(frozen=True)
class Baseline:
    """A baseline, and the headset it is recognised as."""

    bot: str
    recognised_as: str  # a headset, or UNRECOGNISED

    @property
    def name(self) -> str:
        return f"{self.bot} {UNRECOGNISED if self.recognised_as == UNRECOGNISED else f'as {self.recognised_as}'}"

    def entrant(self, files: Mapping[str, Path]) -> Entrant:
        """Who plays: the public program where its file is given, else our kind after it."""
        if self.bot in files:
            return PublicProgram(self.name, str(files[self.bot].resolve()))
        return Entrant(self.name, kind=KINDS[self.bot])


class PublicProgram(Entrant):
    """A player of reconchess. What it is does not depend on where its file lies."""

    def plain(self) -> dict[str, Any]:
        assert self.source is not None
        return {"name": self.name, "file": Path(self.source).name, "digest": _digest(self.source)}


@functools.cache
def _digest(path: str) -> str:
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()


def public_programs(request: Request) -> dict[str, Path]:
    """The files that are given, by the paper's names of what is in them: stocky_inference.py is StockyInference."""
    found: dict[str, Path] = {}
    for path in request.baselines:
        name = headset("auto", path.stem, tuple(KINDS))
        if name is None:
            raise ReproductionError(
                f"{path}: a file is named after the program in it, which is one of {', '.join(KINDS)}"
            )
        if not path.is_file():
            raise ReproductionError(f"{path}: there is no such file")
        if name in found:
            raise ReproductionError(f"{path} and {found[name]}: two files for {name}; each program has one")
        found[name] = path
    return found


Outcome = tuple[str, str, bool | None]  # White, Black, who won
ANCHOR = Baseline("StockyInference", "StockyInference")  # has 1500 in the paper
ANCHOR_ELO = 1500.0


def baselines() -> list[Baseline]:
    """Those of Table 2, in its order, our headsets in the place of those we have not."""
    return [
        Baseline(row["bot"], STAND_INS.get(row["recognized as"], row["recognized as"]))
        for row in published.rows("table2")
        if row["bot"] in KINDS
    ]


EVERY = tuple(baselines())
FEW = (ANCHOR, Baseline("StockyInference", UNRECOGNISED), Baseline("Trout", UNRECOGNISED))


@dataclass(frozen=True)
class Variant:
    """Penumbra with a preset and settings of its own."""

    name: str
    preset: str = "mixture"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sizes:
    games: int  # of a pairing
    nodes: int  # of Penumbra for each step
    against: tuple[Baseline, ...]
    cap: int | None = None  # states held at most
    evaluator: str = "network"
    settings: Mapping[str, Any] = field(default_factory=dict)  # of all variants, where theirs do not differ


@dataclass(frozen=True)
class League(Tournament):
    """A tournament of given meetings, where one player may have other settings against each opponent."""

    meetings: tuple[tuple[Entrant, Entrant], ...] = ()

    def pairings(self) -> list[Pairing]:
        return [self._pairing(first, second) for first, second in self.meetings]


def league(request: Request, variants: Sequence[Variant], sizes: Sizes) -> League:
    """Every variant against every baseline; WeightsError if a headset that is to be recognised is not there."""
    base: dict[str, Any] = {"evaluator": sizes.evaluator, "nodes": request.nodes or sizes.nodes}
    if sizes.cap is not None:
        base["cap"] = sizes.cap
    if sizes.evaluator == "network":
        path = one_network(request)
        check_headsets(path, sizes.against)
        base |= {"device": request.device, "weights": str(_short(path))}
    files_of = public_programs(request)
    meetings = tuple(
        (
            Entrant(
                variant.name,
                kind=f"penumbra:{variant.preset}",
                settings={
                    **base,
                    "recognize_as": "none" if baseline.recognised_as == UNRECOGNISED else baseline.recognised_as,
                    "settings": {**sizes.settings, **variant.settings},
                },
            ),
            baseline.entrant(files_of),
        )
        for variant in variants
        for baseline in sizes.against
    )
    return League(
        players=(),
        games=request.games or sizes.games,
        seed=request.seed,
        workers=request.workers,
        on_error="lose" if files_of else "replay",
        meetings=meetings,
    )


def check_headsets(path: Path, opponents: Sequence[Baseline]) -> None:
    """A headset that is missing would be taken for `Top` without a word."""
    there = _headsets(path)
    wanted = {"All", "Top", *(o.recognised_as for o in opponents if o.recognised_as != UNRECOGNISED)}
    if missing := sorted(wanted - set(there)):
        raise WeightsError(f"{path}: has no headset {', '.join(missing)}; it has {', '.join(there)}")


@functools.cache
def _headsets(path: Path) -> tuple[str, ...]:
    return files.load(path).architecture.headsets


def _short(path: Path) -> Path:
    """Relative to the working directory where it is inside, so that games are the same ones on another machine."""
    return path.resolve().relative_to(Path.cwd()) if path.resolve().is_relative_to(Path.cwd()) else path


def cost(request: Request, variants: Sequence[Variant], sizes: Sizes) -> Cost:
    """Of the games that are missing."""
    planned = league(request, variants, sizes)
    path = request.out / ARCHIVE
    count = len(planned.fixtures())
    if path.is_file():
        with Archive.open(path) as archive:
            count = len(outset(planned, archive)[0])
    nodes = request.nodes or sizes.nodes
    seconds = count * STEPS * (STEP_SECONDS + nodes / NODES_A_SECOND[request.device]) / request.workers
    memory = request.workers * (PROCESS + STATE * (sizes.cap or STATE_CAP))
    return Cost(seconds if request.minutes is None else min(seconds, 60 * request.minutes), count, memory=memory)


class ServedPool:
    """A pool whose Penumbras ask an inference server.

    The process is no part of what determines a game, so it is named here rather than in the pairings.
    """

    def __init__(self, pool: AnyPool[Job, GameResult], device: str) -> None:
        self._pool = pool
        self.at_once = pool.at_once
        self._device = device

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, GameResult | None, str]]:
        return self._pool.run(replace(job, a=self._served(job.a)) for job in jobs)

    def _served(self, who: Entrant) -> Entrant:
        return replace(who, settings={**who.settings, "device": self._device})

    def close(self) -> None:
        self._pool.close()


@contextlib.contextmanager
def pool_of(request: Request, planned: League, sizes: Sizes) -> Iterator[AnyPool[Job, GameResult]]:
    """On a GPU one inference server serves all games: batches are made of several games' questions."""
    if request.device != "cuda" or sizes.evaluator != "network":
        yield pool_for(planned)
        return
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "inference"
        with running_server(socket, str(one_network(request)), request.device) as device:
            yield ServedPool(pool_for(planned), device)


def play(request: Request, variants: Sequence[Variant], sizes: Sizes) -> None:
    """Plays what is missing; KeyboardInterrupt if that was stopped."""
    planned = league(request, variants, sizes)

    def say(standing: Standing) -> None:
        request.say(standing.line())

    request.out.mkdir(parents=True, exist_ok=True)
    with Archive.open_or_create(request.out / ARCHIVE) as archive:
        if request.minutes == 0 or not outset(planned, archive)[0]:
            return
        with pool_of(request, planned, sizes) as pool:
            standing = run(planned, archive, pool, at_intervals(10.0, say), request.minutes)
    for failure in standing.failures[:10]:
        request.say(failure)
    if standing.stopped == "interrupted":
        raise KeyboardInterrupt
    if standing.stopped:
        raise ReproductionError(standing.stopped)


def results(request: Request, variants: Sequence[Variant], sizes: Sizes) -> Counter[Outcome]:
    """All games of a table's pairings that are there, however many were asked for, but for those that a fault ended."""
    return Counter(
        (game.white, game.black, game.winner)
        for game in _games(request, variants, sizes)
        if game.settings.get("reason") not in FAULTS
    )


def faults(request: Request, variants: Sequence[Variant], sizes: Sizes) -> Counter[str]:
    """In how many games each player has crashed, hung or done what cannot be done."""
    return Counter(
        game.black if game.winner else game.white
        for game in _games(request, variants, sizes)
        if game.settings.get("reason") in FAULTS
    )


def _games(request: Request, variants: Sequence[Variant], sizes: Sizes) -> Iterator[ArchivedGame]:
    with Archive.open(request.out / ARCHIVE) as archive:
        for pairing in league(request, variants, sizes).pairings():
            for _, game in archive.games_made(pairing.run):
                yield game


def rating(found: Counter[Outcome]) -> Ratings:
    """StockyInference, recognised as itself, has 1500."""
    return rate([(*key, count) for key, count in found.items()], anchor=ANCHOR.name, anchor_elo=ANCHOR_ELO)


def stronger(found: Ratings, better: str, worse: str, paper: tuple[float, float]) -> Claim:
    """That one player is stronger than another; it cannot be told while that is less likely than 95 % either way."""
    likely = found.is_better(better, worse)
    ours = f"{found.of(better).elo:.0f} against {found.of(worse).elo:.0f}, {likely:.0%} likely"
    holds = None if 0.05 < likely < 0.95 else likely >= 0.95
    games = (found.of(better).games + found.of(worse).games) / 2
    more = games_for_gap(games, found.deviation(better, worse), paper[0] - paper[1], ONE_SIDE)
    text = f"{better} is stronger than {worse}"
    return Claim(text, f"{paper[0]:.0f} against {paper[1]:.0f}", ours, holds, *needing(more, games, "games of each"))


def shown_elo(elo: float, margin: float) -> str:
    return "–" if math.isnan(elo) else f"{elo:.0f} ± {margin:.0f}"
