"""The stored numbers are those of the weights that ship; whatever evaluates here comes to them."""

from __future__ import annotations

import pytest

from penumbra.bench.reference import WEIGHTS, difference, digest, evaluators, search, stored

ADVICE = "if that was meant, run: PYTHONPATH=src python -m studies.reference"
QUICK = [name for name in evaluators() if name != "torch"]


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_weights_are_those_of_the_stored_numbers(name: str) -> None:
    assert digest(WEIGHTS[name]) == stored()[0][name], f"{WEIGHTS[name]} has changed; {ADVICE}"


@pytest.mark.parametrize("name", QUICK)
def test_a_search_comes_to_the_stored_numbers(name: str) -> None:
    kind, make = evaluators()[name]
    share, where = difference(kind, search(make()), stored()[1][kind])
    assert share <= 1, f"{name}: {where}; {ADVICE}"


def test_numbers_of_another_evaluator_are_noticed() -> None:
    _, known = stored()
    assert difference("single precision", known["eight bits"], known["single precision"])[0] > 1
    assert difference("heuristic", {}, known["heuristic"])[0] > 1
