"""Table 2: Elo of the five variants of Penumbra and of the baselines, each recognised in several ways."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from penumbra.games.ratings import Ratings
from penumbra.reproduce import league, published, variants
from penumbra.reproduce.league import STAND_INS, Baseline, shown_elo, stronger
from penumbra.reproduce.orders import rank_correlation, verdict
from penumbra.reproduce.plots import dots, new_figure
from penumbra.reproduce.request import Cost, Request
from penumbra.reproduce.result import Cell, Claim, Grid, Result
from penumbra.reproduce.telling import TWO_SIDES, games_for_order, needing

NAME, TITLE = "table2", "Table 2: Elo of the variants and the baselines"


def cost(request: Request) -> Cost:
    return variants.cost(request, NAME)


def run(request: Request) -> Result:
    ratings, notes = variants.rated(request, NAME)
    real, failed = league.public_programs(request), league.faults(request, *variants.planned(request, NAME))
    paper = published_elo()
    there = {rating.name: rating for rating in ratings.players}
    rows: list[list[Cell]] = []
    for name, (elo, margin) in paper.items():
        if name in there:
            ours = there[name]
            measured = [round(ours.elo), round(ours.margin), ours.games, round(100 * ours.share)]
            rows.append([name, *measured, elo, margin, failed[name], _program(name, real)])
    rows.sort(key=lambda row: -float(row[1] or 0))
    names = [str(row[0]) for row in rows]
    figure, (ax,) = new_figure(TITLE, 9, 0.4 * len(names) + 1.5)
    ours_and_theirs = {
        "ours": [(there[name].elo, there[name].margin) for name in names],
        "paper": [paper[name] for name in names],
    }
    dots(ax, names, ours_and_theirs)
    ax.set_xlabel("Elo")
    heading = ["player", "Elo", "±", "games", "score %", "paper's Elo", "paper's ±", "faults", "program"]
    shown = Grid(
        ["player", "ours", "paper", "games", "score %", "ended by its fault", "program"],
        [[row[0], _elo(row[1], row[2]), _elo(row[5], row[6]), *row[3:5], *row[7:]] for row in rows],
    )
    claims = _claims(ratings, names)
    return Result(NAME, TITLE, Grid(heading, rows), figure, notes, claims, [shown], tuple(sorted(real)))


def _program(name: str, real: Mapping[str, Path]) -> str:
    """What a row is: a variant of Penumbra, a public program, or our kind after it."""
    bot = name.partition(" ")[0]
    if bot not in league.KINDS:
        return "Penumbra"
    return f"public, {real[bot].name}" if bot in real else "our kind after it"


def published_elo() -> dict[str, tuple[float, float]]:
    """(Elo, interval) of each of the paper's rows, under our names."""
    found = {}
    for row in published.rows("table2"):
        is_baseline = row["bot"] in league.KINDS
        recognised = STAND_INS.get(row["recognized as"], row["recognized as"])
        name = Baseline(row["bot"], recognised).name if is_baseline else row["bot"]
        found[name] = float(row["elo"]), float(row["margin"])
    return found


def _claims(ratings: Ratings, there: list[str]) -> list[Claim]:
    paper = published_elo()
    order = [name for name in paper if name in there]  # the best first
    ours = [name for name in order if name.startswith("Penumbra")]
    others = [name for name in order if not name.startswith("Penumbra")]
    stocky = [name for name in others if name.startswith("StockyInference")]
    weak = [name for name in others if name not in stocky]
    pairs = [*pairwise(ours), *pairwise(stocky), *pairwise(weak)]
    pairs += [(a[0], b[0]) for a, b in pairwise((ours, stocky, weak)) if a and b]
    claims = [stronger(ratings, a, b, (paper[a][0], paper[b][0])) for a, b in pairs]
    alike = rank_correlation([paper[name][0] for name in order], [ratings.of(name).elo for name in order])
    holds = verdict(alike, len(order), positive=True)
    deviations = [ratings.of(name).margin / TWO_SIDES for name in order]
    more = games_for_order(ratings.games, deviations, [paper[name][0] for name in order])
    whole = Claim(
        "the order of all of them",
        "1",
        f"rank correlation {alike:.2f}",
        holds,
        *needing(more, ratings.games, "games in all"),
    )
    return [whole, *claims]


def _elo(elo: Cell, margin: Cell) -> str:
    assert isinstance(elo, int | float) and isinstance(margin, int | float)
    return shown_elo(elo, margin)
