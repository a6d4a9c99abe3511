"""Fits what the native engine knows of chess, native/rbc/evaluation_weights.h, to Stockfish's scores: needs Stockfish.

    PYTHONPATH=src python -m studies.engine_weights score GAMES.jsonl.gz ... --out scores.jsonl
    PYTHONPATH=src python -m studies.engine_weights fit scores.jsonl --out native/rbc/evaluation_weights.h

`score` draws positions from recorded games, but for those of `penumbra evaluate --chess`, and asks Stockfish; the same
command goes on where it was stopped. `fit` makes the evaluation's win probabilities as near to Stockfish's as weights
near plain ones (material, placement, passed pawns) can be, and says how near they are in games left out, a fifth.

The evaluation is linear: each feature of the player to move less the same feature of the other, times a weight for the
middle game and one for the endgame, between which the pieces left decide. `features` is its slow and clear form, by
which the tests judge native/rbc/evaluation.cpp.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import chess
import chess.engine
import numpy as np
from numpy.typing import NDArray

from penumbra.core import StateSet, engine_evaluate, engine_values
from penumbra.interop.game_files import read_games
from penumbra.interop.stockfish import find_stockfish
from penumbra.rbc.walk import walk
from penumbra.training.centipawns import read_positions
from penumbra.whole_files import append_lines, read_lines, write_text

Floats = NDArray[np.float64]

NODES = 4000  # of Stockfish for a position
QUIET = 80  # hundredths of a pawn that one ply may change
LOUD_KEPT = 0.3  # the share that is kept of positions where it changes more
DECIDED = 2500  # hundredths of a pawn, past which a position tells nothing
PAWNS = 3.0  # ahead, at which a win is half as far from certain as where nobody is; as in the engine's opinion
RIDGE = 1e-8  # for each squared hundredth of a pawn that a weight is away from the plain one

# -- features


def _layout() -> dict[str, slice]:
    """Where each group of features stands; the names are those of the arrays and constants in the header."""
    sizes = {"kPlacement": 6 * 32, "kMobility": 4, "kZone": 4, "kPassed": 8}
    singles = "BishopPair PassedBlocked Doubled Isolated OpenFile HalfOpenFile Shield OpenBesideKing PawnOnMinor"
    sizes |= {f"k{name}": 1 for name in f"{singles} PawnOnMajor MinorOnMajor RookOnQueen Hanging Tempo".split()}
    found, begin = {}, 0
    for name, size in {**sizes, "material": 5}.items():
        found[name] = slice(begin, begin + size)
        begin += size
    return found


LAYOUT = _layout()
FEATURES = LAYOUT["material"].stop


def features(fen: str) -> tuple[Floats, float]:
    """float64[FEATURES] for the player to move, and which share of the pieces is left."""
    board = chess.Board(fen)
    mine = board if board.turn else board.mirror()
    found = _of_white(mine) - _of_white(mine.mirror())
    found[LAYOUT["kTempo"]] = 1
    minor, rooks, queens = (chess.popcount(bits) for bits in (board.knights | board.bishops, board.rooks, board.queens))
    return found, min(24, minor + 2 * rooks + 4 * queens) / 24


def _of_white(board: chess.Board) -> Floats:
    """Of White's pieces. Weights that are read from a header have material within the placement."""
    f: Floats = np.zeros(FEATURES)
    own, theirs = board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]
    their_king = board.king(chess.BLACK)
    zone = 0 if their_king is None else chess.BB_KING_ATTACKS[their_king] | chess.BB_SQUARES[their_king]
    pawns, their_pawns = board.pawns & own, board.pawns & theirs
    attacks = dict.fromkeys(range(1, 7), 0)
    for s in chess.scan_forward(own):
        kind = board.piece_type_at(s)
        assert kind is not None
        rank, file = divmod(s, 8)
        seen = board.attacks_mask(s)
        attacks[kind] |= seen
        f[LAYOUT["kPlacement"].start + (kind - 1) * 32 + rank * 4 + min(file, 7 - file)] += 1
        if kind != chess.KING:
            f[LAYOUT["material"].start + kind - 1] += 1
        if chess.KNIGHT <= kind <= chess.QUEEN:
            f[LAYOUT["kMobility"].start + kind - 2] += chess.popcount(seen & ~own)
            f[LAYOUT["kZone"].start + kind - 2] += chess.popcount(seen & zone)
        beside = _file(file - 1) | _file(file + 1)
        if kind == chess.ROOK and not _file(file) & pawns:
            f[LAYOUT["kHalfOpenFile" if _file(file) & their_pawns else "kOpenFile"]] += 1
        if kind == chess.PAWN:
            ahead = sum(chess.BB_RANKS[rank + 1 :])
            if not their_pawns & ahead & (_file(file) | beside):
                f[LAYOUT["kPassed"].start + rank] += 1
                f[LAYOUT["kPassedBlocked"]] += bool(rank < 7 and board.occupied & chess.BB_SQUARES[s + 8])
            f[LAYOUT["kDoubled"]] += bool(pawns & ahead & _file(file))
            f[LAYOUT["kIsolated"]] += not pawns & beside
        if kind == chess.KING:
            near = sum(chess.BB_RANKS[rank + 1 : rank + 3])
            f[LAYOUT["kShield"]] += chess.popcount((_file(file) | beside) & near & pawns)
            f[LAYOUT["kOpenBesideKing"]] += sum(not _file(x) & pawns for x in range(file - 1, file + 2) if 0 <= x < 8)
    f[LAYOUT["kBishopPair"]] = chess.popcount(board.bishops & own) > 1
    minor, major = (board.knights | board.bishops) & theirs, (board.rooks | board.queens) & theirs
    minor_attacks = attacks[chess.KNIGHT] | attacks[chess.BISHOP]
    f[LAYOUT["kPawnOnMinor"]] = chess.popcount(attacks[chess.PAWN] & minor)
    f[LAYOUT["kPawnOnMajor"]] = chess.popcount(attacks[chess.PAWN] & major)
    f[LAYOUT["kMinorOnMajor"]] = chess.popcount(minor_attacks & major)
    f[LAYOUT["kRookOnQueen"]] = chess.popcount(attacks[chess.ROOK] & theirs & board.queens)
    every = _union(attacks.values()) & ~_union(board.attacks_mask(s) for s in chess.scan_forward(theirs))
    f[LAYOUT["kHanging"]] = chess.popcount(every & (minor | major))
    return f


def _file(file: int) -> int:
    return chess.BB_FILES[file] if 0 <= file < 8 else 0


def _union(masks: Any) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def value(fen: str, weights: Floats) -> float:
    """Hundredths of a pawn for the player to move, by weights float64[2, FEATURES]."""
    found, left = features(fen)
    middle, end = weights @ found
    return float(middle * left + end * (1 - left))


# -- the header


def read_header(path: Path) -> Floats:
    """float64[2, FEATURES]; those of `material` are 0."""
    text = path.read_text(encoding="utf-8")
    found = np.zeros((2, FEATURES))
    for name, place in LAYOUT.items():
        if name == "material":
            continue
        match = re.search(rf"\b{name} = (.*?);", text, re.DOTALL)
        assert match is not None, name
        pairs = re.findall(r"\{(-?\d+), (-?\d+)\}", match[1])
        found[:, place] = np.array(pairs, float).T
    return found


def write_header(weights: Floats, path: Path) -> None:
    whole = np.rint(weights).astype(int)
    material = np.append(whole[:, LAYOUT["material"]], [[0], [0]], axis=1)
    whole[:, LAYOUT["kPlacement"]] += np.repeat(material, 32, axis=1)
    lines = [
        "// Made by studies/engine_weights.py: hundredths of a pawn in the middle game and in the endgame. Placement",
        "// is that of pawns to kings, first rank first, a-file to d-file, material included.",
        "// clang-format off",
        "#pragma once",
        "",
        "#include <array>",
        "",
        '#include "rbc/weight.h"',
        "",
        "namespace penumbra {",
        "",
    ]
    for name, place in LAYOUT.items():
        if name == "material":
            continue
        pairs = [f"{{{middle}, {end}}}" for middle, end in whole[:, place].T]
        if name == "kPlacement":
            kinds = ["{{" + ", ".join(pairs[k : k + 32]) + "}}" for k in range(0, len(pairs), 32)]
            lines.append(f"constexpr std::array<std::array<Weight, 32>, 6> {name} = {{{{" + ", ".join(kinds) + "}};")
        elif len(pairs) > 1:
            lines.append(f"constexpr std::array<Weight, {len(pairs)}> {name} = {{{{" + ", ".join(pairs) + "}};")
        else:
            lines.append(f"constexpr Weight {name} = {pairs[0]};")
    write_text(path, "\n".join([*lines, "", "}  // namespace penumbra", ""]))


# -- positions and their scores


def positions(files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """FENs of all steps of the games, each with its game's hash, in an order by chance that is always the same."""
    frozen = {position.game for position in read_positions()}
    found: dict[str, tuple[str, str]] = {}
    for file in files:
        for record in read_games(file, lambda error: None, note=lambda text: None):
            name = f"{record.hash:016x}"
            if name in frozen:
                continue
            try:
                for step in walk(record):
                    fen = step.before.fen()
                    found[" ".join(fen.split()[:4])] = (fen, name)
            except ValueError:
                continue  # the official server differs from reconchess in a rare en passant
    order = sorted(found.values())
    random.Random(0).shuffle(order)
    yield from order


def score(files: Sequence[Path], out: Path, most: int) -> None:
    """A line for each position that was asked about: FEN, game, and Stockfish's score if the position is of use."""
    executable = find_stockfish()
    if executable is None:
        raise SystemExit("Stockfish is not found: install it, or set STOCKFISH_EXECUTABLE to its path")
    done = len(read_lines(out))
    rng = random.Random(1)
    with chess.engine.SimpleEngine.popen_uci(executable) as engine:
        for i, (fen, game) in enumerate(positions(files)):
            if i == most:
                break
            loud_kept = rng.random() < LOUD_KEPT
            if i >= done:
                row = {"fen": fen, "game": game, "score": _scored(engine, fen, loud_kept)}
                append_lines(out, json.dumps(row) + "\n")


def _scored(engine: chess.engine.SimpleEngine, fen: str, loud_kept: bool) -> int | None:
    """None where chess has nothing to say, or a capture is the best move: that is left to search."""
    board = chess.Board(fen)
    if not board.is_valid() or board.is_check() or board.is_game_over():
        return None
    after_a_ply = int(engine_values(StateSet.from_fens([fen], board.turn), 1, 20_000)[0])
    if abs(engine_evaluate(fen) - after_a_ply) > QUIET and not loud_kept:
        return None
    info = engine.analyse(board, chess.engine.Limit(nodes=NODES))
    if any(board.is_capture(move) for move in info.get("pv", [])[:1]):
        return None
    return info["score"].relative.score(mate_score=2 * DECIDED)


# -- the fit


def plain_weights() -> Floats:
    """Material, knowledge of every beginner, and nothing else; what the fit stays near to."""
    w = np.zeros((2, FEATURES))
    w[:, LAYOUT["material"]] = (100, 320, 330, 500, 900)
    placement = w[:, LAYOUT["kPlacement"]].reshape(2, 6, 8, 4)
    rank, file = np.arange(8)[:, None], np.arange(4)[None]
    from_centre = np.maximum(3 - file, np.abs(rank - 3.5) - 0.5)
    placement[:, 0] = 6.0 * rank + 4.0 * file - 12  # pawns go on, in the centre first
    placement[:, 1] = 20.0 - 16.0 * from_centre
    placement[:, 2] = 12.0 - 7.0 * from_centre
    placement[:, 3] = 2.0 * file + 16.0 * (rank == 6) - 4
    placement[:, 4] = 6.0 - 4.0 * from_centre
    placement[0, 5] = 25.0 - 16.0 * rank - 12.0 * file * (rank < 2)  # kings hide, and come out in the endgame
    placement[1, 5] = 20.0 - 10.0 * from_centre
    w[:, LAYOUT["kPlacement"]] = placement.reshape(2, -1)
    w[:, LAYOUT["kMobility"]] = (3, 3, 2, 1)
    w[0, LAYOUT["kZone"]] = (6, 6, 10, 18)
    w[1, LAYOUT["kPassed"]] = (0, 0, 5, 15, 30, 55, 90, 0)
    w[:, LAYOUT["kBishopPair"]] = 25
    return w


def win(score: Any) -> Any:
    pawns = score / 100
    return 0.5 * (1 + pawns / (PAWNS + abs(pawns)))


def fit(rows: Sequence[dict[str, Any]], steps: int) -> tuple[Floats, dict[str, float]]:
    """Weights by all positions, and root mean square errors of win probabilities in games left out of another fit."""
    import torch

    rows = [row for row in rows if row["score"] is not None and abs(row["score"]) < DECIDED]
    found = [features(row["fen"]) for row in rows]
    x = torch.tensor(np.array([f for f, _ in found]), dtype=torch.float32)
    left = torch.tensor([share for _, share in found], dtype=torch.float32)
    wanted = win(torch.tensor([row["score"] for row in rows], dtype=torch.float32))
    plain = torch.tensor(plain_weights(), dtype=torch.float32)
    out = torch.tensor([int(row["game"], 16) % 5 == 0 for row in rows])

    def error(w: Any, chosen: Any) -> Any:
        scores = (x[chosen] @ w[0]) * left[chosen] + (x[chosen] @ w[1]) * (1 - left[chosen])
        return ((win(scores) - wanted[chosen]) ** 2).mean()

    def fitted(chosen: Any) -> Any:
        w = plain.clone().requires_grad_()
        optimiser = torch.optim.Adam([w], lr=2.0)
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, [2 * steps // 3], 0.2)
        for _ in range(steps):
            optimiser.zero_grad()
            (error(w, chosen) + RIDGE * ((w - plain) ** 2).sum()).backward()
            optimiser.step()
            schedule.step()
        return w.detach()

    before = np.array([engine_evaluate(row["fen"]) for row in rows], float)
    errors = {
        "positions": len(rows),
        "engine_evaluate": float(((win(torch.tensor(before)) - wanted)[out] ** 2).mean()) ** 0.5,
        "plain weights": float(error(plain, out)) ** 0.5,
        "fitted": float(error(fitted(~out), out)) ** 0.5,
    }
    return fitted(torch.ones_like(out)).double().numpy(), errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    scoring = commands.add_parser("score", help="ask Stockfish about positions of games")
    scoring.add_argument("games", type=Path, nargs="+")
    scoring.add_argument("--out", type=Path, required=True)
    scoring.add_argument("--positions", type=int, default=100_000, help="at most, those of no use among them")
    fitting = commands.add_parser("fit", help="fit the weights to scores")
    fitting.add_argument("scores", type=Path)
    fitting.add_argument("--out", type=Path, required=True)
    fitting.add_argument("--steps", type=int, default=900)
    options = parser.parse_args()
    if options.command == "score":
        score(options.games, options.out, options.positions)
        return
    weights, errors = fit([json.loads(line) for line in read_lines(options.scores)], options.steps)
    write_header(weights, options.out)
    print(", ".join(f"{name}: {figure:,.4g}" for name, figure in errors.items()))


if __name__ == "__main__":
    main()
