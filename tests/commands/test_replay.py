"""`penumbra replay` and what it draws."""

from __future__ import annotations

import json
import re
from pathlib import Path

from penumbra.commands.terminal.board import rich_board
from penumbra.commands.terminal.frames import frames_of
from penumbra.interop.history import read_record
from penumbra.rbc.text_board import plain_board
from tests.support.processes import run_penumbra as run


def test_replay_shows_every_step_with_both_sets(demo_file: Path) -> None:
    result = run("replay", str(demo_file), "--plain")
    record = read_record(demo_file)
    assert result.returncode == 0
    assert result.stdout.startswith("Hunter v Random\nturn 1, White")
    assert len(re.findall(r"states: White [\d,]+", result.stdout)) == len(record.senses) + len(record.moves)
    assert re.search(r"turn 1, Black .*states: White 1, Black 21\n", result.stdout)
    assert result.stdout.endswith("wins: king capture.\n")


def test_frames_follow_the_game(demo_file: Path) -> None:
    record = read_record(demo_file)
    frames = list(frames_of(record))
    assert [frame.is_move for frame in frames] == [False, True] * len(record.moves)
    assert all(frame.sensed for frame in frames if not frame.is_move)
    assert frames[-1].fen == record.replay().fen()


def test_a_broken_game_file_is_named_with_its_turn(demo_file: Path, tmp_path: Path) -> None:
    data = json.loads(demo_file.read_text())
    data["requested_moves"]["false"][2] = {"type": "Move", "value": "e1e2"}
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(data))
    result = run("replay", str(broken))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"penumbra: {broken}: turn 3 of Black: ")
    broken.write_text(demo_file.read_text()[:-100])
    assert "is not JSON" in run("replay", str(broken)).stderr


def test_boards_show_the_same_pieces_plain_and_rich() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1"
    assert plain_board(fen, {4, 12}) == "\n".join(
        [
            "8  .  .  .  .  k  .  .  .",
            *(f"{rank}  .  .  .  .  .  .  .  ." for rank in range(7, 2, -1)),
            "2  .  .  .  . [P] .  .  .",
            "1  .  .  .  . [K] .  .  R",
            "   a  b  c  d  e  f  g  h",
        ]
    )
    assert [len(line) for line in rich_board(fen).plain.split("\n")] == [26] * 8 + [25]
    assert re.findall(r"[♟♞♝♜♛♚]", rich_board(fen).plain) == list("♚♟♚♜")
