"""Reconchess players, written to files, that misbehave from their second turn on."""

from __future__ import annotations

import textwrap
from pathlib import Path

HEAD = """
import os, signal, sys, time
import chess
from reconchess import Player
class Bad(Player):
    def handle_game_start(self, color, board, opponent_name): self.turns = 0
    def handle_opponent_move_result(self, captured_my_piece, capture_square): self.turns += 1
    def choose_sense(self, sense_actions, move_actions, seconds_left): return 0
    def handle_sense_result(self, sense_result): pass
    def choose_move(self, move_actions, seconds_left): return None
    def handle_move_result(self, requested_move, taken_move, captured_opponent_piece, capture_square): pass
    def handle_game_end(self, winner_color, win_reason, game_history): pass
"""


def write_bot(folder: Path, name: str, method: str, body: str) -> Path:
    path = folder / f"{name.replace(' ', '_')}.py"
    rest = "return 0" if method.startswith("choose_sense") else "return None"
    path.write_text(
        HEAD + textwrap.indent(f"def {method}:\n    if self.turns >= 2:\n        {body}\n    {rest}\n", "    ")
    )
    return path
