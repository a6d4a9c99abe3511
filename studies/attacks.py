"""What becomes of Penumbra, playing Black with the heuristic evaluator, against quick attacks on its king.

The opponent plays each script of reconchess' AttackerBot. `--factor` is how many times as likely as the heuristic has
it the opponent is thought to play a move of these scripts: 1 is the evaluator as it is, 50 one that knows such players.

PYTHONPATH=src python -m studies.attacks --factor 1 50
"""

from __future__ import annotations

import argparse

import numpy as np

from penumbra.arena.game_loop import play_strictly
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.players.opponents.attacker import SCRIPTS, Attacker, AttackerSettings
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import fitted
from penumbra.players.penumbra.player import PenumbraPlayer

MOVES = np.array(sorted({action for script in SCRIPTS.values() for action in script}))


class Expecting(HeuristicEvaluator):
    """τ̂ with the moves of the scripts so many times as likely."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        priors, values = super().evaluate(features, legal, opponent)
        if opponent:
            priors = priors * np.where(np.isin(legal.actions, MOVES), np.float32(self.factor), np.float32(1))
            priors /= np.repeat(np.add.reduceat(priors, legal.offsets[:-1]), np.diff(legal.offsets))
        return priors, values


def won(script: str, factor: float, nodes: int, c: float, seed: int) -> bool:
    configuration = Configuration(nodes=nodes, seed=seed, settings={"c": c})
    penumbra = PenumbraPlayer(Expecting(factor), fitted(configuration.dsmcp(), configuration), nodes=nodes)
    return play_strictly(Attacker(seed, AttackerSettings(script=script)), penumbra).winner is False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factor", type=float, nargs="+", default=[1.0, 50.0])
    parser.add_argument("--nodes", type=int, default=2000, help="evaluations for each step")
    parser.add_argument("-c", type=float, default=2.0, help="exploration constant")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for factor in options.factor:
        seeds = range(options.seeds)
        wins = {
            script: sum(won(script, factor, options.nodes, options.c, seed) for seed in seeds) for script in SCRIPTS
        }
        games = options.seeds * len(SCRIPTS)
        print(f"factor {factor:g}: {sum(wins.values())} of {games} won, by script {wins}", flush=True)


if __name__ == "__main__":
    main()
