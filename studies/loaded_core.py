"""Games on a core that somebody else uses too: `PYTHONPATH=src python -m studies.loaded_core --out loaded.jsonl`.

Penumbra plays built-in players, one after the other, pondering, on one core beside as many busy processes as asked for.
It may not lose on time. Clocks and opponents go round, so that all have come equally far whenever the run is stopped;
each game is a line of the output, and the same command goes on where it was stopped. Each clock and each opponent has a
line: games, how many either side lost on time, the least that Penumbra's clock showed, plies of a game, and seconds
thought. With `--report` these are shown of files that are there. An opponent `penumbra` is Penumbra as it plays itself.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penumbra.arena.entrants import entrant
from penumbra.arena.match import CANNOT_START, GameWorker, Job
from penumbra.arena.pool import Pool, ended_by_signal, threads_for_each
from penumbra.arena.score import GameResult
from penumbra.commands.errors import hear_interrupts
from penumbra.commands.match import parse_clock
from penumbra.players.penumbra.configuration import EVALUATORS, Configuration
from penumbra.whole_files import append_lines, read_lines

CLOCKS = ("2+0.1", "5+0")
OPPONENTS = ("random", "attacker", "trout", "hunter", "strange-fish")
OPENING_PLIES = 4  # moves at random, so that games differ
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(1_000_000))"  # it goes with whom it serves
Game = dict[str, Any]


@contextlib.contextmanager
def loaded_core(core: int, busy: int) -> Iterator[None]:
    """This process, and those that it starts, stay on one core, and so do `busy` others that never rest."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [core])
    others = [subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]) for _ in range(busy)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, before)


def plan(options: argparse.Namespace) -> list[tuple[str, str, int]]:
    """(clock, opponent, number of the game between them) of every game, in the order in which they are played."""
    n = len(options.opponents)
    return [(clock, options.opponents[i % n], i // n) for i in range(options.games) for clock in options.clocks]


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    """What all games of a file have in common."""
    return {
        "player": options.player,
        "evaluator": options.evaluator,
        "ponder": not options.no_ponder,
        "busy": options.busy,
        "seed": options.seed,
    }


def play(options: argparse.Namespace) -> None:
    """The games that are not in the file yet, until the time is up."""
    out, common = options.out, conditions(options)
    there = read(out)
    if any(game["conditions"] != common for game in there):
        raise SystemExit(f"{out} has games under other conditions; name another file")
    done = {(game["clock"], game["opponent"], game["game"]) for game in there}
    todo = [each for each in plan(options) if each not in done]
    last = time.monotonic() + 60 * options.minutes
    jobs = itertools.takewhile(lambda _: time.monotonic() < last, make_jobs(todo, options))
    pool: Pool[Job, GameResult] = Pool(functools.partial(GameWorker, threads_for_each(1)), 1)
    try:
        for number, result, trouble in pool.run(jobs):
            if result is None or not result.settled:
                print(f"not played: {todo[number]}: {trouble if result is None else result.detail}", file=sys.stderr)
                if result is not None and result.reason == CANNOT_START:
                    raise SystemExit(1)
            else:
                append_lines(out, json.dumps(as_line(todo[number], result) | {"conditions": common}) + "\n")
    finally:
        pool.close()


def make_jobs(todo: list[tuple[str, str, int]], options: argparse.Namespace) -> Iterator[Job]:
    """One for each; colours alternate, and every two games have the same opening."""
    player = entrant(options.player, Configuration(ponder=not options.no_ponder, evaluator=options.evaluator))
    opponents = {name: player if name == options.player else entrant(name) for name in options.opponents}
    for number, (clock, name, game) in enumerate(todo):
        opening, seed = (OPENING_PLIES, options.seed + game // 2), options.seed + 2 * game
        yield Job(number, game % 2 == 0, player, opponents[name], parse_clock(clock), seed, opening)


def as_line(which: tuple[str, str, int], result: GameResult) -> Game:
    clock, opponent, game = which
    return {
        "clock": clock,
        "opponent": opponent,
        "game": game,
        "winner": {"a": "player", "b": "opponent", None: None}[result.winner],
        "reason": result.reason,
        "detail": result.detail,
        "plies": result.plies,
        "least": list(result.least_left),  # on the player's clock, on the opponent's
        "used": [round(seconds, 3) for seconds in result.used],
        "seconds": round(result.seconds, 2),
    }


def read(path: Path) -> list[Game]:
    return [json.loads(line) for line in read_lines(path)]


def lost_on_time(games: list[Game], winner: str) -> int:
    """Games that the other one lost so."""
    return sum(game["reason"] == "time" and game["winner"] == winner for game in games)


def line(name: str, games: list[Game]) -> str:
    """What became of these games."""
    least = min(left for game in games for left in game["least"][:1] if left is not None)
    return (
        f"{name}: {len(games)} games, {lost_on_time(games, 'opponent')} lost on time, "
        f"{lost_on_time(games, 'player')} by the opponent; least left {least:.2f} s, "
        f"{statistics.mean(game['plies'] for game in games):.0f} plies and "
        f"{sum(sum(game['used']) for game in games) / len(games):.1f} s thought a game"
    )


def report(games: list[Game]) -> None:
    """A line for each clock, and for each opponent at that clock."""
    if not games:
        print("no games")
    for clock in dict.fromkeys(game["clock"] for game in games):
        of_clock = [game for game in games if game["clock"] == clock]
        print(line(clock, of_clock))
        for name in dict.fromkeys(game["opponent"] for game in of_clock):
            print("  " + line(name, [game for game in of_clock if game["opponent"] == name]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("loaded.jsonl"), help="a line for each game")
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="play nothing, and report these")
    parser.add_argument("--clocks", nargs="+", default=list(CLOCKS), metavar="SECONDS+INCREMENT")
    parser.add_argument("--opponents", nargs="+", default=list(OPPONENTS), metavar="PLAYER")
    parser.add_argument("--games", type=int, default=1000, help="at each clock, of all opponents together")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no game after so many")
    parser.add_argument("--busy", type=int, default=1, help="processes that never rest beside the game")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the number of the core")
    parser.add_argument("--player", default="penumbra")
    parser.add_argument("--evaluator", choices=EVALUATORS, default="network")
    parser.add_argument("--no-ponder", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    hear_interrupts()
    interrupted = False
    if not options.report:
        try:
            with ended_by_signal(), loaded_core(options.core, options.busy):
                play(options)
        except KeyboardInterrupt:
            interrupted = True
    games = [game for path in options.report or [options.out] for game in read(path)]
    report(games)
    return 130 if interrupted else 1 if lost_on_time(games, "opponent") else 0


if __name__ == "__main__":
    sys.exit(main())
