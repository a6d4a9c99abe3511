"""Figures for the documents, in evidence/page.json."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from tests.support import ROOT

NOTES = ROOT / "evidence"
BOTS = ("random", "hunter", "attacker", "trout", "strange-fish")  # that games are played against


def note(name: str, value: object) -> None:
    NOTES.mkdir(exist_ok=True)
    path = NOTES / "page.json"
    figures = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(figures | {name: value}, indent=1) + "\n")
    print(f"{name}: {value}")


def summary(latencies: list[float]) -> dict[str, float]:
    """Within how many milliseconds answers came."""
    n = len(latencies)
    shares = {"half": n // 2, "95 %": int(0.95 * n), "99 %": int(0.99 * n), "all": n - 1}
    return {"answers": n} | {f"{name} within ms": round(1_000 * latencies[i], 1) for name, i in shares.items()}


def left_behind(megabytes: Sequence[float], events: Sequence[int], games: Sequence[int]) -> float:
    """Kilobytes that a game leaves behind when it is over, from figures of the same moments.

    Memory grows with the events of the games that are open, and what it has grown to is not given back: that ends
    when games end as fast as they begin. What grows with the number of games that have been begun does not end. Least
    squares tell the two apart.
    """
    held = np.maximum.accumulate(events)
    known = np.column_stack([np.ones(len(held)), held, games])
    return float(1_000 * np.linalg.lstsq(known, np.asarray(megabytes), rcond=None)[0][2])
