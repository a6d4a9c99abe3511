"""The log of a game: whole lines, whatever the disk does."""

from __future__ import annotations

from pathlib import Path

import pytest

from penumbra.server.game_log import GameLog, Setup, SideSetup
from penumbra.server.messages import Refusal
from tests.support.full_disk import full_disk

SETUP = Setup("abc", 1, SideSetup("Ann"), SideSetup("Bob"), 2)


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path) -> None:
    """The game goes on from the log as soon as there is room again."""
    log = GameLog(tmp_path / "abc.jsonl")
    log.create(SETUP)
    log.append({"step": 0, "sense": "e4"})
    with full_disk(log.path.stat().st_size + 5), pytest.raises(Refusal, match="the game cannot be written"):
        log.append({"step": 1, "move": "e2e4"})
    log.append({"step": 1, "move": "e2e4"})
    assert log.read().steps == [{"step": 0, "sense": "e4"}, {"step": 1, "move": "e2e4"}]


def test_a_game_that_cannot_begin_leaves_nothing(tmp_path: Path) -> None:
    log = GameLog(tmp_path / "abc.jsonl")
    with full_disk(5), pytest.raises(Refusal, match="the game cannot be written"):
        log.create(SETUP)
    assert not log.path.exists() or not log.path.read_bytes()
