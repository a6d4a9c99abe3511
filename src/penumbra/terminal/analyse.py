"""`penumbra analyse` as text: each step's choice, what else there was, and where the opposing pieces are believed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

BEST = 6
LIKELY = 0.1


def show(steps: Iterable[dict[str, Any]]) -> None:
    for step in steps:
        print("\n".join(lines(step)))
        print()


def lines(step: dict[str, Any]) -> list[str]:
    """One step; likelihoods and values in hundredths."""
    states = f"{step['states']:,} states" + ("" if step["complete"] else " of more")
    head = f"turn {step['turn']}, {step['player']}, {step['step']}: {step['chosen']} ({step['reason']})"
    facts = [states, f"{step['particles']} particles", f"{step['nodes']} nodes", f"{step['seconds']:.2f} s"]
    if step["value"] is not None:
        facts.insert(0, f"value {_hundredths(step['value'])}")
    text = [f"{head}; played {step['played']}", "  " + ", ".join(facts)]
    if step["reason"] in ("search", "policy"):
        for action in step["actions"][:BEST]:
            text.append(
                f"  {action['action']:<10} policy {_hundredths(action['policy'])}"
                f"  visits {action['visits']:>7.0f}  value {_hundredths(action['value'])}"
            )
    for piece in "KQRBNP":
        places = {s: p[piece] for s, p in step["belief"].items() if p.get(piece, 0) >= LIKELY}
        if places:
            ranked = sorted(places.items(), key=lambda item: -item[1])
            text.append(f"  {piece}: " + "  ".join(f"{square} {_hundredths(p)}" for square, p in ranked))
    return text


def _hundredths(value: float | None) -> str:
    return "  -" if value is None else f"{100 * value:3.0f}"
