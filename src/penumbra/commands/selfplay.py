"""`penumbra selfplay`: games of bare networks by the thousand."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from penumbra.commands.errors import when_interrupted
from penumbra.commands.options import ArchiveToFillOption, Cap, Device, Games, Seed, Weights, examples

EXAMPLES = examples(
    "penumbra selfplay --archive selfplay.db --games 5000",
    "penumbra selfplay --archive selfplay.db --headset Top --headset Trout --temperature 0.5 --temperature 1",
)


def selfplay(
    archive: ArchiveToFillOption,
    games: Games = 1000,
    at_once: Annotated[int, typer.Option(min=1, help="How many games advance together, one batch a step.")] = 1024,
    headset: Annotated[
        list[str] | None,
        typer.Option(metavar="HEADSET", help="A headset whose policy plays; may be repeated.", show_default="Top"),
    ] = None,
    temperature: Annotated[
        list[float] | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="How freely moves are drawn: 0 always takes the likeliest; may be repeated.",
            show_default="1",
        ),
    ] = None,
    cap: Cap = 1000,
    seed: Seed = 0,
    weights: Weights = None,
    device: Device = "auto",
) -> None:
    """Play bare networks, without search, against each other by the thousand, into an archive."""
    from penumbra.commands.terminal.progress import progress
    from penumbra.games.archive import Archive
    from penumbra.training.selfplay import SelfPlay, network_policies, play

    plan = SelfPlay(games, at_once, tuple(headset or ["Top"]), tuple(temperature or [1.0]), cap, seed=seed)
    policies = network_policies(weights, device)
    for name in plan.headsets:
        policies(name)  # one that there is not is told before an archive is made
    began = time.monotonic()
    print(f"{archive}: {plan.games:,} games of {', '.join(plan.headsets)}, {plan.at_once:,} at a time", flush=True)
    with (
        when_interrupted("the games that had ended are kept"),
        Archive.open_or_create(archive) as to,
        progress("games", plan.games, every=10.0) as bar,
    ):

        def report(games: int, steps: int) -> None:
            seconds = time.monotonic() - began
            bar.show(games, f"{games:,} games, {games / seconds:,.1f} a second; {steps / seconds:,.0f} steps")

        play(plan, policies, to, report)
    print(f"{archive}: {plan.games:,} games, {plan.games / (time.monotonic() - began):,.1f} a second")
