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
    facts = [states, f"{step['nodes']:,} nodes", f"{step['seconds']:.2f} s"]
    if step["value"] is not None:
        facts.insert(0, f"value {_hundredths(step['value'])}")
    text = [f"{head}; played {step['played']}", "  " + ", ".join(facts), "  belief: " + _belief(step)]
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


def _belief(step: dict[str, Any]) -> str:
    """How the belief stood: its particles, where they come from, and what it took to refill it."""
    particles, health = step["particles"], step.get("health")
    if not particles:
        return "not used"  # the action was chosen without it
    if health is None:
        return _count(particles, "particle")
    few = " (few for a search)" if step["reason"] == "search" and health["few"] else ""
    facts = [
        f"{_count(particles, 'particle')}{few} from {health['ancestors']:,} a turn ago",
        _count(health["singletons"], "singleton"),
        f"{health['rejections']:,.1f} rejections each",
        f"{health['seconds']:.2f} s",
    ]
    return ", ".join(facts)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _hundredths(value: float | None) -> str:
    return "  -" if value is None else f"{100 * value:3.0f}"
