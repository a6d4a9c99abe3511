"""`penumbra doctor`: what an installation runs on."""

from __future__ import annotations

import re

from tests.support.processes import run_penumbra as run


def test_doctor_names_the_core() -> None:
    result = run("doctor", PENUMBRA_CORE="generic")
    assert re.search(r"native core +generic", result.stdout)
    assert re.search(r"network kernels +(our own for avx|onnxruntime, in )", result.stdout)
    assert ("is not installed" in result.stderr) == (result.returncode == 1)
