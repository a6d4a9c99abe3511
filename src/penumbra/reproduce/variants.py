"""The variants of Penumbra that Tables 2 to 4 compare, and how much each table plays at each scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penumbra.games.ratings import Ratings
from penumbra.reproduce import league, published
from penumbra.reproduce.accuracy import in_words, one_network
from penumbra.reproduce.league import EVERY, FEW, Sizes, Variant
from penumbra.reproduce.request import Cost, Request

PAPER_NODES = 10_000  # of a step; the paper's program made about 4,000 a second under its clock
PAPER_TABLE2 = int(published.fact("games a pairing, table 2"))
PAPER_GRIDS = int(published.fact("games a pairing, tables 3 and 4"))

WHOLE = {"b": 256, "n_particles": 4_096, "ell": 128, "d": [6, 12]}  # the paper's, however few nodes are asked for
SHALLOW = {"b": 8, "d": [3, 6], "k": 16, "n_particles": 16}  # for cores that have other things to do
TINY = Sizes(1, 8, FEW[::2], 1_000, "heuristic", {"b": 4, "d": [1, 2], "k": 4, "n_particles": 8})
HASTY: dict[str, Any] = {"cap": 2_000, "settings": SHALLOW}

SCALES: Mapping[str, Mapping[str, Sizes]] = {
    "table2": {
        "tiny": TINY,
        "smoke": Sizes(1, 16, EVERY, **HASTY),
        "small": Sizes(8, 256, EVERY, settings={"b": 16, "n_particles": 64}),
        "paper": Sizes(PAPER_TABLE2, PAPER_NODES, EVERY, settings=WHOLE),
    },
    "table3": {
        "tiny": TINY,
        "smoke": Sizes(1, 16, FEW, **HASTY),
        "small": Sizes(6, 256, FEW, settings={"b": 16, "n_particles": 64}),
        "paper": Sizes(PAPER_GRIDS, PAPER_NODES, EVERY, settings=WHOLE),
    },
    "table4": {
        "tiny": TINY,
        "smoke": Sizes(2, 16, FEW, **HASTY),
        "small": Sizes(12, 256, FEW, settings={"b": 16, "n_particles": 64}),
        "paper": Sizes(PAPER_GRIDS, PAPER_NODES, EVERY, settings=WHOLE),
    },
}


def cautious(caution: int, paranoia: int) -> Variant:
    """Table 3: PenumbraMixture with κ and φ in percent."""
    return Variant(f"κ={caution}% φ={paranoia}%", settings={"kappa": caution / 100, "phi": paranoia / 100})


def exploring(rule: str, c: int) -> Variant:
    """Table 4: a bandit rule and its constant, with κ = φ = 20 %."""
    settings = {"rule": rule.lower(), "c": float(c), "kappa": 0.2, "phi": 0.2}
    return Variant(f"{rule} c={c}", settings=settings)


VARIANTS: Mapping[str, Sequence[Variant]] = {
    "table2": [
        Variant(f"Penumbra{preset.capitalize()}", preset)
        for preset in ("mixture", "simple", "cache", "tree", "network")
    ],
    "table3": [cautious(int(row["caution"]), int(row["paranoia"])) for row in published.rows("table3")],
    "table4": [exploring(row["rule"], int(row["c"])) for row in published.rows("table4")],
}


def planned(request: Request, table: str) -> tuple[Sequence[Variant], Sizes]:
    """Who plays for a table, and how much."""
    variants = VARIANTS[table]
    return variants[:2] if request.scale == "tiny" else variants, request.of(SCALES[table])


def cost(request: Request, table: str) -> Cost:
    return league.cost(request, *planned(request, table))


def rated(request: Request, table: str) -> tuple[Ratings, list[str]]:
    """Plays what is missing of a table; all games of all three that are there rated, and what that rests on."""
    league.play(request, *planned(request, table))
    found = {name: league.results(request, *planned(request, name)) for name in VARIANTS}
    ratings = league.rating(sum(found.values(), Counter()))
    return ratings, notes(request, table, ratings, found[table].total())


def notes(request: Request, table: str, ratings: Ratings, games: int) -> list[str]:
    """What a table rests on."""
    variants, sizes = planned(request, table)
    pairings = len(variants) * len(sizes.against)
    network = "the heuristic evaluator" if sizes.evaluator != "network" else in_words(one_network(request))
    against = "every baseline" if sizes.against == EVERY else ", ".join(baseline.name for baseline in sizes.against)
    changed = "".join(f", {name} {value}" for name, value in sizes.settings.items())
    failed = league.faults(request, variants, sizes)
    return [
        f"Ours: {games:,} games in {pairings} pairings, {len(variants)} variants against {against}, "
        f"{request.nodes or sizes.nodes:,} nodes a step{changed}, {network}, on {request.device}; one rating over the "
        f"{ratings.games:,} games of Tables 2 to 4 that are there, {league.ANCHOR.name} at {league.ANCHOR_ELO:.0f}; "
        "intervals are of 95 %.",
        f"The paper played {PAPER_TABLE2 if table == 'table2' else PAPER_GRIDS} games a pairing against the real "
        f"programs, by the clock; {who_played(request, sizes)} DynamicEntropy's headset stands for Genetic's.",
        *([f"Not rated: games that ended by a fault of {_listed(failed)}."] if failed else []),
    ]


def who_played(request: Request, sizes: Sizes) -> str:
    """Which baselines were the public programs, and which our own kinds after them."""
    bots = dict.fromkeys(baseline.bot for baseline in sizes.against)
    real = league.public_programs(request)
    public = ", ".join(f"{bot} ({real[bot].name})" for bot in bots if bot in real)
    own = ", ".join(bot for bot in bots if bot not in real)
    parts = [f"the public programs here: {public}" if public else "", f"our own kinds after them: {own}" if own else ""]
    return "; ".join(part for part in parts if part) + "."


def _listed(failed: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted(failed.items()))
