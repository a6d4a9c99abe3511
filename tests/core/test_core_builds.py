"""The builds of the native core: the right one is chosen, each says which it is, and all give the same answers."""

from __future__ import annotations

import os

import pytest

from penumbra import core
from penumbra.core import _cpu
from tests.support.processes import run_python

# A random game, its record, and the set of states White holds possible in it, reduced to one line.
SCRIPT = """
import hashlib, random
from penumbra import core
from penumbra.rbc.tracker import Tracker

rng, game, tracker = random.Random(5), core.Game(), Tracker(True)
seen = hashlib.sha256()
while not game.over and len(tracker) < 20_000:
    white = game.turn
    if white:
        tracker.opponent_moved(game.capture)
    square = rng.randrange(64)
    contents = [content for _, content in game.sense(square)]
    actions = game.legal_actions()
    requested = rng.choice(actions)
    _, capture = game.move(requested)
    if white:
        tracker.sensed(square, contents)
        tracker.moved(game.last_request, game.last_taken, capture, game.over)
    seen.update(repr((contents, actions, game.fen())).encode())
for fen in tracker.current.sample(1000, 1):
    seen.update(fen.encode())
print(core.BUILD, seen.hexdigest())
"""


def test_the_processor_decides() -> None:
    if "PENUMBRA_CORE" in os.environ:
        pytest.skip("the choice is overridden")
    fast = {"x86_64_v3", "bmi2"} <= set(_cpu.features())
    expected = "x86_64_v3" if fast else "generic"
    assert expected == core.BUILD


def test_builds_agree() -> None:
    if "x86_64_v3" not in _cpu.features():
        pytest.skip("this processor runs the generic build alone")
    words = [run_python("-c", SCRIPT, PENUMBRA_CORE=build).stdout.split() for build in ("generic", "x86_64_v3")]
    assert [word[0] for word in words] == ["generic", "x86_64_v3"]
    assert words[0][1] == words[1][1]


def test_an_unknown_build_is_refused() -> None:
    result = run_python("-c", SCRIPT, PENUMBRA_CORE="z80")
    assert result.returncode != 0
    assert "PENUMBRA_CORE=z80: no such build of the core; known are generic, x86_64_v3" in result.stderr
