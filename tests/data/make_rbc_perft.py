"""Counts sequences of RBC turns with reconchess and writes perft_rbc.json: `python -m tests.data.make_rbc_perft`.

A turn is a distinct taken move (castling through check and every promotion included) or the pass, which also stands
for every request that fails. A king's capture ends a sequence, which counts once for its own and for every greater
length. Clocks play no part.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import chess

from tests.oracles.state_set import State, board_of, state_of, successor, taken_moves_by_request

DATA = Path(__file__).parent


def rbc_perft(fen: str, depth: int) -> list[int]:
    """The number of sequences of 1, 2, … `depth` turns or ended before, a state met by several being expanded once."""
    level = Counter([state_of(chess.Board(fen))])  # sequences that lead to each state in which the game goes on
    ended = 0
    counts = []
    for _ in range(depth):
        following: Counter[State] = Counter()
        for state, sequences in level.items():
            board = board_of(state)
            for taken in taken_moves_by_request(board):
                following[successor(board, taken)] += sequences
        counts.append(ended + following.total())
        level = Counter({state: n for state, n in following.items() if state.kings.bit_count() == 2})
        ended = counts[-1] - level.total()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=4)
    depth = parser.parse_args().depth
    positions = json.loads((DATA / "perft_chess.json").read_text())["positions"]
    about = "RBC perft, passes included, king captures final; made by make_rbc_perft.py from reconchess 1.6.9."
    lines = []
    for position in positions:
        counted = {"name": position["name"], "fen": position["fen"], "counts": rbc_perft(position["fen"], depth)}
        lines.append(json.dumps(counted))
        print(lines[-1], flush=True)
    body = ",\n    ".join(lines)
    text = f'{{\n  "about": {json.dumps(about)},\n  "positions": [\n    {body}\n  ]\n}}\n'
    (DATA / "perft_rbc.json").write_text(text)


if __name__ == "__main__":
    main()
