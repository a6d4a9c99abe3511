"""How much chess is lost where the game is nearly chess: moves at which at most two states are possible.

    PYTHONPATH=src python -m studies.centipawns GAMES.jsonl.gz [--positions 200] [--seconds 0.3] [--depth 11]

Recorded games are walked with both players' exact sets. At moves where at most two states are left, drawn at random,
the favourites of the network's policy, of the same after the engine's opinion, and of the engine alone are scored by
Stockfish in the true state: centipawns lost against its best move, at most 1000, and the share of blunders over 250.
The move that was really played stands beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import chess.engine
import numpy as np
import numpy.typing as npt

from penumbra.core import MOVE, START_FEN, Game, GameRecord, Infostates, set_threads
from penumbra.dsmcp.domain import Evaluator, Ints, Legal
from penumbra.dsmcp.root_policy import AtRoot
from penumbra.interop.game_files import read_games
from penumbra.interop.stockfish import find_stockfish
from penumbra.network.loading import network_evaluator
from penumbra.players.penumbra.root.engine_opinion import EngineOpinion, state_weights, win_probabilities
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import code_to_action, code_to_uci, view_code
from penumbra.rbc.domain import ReconBlindChess, Situation
from penumbra.rbc.observations import Moved
from penumbra.rbc.synopsis import synopsis_read_by
from penumbra.rbc.walk import walk

CAP = 20_000
MOST = 1000  # centipawns that one move can lose
BLUNDER = 250


def positions(records: Iterator[GameRecord]) -> Iterator[tuple[Situation, str, int]]:
    """Situations of at most two states, the true FEN, and the action that was played."""
    for record in records:
        for color in (True, False):
            try:
                yield from _positions_of(record, color)
            except ValueError:
                continue  # the official server differs from reconchess in a rare en passant


def _positions_of(record: GameRecord, color: bool) -> Iterator[tuple[Situation, str, int]]:
    """Those of one player, until its set is cut."""
    x, _ = rbc.start(color, record.start_fen or START_FEN)
    for step in walk(record):
        if step.color != color:
            continue
        if isinstance(step.observation, Moved) and len(x.states) <= 2:
            yield x, step.before.fen(), code_to_action(step.observation.requested)
        for observation in step.told:
            x = rbc.observed(x, observation, cap=CAP)
        if not x.states.complete:
            return


class Judge:
    """Stockfish's opinion of moves in one position."""

    def __init__(self, engine: chess.engine.SimpleEngine, fen: str, color: bool, depth: int) -> None:
        self.engine, self.color, self.limit = engine, color, chess.engine.Limit(depth=depth)
        self.board, self.game = chess.Board(fen), Game(fen)
        self.game.sense(None)
        self.known: dict[str, float] = {}
        self.best = self._score(None)

    @property
    def sound(self) -> bool:
        return self.board.is_valid() and not self.board.is_game_over()

    def loss(self, action: int) -> float:
        game = Game(self.board.fen())
        game.sense(None)
        game.move(action)
        word = code_to_uci(view_code(game.last_taken, self.color)) if game.last_taken else "0000"
        if word not in self.known:
            self.known[word] = float(np.clip(self.best - self._score(word), 0, MOST))
        return self.known[word]

    def _score(self, word: str | None) -> float:
        if not self.sound:
            return 0.0
        moves = None
        if word is not None:
            move = chess.Move.from_uci(word)
            if move == chess.Move.null():
                board = self.board.copy()
                board.push(move)
                if not board.is_valid():
                    return -MOST
                return -self._centipawns(board, None)
            if move not in self.board.legal_moves:
                return -MOST  # the king can be taken
            moves = [move]
        return self._centipawns(self.board, moves)

    def _centipawns(self, board: chess.Board, moves: list[chess.Move] | None) -> float:
        score = self.engine.analyse(board, self.limit, root_moves=moves)["score"].relative
        return float(np.clip(score.score(mate_score=2 * MOST), -2 * MOST, 2 * MOST))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path)
    parser.add_argument("--positions", type=int, default=200)
    parser.add_argument("--every", type=int, default=6, help="games, one of so many is read")
    parser.add_argument("--seconds", type=float, default=0.3, help="for the engine's opinion")
    parser.add_argument("--depth", type=int, default=11, help="of Stockfish")
    options = parser.parse_args()
    set_threads(1)
    rng = np.random.default_rng(0)
    records = list(read_games(options.games, lambda error: None))[:: options.every]
    found = list(positions(iter(records)))
    chosen = [found[i] for i in rng.permutation(len(found))[: options.positions]]
    evaluator = network_evaluator("lite", "cpu", "Top")
    opinions = {w: EngineOpinion(w, 32, 1.0, sampled=False) for w in (16.0, 32.0, 64.0)}
    executable = find_stockfish()
    if executable is None:
        raise SystemExit("Stockfish is not found: install it, or set STOCKFISH_EXECUTABLE to its path")
    losses: dict[str, list[float]] = {}
    with chess.engine.SimpleEngine.popen_uci(str(executable)) as engine:
        for x, fen, played in chosen:
            judge = Judge(engine, fen, x.states.owner, options.depth)
            if not judge.sound:
                continue
            for name, action in choices(x, evaluator, opinions, options.seconds, played).items():
                losses.setdefault(name, []).append(judge.loss(action))
    print(f"{len(found)} moves at which at most two states are possible, in {len(records)} games")
    for name, lost in losses.items():
        values = np.array(lost)
        error = values.std() / np.sqrt(len(values))
        blunders = (values > BLUNDER).mean()
        print(f"{name:32} {values.mean():6.1f} ± {error:4.1f} centipawns, {blunders:.1%} over {BLUNDER} ({len(lost)})")


def choices(
    x: Situation, evaluator: Evaluator, opinions: dict[float, EngineOpinion], seconds: float, played: int
) -> dict[str, int]:
    """The action of each way to choose."""
    actions, _ = Infostates.draw(x.states, 1, MOVE, 1).legal()
    domain = ReconBlindChess(synopsis_read_by(evaluator))
    features = domain.sigma(domain.draw(x, 1, 128, 0, False, None))
    pi, _ = evaluator.evaluate(features, Legal(actions, np.array([0, len(actions)])), opponent=False)
    out = {"played": played, "network": best(actions, pi)}
    for weight, opinion in opinions.items():
        judged = opinion.prior(AtRoot(x, None, actions, pi, seconds, np.random.default_rng(0)))
        out[f"network and engine, weight {weight:g}"] = best(actions, judged)
    for limit in (0.02, seconds, 4 * seconds):
        wins = win_probabilities(opinion.scores(x.states, actions, limit)).T @ state_weights(x, None)
        out[f"engine alone, {limit} s"] = best(actions, wins)
    return out


def best(actions: Ints, scores: npt.NDArray[Any]) -> int:
    return int(actions[scores.argmax()])


if __name__ == "__main__":
    main()
