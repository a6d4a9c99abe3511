"""Which network answers: the headset of the opponent, shared by a process, without torch."""

from __future__ import annotations

import subprocess
import sys

from penumbra.network import loading
from penumbra.network.cache import CachedEvaluator
from penumbra.network.onnx_evaluator import OnnxEvaluator
from penumbra.network.quantization.int8_evaluator import Int8Evaluator
from penumbra.players.penumbra import factory
from penumbra.players.penumbra.configuration import Configuration
from tests.support import ROOT


def test_the_opponent_recognised_decides_the_headset() -> None:
    evaluator = loading.network_evaluator(None, "cpu", "Trout")
    assert isinstance(evaluator, CachedEvaluator) and isinstance(evaluator.evaluator, OnnxEvaluator | Int8Evaluator)
    asked = evaluator.evaluator
    assert (asked.policy, asked.value, asked.opponent) == ("Penumbra", "All", "Trout")
    assert "StrangeFish" in loading.network_headsets(None, "cpu")
    made = factory.make_evaluators(Configuration(device="cpu"), "TroutBot")
    assert made == (evaluator, evaluator)  # shared by all games of the process


def test_playing_starts_without_torch() -> None:
    program = (
        "import sys\n"
        "from penumbra.players.penumbra import factory\n"
        "factory.make_evaluators(factory.Configuration(device='cpu'), 'x')\n"
        "assert 'torch' not in sys.modules\n"
    )
    source = str(ROOT / "src")
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": source, "PATH": ""})
