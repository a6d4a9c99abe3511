"""Our kinds against what they imitate: `PYTHONPATH=src python -m studies.imitations`.

Random, Attacker and Trout play reconchess' own. Both Trouts ask Stockfish with the same limit of nodes, so each match
should come out about even: half of the points must be inside the 95 % interval.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from penumbra.arena.entrants import Entrant
from penumbra.arena.game_loop import Clock
from penumbra.arena.match import Match, run
from penumbra.arena.score import Score
from penumbra.commands.match import summary
from penumbra.interop.stockfish import find_stockfish

THEIRS = {
    "random": "reconchess.bots.random_bot",
    "attacker": "reconchess.bots.attacker_bot",
    "trout": "penumbra.interop.limited_trout",
}


def planned(kind: str, games: int, nodes: int, seed: int, out: Path | None) -> Match:
    """The match of one kind."""
    settings = {"engine": "stockfish", "nodes": nodes, "lines": 1, "temperature": 0.0} if kind == "trout" else {}
    ours = Entrant(f"our {kind}", kind=kind, settings=settings)
    theirs = Entrant(f"reconchess' {kind}", THEIRS[kind], environment={"PENUMBRA_TROUT_NODES": str(nodes)})
    folder = None if out is None else out / kind
    return Match(ours, theirs, games, Clock(None), seed=seed, out=folder)


def is_even(score: Score) -> bool:
    low, high = score.interval
    return low <= 0.5 <= high


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=tuple(THEIRS), default=list(THEIRS))
    parser.add_argument("--games", type=int, default=80, help="of each kind")
    parser.add_argument("--nodes", type=int, default=2_000, help="of Stockfish, for each question of both Trouts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a folder for the games")
    options = parser.parse_args()
    if "trout" in options.kinds and find_stockfish() is None:
        print("penumbra: trout needs Stockfish: install it, or set STOCKFISH_EXECUTABLE to its path", file=sys.stderr)
        return 1
    even = True
    for kind in options.kinds:
        match = planned(kind, options.games, options.nodes, options.seed, options.out)
        score, interrupted = run(match, lambda score: print(score.line(), flush=True))
        print(summary(match, score, interrupted), flush=True)
        even = even and is_even(score)
        if interrupted:
            return 130
    return 0 if even else 1


if __name__ == "__main__":
    sys.exit(main())
