"""Figures for the documents, in evidence/page.json."""

from __future__ import annotations

import json

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
