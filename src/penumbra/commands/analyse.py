"""`penumbra analyse`: each step's choice, what else there was, and where the opposing pieces are believed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

import penumbra
from penumbra.commands.options import AsJson, Config, Nodes, Seconds, Seed, Side, examples

EXAMPLES = examples(
    "penumbra analyse demo.json --turn 3 --nodes 500",
    "penumbra analyse demo.json --player black --preset mixture --seconds 2",
    "penumbra analyse --stdio --nodes 500 <queries.jsonl",
)
BEST = 6  # actions listed for each step
LIKELY = 0.1  # the least probability at which a piece is listed on a square


def analyse(
    file: Annotated[
        Path | None, typer.Argument(help="A game file as reconchess writes it (JSON).", show_default=False)
    ] = None,
    turn: Annotated[
        int | None,
        typer.Option(min=1, help="Which of the player's turns, counted from 1.", show_default="all of them"),
    ] = None,
    player: Annotated[Side | None, typer.Option(help="From whose point of view.", show_default="both")] = None,
    preset: Annotated[
        str, typer.Option(help="penumbra, or a variant of the paper: mixture, tree, cache, network, simple.")
    ] = "penumbra",
    seconds: Seconds = None,
    nodes: Nodes = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Answer queries, one line of JSON each, until the input ends.")
    ] = False,
    at_once: Annotated[int, typer.Option(min=1, help="With --stdio: work on so many queries at the same time.")] = 1,
    config: Config = None,
) -> None:
    """Say what Penumbra would have done in a game, knowing what the player knew, and what it would have believed.

    The line `belief` of each step says what the search stood on: how many particles, from how many different ones of a
    turn ago they come, how many are singletons, made because none could be drawn, and what it took to refill them.

    With --stdio programs ask, in JSON, about games, live games and positions; docs/protocol.md explains how.
    """
    if stdio:
        if file is not None or turn is not None or player is not None or as_json or preset != "penumbra":
            raise ValueError("with --stdio each query names its own game, turns, player and preset")
        answer_queries(config, seconds, nodes, seed, at_once)
        return
    if file is None:
        raise ValueError("which game? Name a file, or use --stdio to answer queries")
    if config is not None or at_once != 1:
        raise ValueError("--config and --at-once go with --stdio alone")
    steps = penumbra.analyse(file, turn=turn, player=player, preset=preset, seconds=seconds, nodes=nodes, seed=seed)
    if as_json:
        print(json.dumps(list(steps), indent=1))
    else:
        show(steps)


def answer_queries(config: Path | None, seconds: float | None, nodes: int | None, seed: int, at_once: int) -> None:
    """The analysis protocol on standard input and output; what else there is to say goes to standard error."""
    import dataclasses
    import sys

    from penumbra.players.penumbra.configuration import Configuration, from_file
    from penumbra.review.analysis_engine import AnalysisEngine

    base = Configuration() if config is None else from_file(config)
    if seconds is not None or nodes is not None:
        base = dataclasses.replace(base, seconds=seconds, nodes=nodes)
    out = sys.stdout

    def write(answer: dict[str, Any]) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    engine = AnalysisEngine(write, dataclasses.replace(base, seed=seed), at_once)
    try:
        for line in sys.stdin.buffer:
            if line.strip():
                engine.take(line)
    except BaseException:
        engine.close(cancel=True)
        raise
    engine.close()


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
