"""Nothing in `penumbra.dsmcp` knows chess: with all of that out of reach, phantom tic-tac-toe is still played."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support import ROOT

BLOCKED = ("penumbra.rbc", "penumbra.players", "penumbra.network", "penumbra.interop", "chess", "reconchess")

PROGRAM = f"""
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if any(name == blocked or name.startswith(blocked + ".") for blocked in {BLOCKED!r}):
            raise ImportError(f"{{name}} is out of reach")
        return None

sys.meta_path.insert(0, Refuse())
for name in {BLOCKED!r}:
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(f"{{name}} was imported")

from examples.phantom_tic_tac_toe.domain import Side, attempt, result
from examples.phantom_tic_tac_toe.evaluators import LineEvaluator
from examples.phantom_tic_tac_toe.player import PhantomPlayer

players = [PhantomPlayer(player, LineEvaluator(), nodes=100) for player in (0, 1)]
sides = [Side(), Side()]
for turn in range(18):
    player = turn % 2
    cell = players[player].choose()
    after = attempt(sides[player], sides[1 - player], cell)
    placed, sides[player] = after.marks != sides[player].marks, after
    if result(after, sides[1 - player]) is not None:
        break
    players[player].told(cell, placed)
else:
    raise AssertionError("the game did not end")
print("ended after", turn + 1, "turns")
"""


def test_a_game_without_chess() -> None:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    played = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert played.returncode == 0, played.stderr
    assert played.stdout.startswith("ended after")


def test_dsmcp_names_no_chess_in_its_imports() -> None:
    for path in (ROOT / "src" / "penumbra" / "dsmcp").glob("*.py"):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"]):
                assert not words[1].startswith(BLOCKED), f"{path.name}: {line}"
