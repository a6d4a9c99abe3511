"""The long matches behind the numbers: `PYTHONPATH=src python -m studies.clock`.

Penumbra plays reconchess' Random, Attacker and Trout at ten seconds and half a second a turn. It must never lose on
time, crash, or ask for what is not allowed, and win nine games of ten against Random; the other rates are what they
are. Games and scores go to a folder for each opponent.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from penumbra.arena.entrants import entrant
from penumbra.arena.game_loop import Clock
from penumbra.arena.match import Match, run
from penumbra.arena.score import Score
from penumbra.commands.errors import hear_interrupts
from penumbra.commands.match import summary
from penumbra.players.penumbra.configuration import EVALUATORS, Configuration

OPPONENTS = ("reconchess:random", "reconchess:attacker", "reconchess:trout")
CLOCK = Clock(10.0, 0.5)
AGAINST_RANDOM = 0.9


def shortcomings(opponent: str, score: Score, games: int) -> list[str]:
    """What a score lacks of what it must show."""
    lacking = [f"{reason}: {count} losses" for reason, count in score.losses("a").items() if count]
    if len(score.settled) < games:
        lacking.append(f"{games - len(score.settled)} games are not settled")
    if any(result.search_faults for result in score.results):
        lacking.append("a search failed")
    if opponent == OPPONENTS[0] and score.rate < AGAINST_RANDOM:
        lacking.append(f"only {100 * score.rate:.0f} % against Random")
    return [f"{opponent}: {what}" for what in lacking]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=67, help="against each opponent; together over 200")
    parser.add_argument("--opponents", nargs="+", default=list(OPPONENTS))
    parser.add_argument("--player", default="penumbra")
    parser.add_argument("--evaluator", choices=EVALUATORS, default="network")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--ponder", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("evidence/games"))
    options = parser.parse_args()
    hear_interrupts()
    player = entrant(options.player, Configuration(ponder=options.ponder, evaluator=options.evaluator))
    console = Console(stderr=True)
    lacking = []
    for opponent in options.opponents:
        folder = options.out / opponent.replace(":", "-")
        planned = Match(
            player, entrant(opponent), options.games, CLOCK, workers=options.workers, seed=options.seed, out=folder
        )
        score, interrupted = run(planned, lambda score: console.print(score.line(), highlight=False))
        print(summary(planned, score, interrupted), flush=True)
        lacking += shortcomings(opponent, score, options.games)
        if interrupted:
            break
    for line in lacking:
        print(f"penumbra: {line}", file=sys.stderr)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
