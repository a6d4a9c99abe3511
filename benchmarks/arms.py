"""What settings of the search are worth, without games: decisions of archived games, judged by a longer search.

    PYTHONPATH=src python benchmarks/arms.py ARCHIVE --arm '{}' --arm '{"d": [4, 6]}' --minutes 10 --seed 1

At some steps of a player each arm, which is changes of the settings as JSON, decides from the same belief with the same
number of nodes, unless it has `nodes` of its own. Where they disagree, each of their choices gets a search of its own
with the first arm's settings, the choice being the root's only action. The difference of what an arm's and the first
arm's choices are worth there, in points of a hundred, averages to what the arm gains or loses with every decision.
Nothing of a decision enters its judgement, so chance does not favour anybody; what the network is wrong about stays
wrong.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penumbra.core import MOVE, Game, GameRecord, Infostates, NodeTable, set_threads
from penumbra.dsmcp.agent import Agent
from penumbra.dsmcp.playouts import Budget, Root, Search, final_choice, policy_choice
from penumbra.dsmcp.settings import PRESETS, Settings
from penumbra.games.archive import Archive
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.registry import make_penumbra
from penumbra.rbc.actions import code_to_action
from penumbra.rbc.domain import Situation

CAP = 100_000
TABLE = 1 << 17


def steps(record: GameRecord, color: bool, player: PenumbraPlayer) -> Iterator[bool]:
    """Walks the player through the game; at each of its own steps, whether this is one that can be decided."""
    game = Game(record.start_fen or None, None, None)
    player.meet(record.black_name if color else record.white_name)
    player.start(color, game.fen())
    for square, code in zip(record.senses, record.moves, strict=False):
        ours = game.turn == color
        sense = square if square >= 0 else None
        if ours:
            player.opponent_moved(game.capture)
            yield not player.recoveries
        contents = [content for _, content in game.sense(sense)]
        if ours:
            player.sensed(sense, contents)
            yield not player.recoveries
        _, capture = game.move(code_to_action(code), code >> 12)
        if ours and not game.over:
            player.moved(code, game.last_taken, capture)


class Judge:
    def __init__(self, arms: list[tuple[Settings, int]], judging: int, seed: int) -> None:
        self.arms, self.judging = arms, judging
        self.rng = np.random.default_rng(seed)

    def search(self, agent: Agent[Situation, Infostates], settings: Settings) -> Search[Situation, Infostates]:
        belief = agent.belief.current.particles
        table = NodeTable(TABLE)
        return Search(agent.domain, agent.evaluator, table, settings, self.rng, agent.x, belief)

    def choice(self, agent: Agent[Situation, Infostates], actions: np.ndarray, settings: Settings, nodes: int) -> int:
        search = self.search(agent, settings)
        root = search.prepare_root(actions, settings.b)
        if not settings.playouts:
            return policy_choice(root, settings, self.rng)
        search.run(root, Budget(nodes=nodes))
        return final_choice(search.table, root, settings, self.rng)

    def worth(self, agent: Agent[Situation, Infostates], action: int) -> float:
        search = self.search(agent, self.arms[0][0].replace(b=32))
        root = Root(search.seed(), np.array([action], np.int32), np.ones(1, np.float32), 0.0)
        search.run(root, Budget(nodes=self.judging))
        n, q, _ = search.table.statistics(root.key, root.actions)[0]
        return float(q / n)

    def __call__(self, agent: Agent[Situation, Infostates]) -> list[float] | None:
        """What each arm's choice is worth; None where there is nothing to choose."""
        actions, sure = agent.domain.root(agent.x, static_analysis=True)
        if sure is not None or len(actions) == 1:
            return None
        agent.refilled(self.arms[0][0].n_particles, 0.0, None)
        choices = [self.choice(agent, actions, *arm) for arm in self.arms]
        different = set(choices)
        worth = {a: self.worth(agent, a) if len(different) > 1 else 0.0 for a in different}
        return [worth[choice] for choice in choices]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--player", default="PenumbraMixture", help="whose steps")
    parser.add_argument("--arm", action="append", required=True, help="settings as JSON; repeatedly")
    parser.add_argument("--nodes", type=int, default=400, help="of an arm's decision")
    parser.add_argument("--judging", type=int, default=2000, help="nodes for each of the choices that differ")
    parser.add_argument("--share", type=float, default=0.2, help="of the steps that are decided")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    set_threads(1)
    usual = PRESETS["mixture"].replace(b=8, n_particles=128, in_flight=1)
    changes = [json.loads(arm) for arm in given.arm]
    nodes = [arm.pop("nodes", given.nodes) for arm in changes]
    judge = Judge([(usual.replace(**c), n) for c, n in zip(changes, nodes, strict=True)], given.judging, given.seed)
    rng = np.random.default_rng(given.seed)
    ends = time.monotonic() + 60 * given.minutes
    rows: list[list[float]] = []
    moves: list[bool] = []
    with Archive.open(given.archive) as archive:
        games = [game for game in archive.games() if given.player in (game.white, game.black)]
    for i in rng.permutation(len(games)):
        record, color = games[i].record, games[i].white == given.player
        player = make_penumbra(Configuration(nodes=given.nodes, cap=CAP, device="cpu", seed=given.seed))
        player.settings = player.settings.replace(n_particles=usual.n_particles)
        for is_whole in steps(record, color, player):
            if time.monotonic() > ends or not is_whole:
                break
            if rng.random() < given.share:
                worth = judge(player.agent)
                if worth is not None:
                    rows.append(worth)
                    moves.append(player.situation.kind == MOVE)
        if time.monotonic() > ends:
            break
    report(given.arm, 100 * np.array(rows), np.array(moves))


def report(arms: list[str], worth: np.ndarray, moves: np.ndarray) -> None:
    """Gains over the first arm, with their standard errors, and how often the choices agree in worth."""
    print(f"{len(worth)} decisions, {int(moves.sum())} of them moves")
    for i, arm in enumerate(arms):
        gain = worth[:, i] - worth[:, 0]
        cells = []
        for which in (np.ones_like(moves), ~moves, moves):
            some = gain[which]
            cells.append(f"{some.mean():+.2f} ± {some.std() / len(some) ** 0.5:.2f}")
        print(f"{arm:40s} all {cells[0]}   senses {cells[1]}   moves {cells[2]}   same {(gain == 0).mean():.0%}")


if __name__ == "__main__":
    main()
