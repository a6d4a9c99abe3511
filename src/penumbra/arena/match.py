"""A match: two entrants, colours alternating, games side by side in worker processes, every game accounted for."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penumbra.arena.entrants import Entrant, PlayerPool
from penumbra.arena.game_loop import CannotStart, Clock, play, rehearse
from penumbra.arena.opening import with_opening
from penumbra.arena.pool import Pool, threads_for_each
from penumbra.arena.score import GameResult, Score
from penumbra.arena.sprt import Sprt
from penumbra.core import GameRecord, set_threads
from penumbra.games.visits import pack
from penumbra.players.penumbra.player import PenumbraPlayer, searches_of
from penumbra.players.player import Player
from penumbra.rbc.actions import code_to_uci, square_name, view, view_code
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.walk import walk
from penumbra.whole_files import WriteError, write_text

KEPT = "the games before it are kept"


class MatchStopped(WriteError):
    """Games could not be written any further; the match ended with those that were played."""

    def __init__(self, why: str, score: Score) -> None:
        super().__init__(why)
        self.score = score


HARNESS, CANNOT_START, REHEARSAL = "harness", "cannot start", "rehearsal"  # reasons of what is no game


@dataclass(frozen=True)
class Match:
    """What is to be played. `out` is a folder for the games; `record` adds Penumbra's decisions to them.

    With a sequential test the match ends as soon as it is clear, and `games` are the most that are played. Each game
    begins with `opening_plies` moves at random; every two games have the same, with colours exchanged.
    """

    a: Entrant
    b: Entrant
    games: int
    clock: Clock
    workers: int = 1
    seed: int = 0
    out: Path | None = None
    record: bool = False
    sprt: Sprt | None = None
    opening_plies: int = 0

    def is_clear(self, score: Score) -> bool:
        return self.sprt is not None and self.sprt.verdict(*score.tally) is not None

    def job(self, number: int) -> Job:
        """The game of that number, from 0."""
        seed, opening = self.seed + 2 * number, (self.opening_plies, self.seed + number // 2)
        return Job(number, number % 2 == 0, self.a, self.b, self.clock, seed, opening)


@dataclass(frozen=True)
class Job:
    """One game, as it is sent to a worker; or its rehearsal, which only finds out whether both players can start."""

    number: int
    a_is_white: bool
    a: Entrant
    b: Entrant
    clock: Clock
    seed: int
    opening: tuple[int, int] = (0, 0)  # how many moves are made at random at the beginning, and their seed
    rehearsal: bool = False


class _LogFile(logging.FileHandler):
    """A log that a full disk ends, and not the game that it is about."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing is printed: a line of the log is lost."""


class GameWorker:
    """What a worker process keeps between games."""

    def __init__(self, threads: int, logs: str | None = None, record: bool = False) -> None:
        set_threads(threads)
        notes = logging.NullHandler() if logs is None else _LogFile(Path(logs) / "penumbra.log", delay=True)
        logging.getLogger("penumbra").addHandler(notes)
        self._players = PlayerPool(logs)
        self._record = record

    def do(self, job: Job) -> GameResult:
        sides = {"a": job.a, "b": job.b}
        try:
            players = self._make(job, sides)
            began = time.monotonic()
            white, black = ("a", "b") if job.a_is_white else ("b", "a")
            if job.rehearsal:
                rehearse(players[white], players[black])
                return unsettled(job, REHEARSAL)
            outcome = play(*with_opening(players[white], players[black], *job.opening), job.clock)
        except CannotStart as error:
            who = sides["a" if error.color == job.a_is_white else "b"]
            return unsettled(job, CANNOT_START, f"{who.name} cannot start: {error.detail}")
        least = dict(zip((white, black), outcome.least_left, strict=True))
        ours = {side: player for side, player in players.items() if isinstance(player, PenumbraPlayer)}
        record = outcome.record
        record.white_name = sides[white].label or record.white_name
        record.black_name = sides[black].label or record.black_name
        return GameResult(
            number=job.number,
            a_is_white=job.a_is_white,
            winner=None if outcome.winner is None else white if outcome.winner else black,
            reason=outcome.reason,
            detail=outcome.detail,
            plies=len(outcome.record.moves),
            seconds=time.monotonic() - began,
            used=(outcome.used[0 if white == "a" else 1], outcome.used[1 if white == "a" else 0]),
            least_left=(_finite(least["a"]), _finite(least["b"])),
            record=record.to_bytes(),
            seed=job.seed,
            recoveries=tuple(line for player in players.values() for line in player.recoveries),
            search_faults=tuple(line for player in players.values() for line in player.faults),
            visits=pack(searched for player in ours.values() for searched in searches_of(player)),
            decisions=tuple((side, p.settings, p.recorded) for side, p in ours.items() if self._record),
        )

    def _make(self, job: Job, sides: Mapping[str, Entrant]) -> dict[str, Player]:
        """The players by side; `CannotStart` if there can be none."""
        colors = {"a": job.a_is_white, "b": not job.a_is_white}
        seeds = {"a": job.seed, "b": job.seed + 1}
        players = {}
        for side, who in sides.items():
            try:
                players[side] = self._players.player(who, colors[side], seeds[side])
            except (ValueError, OSError) as error:
                raise CannotStart(colors[side], who.name, "crash", str(error)) from None
        for player in players.values():
            if isinstance(player, PenumbraPlayer):
                player.record = self._record
        return players

    def close(self) -> None:
        self._players.close()


def run(match: Match, report: Callable[[Score], None] = lambda score: None) -> tuple[Score, bool]:
    """Plays the match; (the score, whether it was interrupted). `report` hears of every game that ends.

    An interrupt (Ctrl-C) ends the match with the games that were played; so does a full disk, with `MatchStopped`, and
    a player that cannot start, with a ValueError that says why: what it does not play it does not lose.
    """
    logs = None
    if match.out is not None:
        match.out.mkdir(parents=True, exist_ok=True)
        logs = str(match.out)
    results: list[GameResult] = []
    make = functools.partial(GameWorker, threads_for_each(match.workers), logs, match.record)
    pool: Pool[Job, GameResult] = Pool(make, match.workers)
    interrupted, stopped, failure = False, "", ""
    try:
        for number, result, trouble in pool.run(map(match.job, range(match.games))):
            results.append(result if result is not None else unsettled(match.job(number), HARNESS, trouble))
            if results[-1].reason == CANNOT_START:
                failure = results[-1].detail
                break
            if match.out is not None:
                write_game(match, results[-1])
            report(Score(results))
            if match.is_clear(Score(results)):
                break
    except KeyboardInterrupt:
        interrupted = True
    except WriteError as error:
        stopped = str(error)
    finally:
        pool.close()
    results.sort(key=lambda result: result.number)
    score = Score(results)
    if match.out is not None:
        try:
            whole = to_json(match, score, interrupted or bool(stopped))
            write_text(match.out / "match.json", json.dumps(whole, indent=1) + "\n", KEPT)
        except WriteError as error:
            stopped = stopped or str(error)
    if failure:
        raise ValueError(f"{failure}; {len(score.settled)} games were played before")
    if stopped:
        raise MatchStopped(stopped, score)
    return score, interrupted


def unsettled(job: Job, reason: str, detail: str = "") -> GameResult:
    """No game came of the job: nobody's point. The harness failed twice, or a player could not start."""
    return GameResult(
        job.number, job.a_is_white, None, reason, detail, 0, 0.0, (None, None), b"", job.seed, settled=False
    )


def write_game(match: Match, result: GameResult) -> None:
    """The game as reconchess' JSON, and Penumbra's decisions beside it."""
    if match.out is None or not result.settled:
        return
    from penumbra.interop.history import write_record
    from penumbra.players.penumbra.recording import write_decisions

    stem = f"{result.number + 1:04d}"
    write_record(match.out / f"{stem}.json", GameRecord.from_bytes(result.record), KEPT)
    for side, settings, decisions in result.decisions:
        who, other = (match.a, match.b) if side == "a" else (match.b, match.a)
        color = result.a_is_white == (side == "a")
        write_decisions(
            match.out / f"{stem}.{'white' if color else 'black'}.decisions.json",
            decisions,
            player=who.name,
            color=color,
            opponent=other.name,
            settings=settings,
            go_on=KEPT,
        )


def to_json(match: Match, score: Score, interrupted: bool) -> dict[str, Any]:
    """The whole match as plain data."""
    low, high = score.interval
    return {
        "a": match.a.name,
        "b": match.b.name,
        "a_installation": match.a.installation and asdict(match.a.installation),
        "b_installation": match.b.installation and asdict(match.b.installation),
        "clock": asdict(match.clock),
        "seed": match.seed,
        "opening_plies": match.opening_plies,
        "asked_for": match.games,
        "played": len(score.settled),
        "different": score.different,
        "unsettled": len(score.results) - len(score.settled),
        "interrupted": interrupted,
        "a_wins": score.count("a"),
        "b_wins": score.count("b"),
        "draws": score.count(None),
        "a_rate": None if math.isnan(score.rate) else score.rate,
        "interval": [low, high],
        "sprt": None if match.sprt is None else {**asdict(match.sprt), "holds": match.sprt.verdict(*score.tally)},
        "a_wins_by_reason": score.reasons("a"),
        "b_wins_by_reason": score.reasons("b"),
        "draws_by_reason": score.reasons(None),
        "a_losses_by_fault": score.losses("a"),
        "b_losses_by_fault": score.losses("b"),
        "games": [_game_to_json(result) for result in score.results],
    }


def _game_to_json(result: GameResult) -> dict[str, Any]:
    data = asdict(result)
    del data["record"], data["decisions"], data["visits"]
    if result.settled:
        data |= steps(GameRecord.from_bytes(result.record))
    return data


def steps(record: GameRecord) -> dict[str, list[str | None]]:
    """The senses and the moves asked for, in real squares, White's and Black's in turn; None for a sense not made."""
    senses: list[str | None] = []
    moves: list[str | None] = []
    for step in walk(record):
        match step.observation:
            case Sensed(square):
                senses.append(None if square is None else square_name(view(square, step.color)))
            case Moved(requested):
                moves.append(code_to_uci(view_code(requested, step.color)))
    return {"senses": senses, "moves": moves}


def _finite(seconds: float) -> float | None:
    return round(seconds, 3) if math.isfinite(seconds) else None
