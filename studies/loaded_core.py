"""Games on a core that somebody else uses too: `PYTHONPATH=src python -m studies.loaded_core`.

Penumbra plays itself, pondering, on one core beside as many busy processes as asked for. Nobody may lose on time. Each
clock has a line: games, those lost on time, the least that any clock showed, plies of a game, and seconds thought.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator

from penumbra.arena.entrants import entrant
from penumbra.arena.match import Match, run
from penumbra.arena.score import Score
from penumbra.commands.errors import hear_interrupts
from penumbra.commands.match import parse_clock
from penumbra.players.penumbra.configuration import EVALUATORS, Configuration

CLOCKS = ("1+0", "3+0", "5+0")
BUSY = "while True: pass"


@contextlib.contextmanager
def loaded_core(core: int, busy: int) -> Iterator[None]:
    """This process, and those that it starts, stay on one core, and so do `busy` others that never rest."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [core])
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(busy)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, before)


def on_time(score: Score) -> int:
    """Games that somebody lost on time."""
    return score.losses("a")["time"] + score.losses("b")["time"]


def line(clock: str, score: Score) -> str:
    """What became of the games at this clock."""
    games = score.settled
    if not games:
        return f"{clock}: no games"
    least = min(left for game in games for left in game.least_left if left is not None)
    thought = sum(second for game in games for second in game.used) / len(games)
    return (
        f"{clock}: {len(games)} games, {on_time(score)} lost on time, least left {least:.2f} s, "
        f"{statistics.mean(game.plies for game in games):.0f} plies and {thought:.1f} s thought a game"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clocks", nargs="+", default=list(CLOCKS), metavar="SECONDS+INCREMENT")
    parser.add_argument("--games", type=int, default=4, help="at each clock")
    parser.add_argument("--busy", type=int, default=1, help="processes that never rest beside the game")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the number of the core")
    parser.add_argument("--player", default="penumbra")
    parser.add_argument("--evaluator", choices=EVALUATORS, default="network")
    parser.add_argument("--no-ponder", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    hear_interrupts()
    clocks = {text: parse_clock(text) for text in options.clocks}
    lost = 0
    with loaded_core(options.core, options.busy):
        player = entrant(options.player, Configuration(ponder=not options.no_ponder, evaluator=options.evaluator))
        for text, clock in clocks.items():
            score, interrupted = run(Match(player, player, options.games, clock, seed=options.seed))
            print(line(text, score), flush=True)
            lost += on_time(score)
            if interrupted:
                return 130
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
