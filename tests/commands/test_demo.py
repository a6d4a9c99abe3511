"""`penumbra demo`: a whole game, the same for the same seed, with what Penumbra believes."""

from __future__ import annotations

import re
from pathlib import Path

from penumbra.interop.history import read_record
from tests.support.processes import run_penumbra as run

QUICK = ("--white", "hunter", "--black", "random", "--seed", "1")


def test_demo_plays_a_whole_game_and_writes_it(demo_file: Path) -> None:
    record = read_record(demo_file)
    assert (record.white_name, record.black_name) == ("Hunter", "Random")
    assert record.reason is not None
    assert len(record.moves) == len(record.senses)


def test_demo_shows_what_penumbra_believes(tmp_path: Path) -> None:
    """By default Penumbra plays: after each of its steps come the value, the number of states and its best actions."""
    result = run("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Penumbra v Hunter\n")
    record = read_record(tmp_path / "demo.json")
    thoughts = re.findall(r"^ {17}(?:value \d+, [\d,]+ states; |only action: |sure win: )", result.stdout, re.MULTILINE)
    assert len(thoughts) == 2 * ((len(record.moves) + 1) // 2)
    assert "\x1b" not in result.stdout


def test_demo_repeats_itself_by_seed(demo_file: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again.json", tmp_path / "other.json"
    run("demo", *QUICK, "--out", str(again))
    run("demo", *QUICK, "--out", str(other), "--seed", "2")
    assert again.read_text() == demo_file.read_text() != other.read_text()
