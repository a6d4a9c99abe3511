"""Everything that can be reproduced, by name, in the order of the paper."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from penumbra.extras import missing_extra
from penumbra.reproduce.request import Cost, ReproductionError, Request
from penumbra.reproduce.result import Result

WHERE = {  # module, and the name in it where the module has several
    "fig1": ("fig1", None),
    "fig-synopsis": ("fig_synopsis", None),
    "table1": ("table1", None),
    "cross1": ("cross_tables", "CROSS1"),
    "cross5": ("cross_tables", "CROSS5"),
    "crosswin": ("cross_tables", "CROSSWIN"),
    "fig-lengths": ("fig_lengths", None),
    "fig-uncertainty": ("fig_uncertainty", None),
    "table2": ("table2", None),
    "table3": ("elo_grids", "TABLE3"),
    "table4": ("elo_grids", "TABLE4"),
    "fig-saliency": ("fig_saliency", None),
    "table-saliency": ("table_saliency", None),
    "ablation": ("ablation", None),
}
ALL = "all"
ONE_RATING = ("table2", "table3", "table4")  # each game of one changes the others too


class Experiment(Protocol):
    """A module or an object of one."""

    def cost(self, request: Request) -> Cost: ...
    def run(self, request: Request) -> Result: ...


def experiment(name: str) -> Experiment:
    """What that name stands for; only its own module is loaded."""
    if name not in WHERE:
        raise ReproductionError(f"there is no experiment {name!r}; there are {', '.join(WHERE)}, and {ALL}")
    module, inside = WHERE[name]
    try:
        loaded = import_module(f"penumbra.reproduce.{module}")
    except ModuleNotFoundError as error:
        raise (missing_extra(error, name) or error) from None
    return cast(Experiment, getattr(loaded, inside) if inside else loaded)


def chosen(name: str) -> Sequence[str]:
    """The experiments of a name: itself, or all of them."""
    if name != ALL:
        experiment(name)
    return list(WHERE) if name == ALL else [name]


def reproduce(name: str, request: Request) -> Result:
    """Says what it will cost, does it, and writes the files."""
    what = experiment(name)
    foreseen = what.cost(request).line()
    request.say(f"{name} at scale {request.scale}: {foreseen}")
    began = time.monotonic()
    result = what.run(request)
    seconds = time.monotonic() - began
    result.write(request.out, request.scale, foreseen, seconds)
    request.say(f"{request.out / name}.md, .csv and .png: {seconds:,.0f} seconds")
    if name in ONE_RATING:
        rate_again([other for other in ONE_RATING if other != name], request)
    return result


def rate_again(names: Sequence[str], request: Request) -> None:
    """Writes tables of the same baselines that are there once more, with the games that have come since."""
    from penumbra.reproduce.league import public_programs

    ours = sorted(public_programs(request))
    for name in names:
        path = request.out / f"{name}.json"
        if path.is_file() and json.loads(path.read_text()).get("public", []) == ours:
            result = experiment(name).run(dataclasses.replace(request, minutes=0.0))
            result.write(request.out, request.scale, "", 0.0)
