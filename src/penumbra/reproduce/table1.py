"""Table 1: what each headset has learned from, and how well it predicts the games kept for validation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from penumbra.core import GameRecord
from penumbra.games.accounts import seats
from penumbra.games.archive import is_validation
from penumbra.reproduce import accuracy, published
from penumbra.reproduce.accuracy import Judged
from penumbra.reproduce.orders import rank_correlation, verdict
from penumbra.reproduce.plots import dots, new_figure
from penumbra.reproduce.request import Cost, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.telling import OTHER_WAY, points_for_correlation
from penumbra.training.data import learns_from, top_players
from penumbra.training.evaluation import MEASURES
from penumbra.training.recipe import Plan, Recipe, read_recipe

NAME, TITLE = "table1", "Table 1: headsets, their data and their accuracies"
SHIPPED_RECIPE = "full"  # of both networks that come with the program
LABELS = {"top1": "top-1 %", "top5": "top-5 %", "winner": "winner %"}


def cost(request: Request) -> Cost:
    return accuracy.cost(request)


def run(request: Request) -> Result:
    judged = accuracy.judge(request)
    paper = {row["headset"]: row for row in published.rows("table1")}
    training = _training_recipe(request, judged)
    top = top_players(judged.games.records)
    rows: list[list[Cell]] = []
    own = {measure: judged.evaluation.own(measure) for measure in MEASURES}
    for name, plan in judged.recipe.plans.items():
        if name not in judged.evaluation.data:
            continue
        learned = None if training is None else training.plans.get(name)
        row: list[Cell] = [name, *count(judged.games.records, plan, top)]
        row += [learned.multiplicity, learned.weight, learned.stop_gradient] if learned else [None] * 3
        for measure in MEASURES:
            theirs = float(paper[name][measure]) if name in paper else None
            row += [round(100 * own[measure][name], 1), theirs]
        rows.append(row)
    heading = ["headset", "games", "train actions", "validation actions", "multiplicity", "weight", "stop gradient"]
    for measure in MEASURES:
        heading += [LABELS[measure], f"{LABELS[measure]} (paper)"]
    shared = [name for name in own["top1"] if name in paper]
    return Result(NAME, TITLE, Grid(heading, rows), _figure(own, shared), notes(judged), _claims(own, shared))


def count(records: Sequence[GameRecord], plan: Plan, top: Sequence[str]) -> tuple[int, int, int]:
    """Games, and actions of this headset's players in those for training and in those for validation."""
    played, actions = 0, [0, 0]
    for record in records:
        learns = learns_from(plan, np.array(seats(record)), top)
        first = 1 if " b " in record.start_fen else 0
        played += bool(learns.any())
        for ply, square in enumerate(record.senses):
            if learns[(ply + first) % 2]:
                actions[is_validation(record)] += int(square >= 0) + int(ply < len(record.moves))
    return played, actions[0], actions[1]


def notes(judged: Judged) -> list[str]:
    """What the numbers of this evaluation are measured on."""
    networks = ", ".join(str(path.name) for path in judged.weights)
    return [
        f"Ours: {networks} on the validation tenth of {judged.games.origin}; at most "
        f"{int(judged.evaluation.examples.max()):,} examples of a headset's data.",
        "A headset with a name of the paper's is of a player of ours after the same program, not of that program: "
        "columns compare in kind. Marmot, Genetic, Zugzwang and Human are not among our players.",
    ]


def _training_recipe(request: Request, judged: Judged) -> Recipe | None:
    """What the networks were trained by: the recipe that is given, or that of the shipped ones; None: unknown."""
    if request.recipe is None and request.weights:
        return None
    return read_recipe(request.recipe or SHIPPED_RECIPE)


def _claims(own: dict[str, dict[str, float]], shared: Sequence[str]) -> list[Claim]:
    claims = []
    players = [name for name in shared if name not in ("All", "Top")]
    for measure, extreme in (("top1", min), ("top5", min), ("winner", max)):
        paper = published.column("table1", "headset", measure)
        theirs, ours = extreme(players, key=paper.__getitem__), extreme(players, key=own[measure].__getitem__)
        word = "hardest" if extreme is min else "easiest"
        claims.append(Claim(f"{word} player to predict by {LABELS[measure][:-2]}", theirs, ours, theirs == ours))
        alike = rank_correlation([paper[name] for name in players], [own[measure][name] for name in players])
        holds = verdict(alike, len(players), positive=True)
        claims.append(
            Claim(
                f"order of the players by {LABELS[measure][:-2]}",
                "1",
                f"rank correlation {alike:.2f}",
                holds,
                points_for_correlation(alike) if alike > 0 else None,
                f"players as alike; here are {len(players)}, in the paper 12" if alike > 0 else OTHER_WAY,
            )
        )
    return claims


def _figure(own: dict[str, dict[str, float]], shared: Sequence[str]) -> Figure:
    figure, axes = new_figure(TITLE, 12, 5, len(MEASURES))
    for ax, measure in zip(axes, MEASURES, strict=True):
        paper = published.column("table1", "headset", measure)
        columns = {
            "ours": [(100 * own[measure][name], 0.0) for name in shared],
            "paper": [(paper[name], 0.0) for name in shared],
        }
        dots(ax, shared, columns)
        ax.set_xlabel(LABELS[measure])
    return figure
