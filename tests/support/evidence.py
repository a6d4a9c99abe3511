"""How much the tests do: the usual number of cases, or with `pytest --evidence` as many as the documents rely on."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

full_size = False  # set by tests/conftest.py, before the modules that ask for it are imported


def scale(usual: T, evidence: T) -> T:
    return evidence if full_size else usual
