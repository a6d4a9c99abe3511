"""Freezes the positions of `penumbra evaluate --chess`, with Stockfish's score of every move: needs Stockfish.

    PYTHONPATH=src python -m studies.chess_positions GAMES.jsonl.gz --out src/penumbra/training/chess_positions.jsonl.gz

Recorded games are walked with both players' exact sets. Of the moves at which at most two states are left some are
drawn at random, at most one of a game, so that results are independent. Scores are those of one search of each position
to --depth for all its moves at once. Castling out of check or through it, which chess forbids and this game does not,
has the score of the position after it. Positions that chess does not know, where a king can be taken, are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import chess
import chess.engine
import numpy as np

from penumbra.core import START_FEN, GameRecord
from penumbra.interop.game_files import read_games
from penumbra.interop.stockfish import find_stockfish
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import code_to_uci, view_code
from penumbra.rbc.domain import Situation
from penumbra.rbc.observations import Moved
from penumbra.rbc.walk import walk
from penumbra.training.centipawns import MOST, Position, remembered, write_positions

CAP = 20_000  # states; a game is left where a player's set outgrows them
FEW = 2  # states


def positions(records: Sequence[GameRecord]) -> Iterator[Position]:
    """All moves at which at most FEW states are possible, without scores."""
    for record in records:
        for color in (True, False):
            try:
                yield from _positions_of(record, color)
            except ValueError:
                continue  # the official server differs from reconchess in a rare en passant


def _positions_of(record: GameRecord, color: bool) -> Iterator[Position]:
    """Those of one player, until its set is cut."""
    x, _ = rbc.start(color, record.start_fen or START_FEN)
    for step in walk(record):
        if step.color != color:
            continue
        if isinstance(step.observation, Moved) and len(x.states) <= FEW:
            requested = view_code(step.observation.requested, color)
            yield Position(
                f"{record.hash:016x}",
                step.turn,
                _true_first(x, step.before.fen()),
                remembered(x),
                code_to_uci(requested),
                0 if record.winner is None else 1 if record.winner == color else -1,
                {},
            )
        for observation in step.told:
            x = rbc.observed(x, observation, cap=CAP)
        if not x.states.complete:
            return


def _true_first(x: Situation, truth: str) -> tuple[str, ...]:
    """The states, which are known by their placement, side to move, castling rights and en-passant square."""
    fens = x.states.fens()
    true = [fen for fen in fens if fen.split()[:4] == truth.split()[:4]]
    if len(true) != 1:
        raise ValueError(f"{truth} is not possible")
    return (*true, *(fen for fen in fens if fen != true[0]))


def scored(engine: chess.engine.SimpleEngine, position: Position, depth: int) -> dict[str, int]:
    """Stockfish's score of every move that is safe, and of the pass; nothing where chess has nothing to say."""
    board = chess.Board(position.states[0])
    if not board.is_valid() or board.is_game_over():
        return {}
    limit = chess.engine.Limit(depth=depth)
    lines = engine.analyse(board, limit, multipv=board.legal_moves.count())
    scores = {line["pv"][0].uci(): _hundredths(line["score"].relative) for line in lines}
    if not board.is_check():
        scores["pass"] = _score_after(engine, board, chess.Move.null(), limit)
    return scores | {move.uci(): _score_after(engine, board, move, limit) for move in forbidden_castlings(board)}


def forbidden_castlings(board: chess.Board) -> list[chess.Move]:
    """Castling that leaves a safe king, and that chess forbids because the king is or comes under attack on its way."""
    legal = set(board.generate_castling_moves())
    king = board.king(board.turn)
    found = []
    for rook in chess.scan_forward(board.clean_castling_rights() & board.occupied_co[board.turn]):
        assert king is not None
        move = chess.Move(king, king + (2 if rook > king else -2))
        if move in legal or board.occupied & chess.between(king, rook):
            continue
        board.push(move)
        if not board.was_into_check():
            found.append(move)
        board.pop()
    return found


def _score_after(
    engine: chess.engine.SimpleEngine, board: chess.Board, move: chess.Move, limit: chess.engine.Limit
) -> int:
    """Of a move, for the player who makes it; the engine is not told how the position came about."""
    board.push(move)
    after = chess.Board(board.fen())
    board.pop()
    return -_hundredths(engine.analyse(after, limit)["score"].relative)


def _hundredths(score: chess.engine.Score) -> int:
    return int(np.clip(score.score(mate_score=2 * MOST), -2 * MOST, 2 * MOST))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--positions", type=int, default=400)
    parser.add_argument("--depth", type=int, default=11, help="of Stockfish")
    options = parser.parse_args()
    executable = find_stockfish()
    if executable is None:
        raise SystemExit("Stockfish is not found: install it, or set STOCKFISH_EXECUTABLE to its path")
    records = list(read_games(options.games, lambda error: None))
    found = list(positions(records))
    kept: dict[str, Position] = {}
    seen: set[tuple[str, ...]] = set()
    with chess.engine.SimpleEngine.popen_uci(executable) as engine:
        for i in np.random.default_rng(0).permutation(len(found)):
            position = found[i]
            if len(kept) == options.positions:
                break
            if position.game in kept or position.states in seen:
                continue
            scores = scored(engine, position, options.depth)
            if len(scores) > 1:
                seen.add(position.states)
                kept[position.game] = Position(**{**vars(position), "scores": scores})
    write_positions(sorted(kept.values(), key=lambda position: position.game), options.out)
    size = options.out.stat().st_size
    print(f"{options.out}: {len(kept)} of {len(found):,} moves of {len(records):,} games, {size:,} bytes")


if __name__ == "__main__":
    main()
