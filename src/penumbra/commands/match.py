"""`penumbra match`: games between two players; a bar and the score while it runs, the account at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import first, folder_to_fill
from penumbra.commands.errors import FAILED, INTERRUPTED, complain
from penumbra.commands.options import (
    AsJson,
    Config,
    Nodes,
    PlayerArgument,
    Seconds,
    Seed,
    Workers,
    examples,
)

if TYPE_CHECKING:
    from penumbra.arena.game_loop import Clock
    from penumbra.arena.match import Match
    from penumbra.arena.score import GameResult, Score

EXAMPLES = examples(
    "penumbra match penumbra hunter --games 10 --nodes 200 --clock none",
    "penumbra match penumbra:tree trout --games 20 --nodes 500 --clock none",
    "penumbra match penumbra strange-fish --nodes 500 --sprt --elo0 0 --elo1 30",
)
PYTHON = "The Python, of another installation of Penumbra, in which player {} runs."
NAME = "What results and game files call player {}."
FAULTS_SHOWN = 5  # games
GAMES = "How many games at most; A has White in the first and colours alternate."


def match(
    a: PlayerArgument,
    b: PlayerArgument,
    python_a: Annotated[str | None, typer.Option(metavar="PATH", help=PYTHON.format("A"))] = None,
    python_b: Annotated[str | None, typer.Option(metavar="PATH", help=PYTHON.format("B"))] = None,
    name_a: Annotated[str | None, typer.Option(metavar="NAME", help=NAME.format("A"))] = None,
    name_b: Annotated[str | None, typer.Option(metavar="NAME", help=NAME.format("B"))] = None,
    games: Annotated[int | None, typer.Option(min=1, help=GAMES, show_default="2; with --sprt 10000")] = None,
    clock: Annotated[
        str,
        typer.Option(
            metavar="SECONDS+INCREMENT",
            help="Each player's seconds for a whole game, and those added after each turn; none: no clock.",
        ),
    ] = "900+5",
    opening_plies: Annotated[
        int,
        typer.Option(
            min=0,
            max=100,
            help="Begin each game with so many moves at random, the same for every two games with colours exchanged.",
        ),
    ] = 0,
    seconds: Seconds = None,
    nodes: Nodes = None,
    workers: Workers = 1,
    seed: Seed = 0,
    sprt: Annotated[
        bool, typer.Option("--sprt", help="Stop as soon as a sequential test tells whether A is better.")
    ] = False,
    elo0: Annotated[float, typer.Option(help="With --sprt, H0: A is better by at most so much Elo.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="With --sprt, H1: A is better by at least so much Elo.")] = 30.0,
    ponder: Annotated[bool, typer.Option("--ponder", help="Penumbra thinks during its opponent's turn too.")] = False,
    config: Config = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the games, and for what players in other processes print.",
            callback=first(folder_to_fill),
        ),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Write Penumbra's decisions beside the games; needs --out.")
    ] = False,
) -> None:
    """Play games between two players and say who is better, and how sure that is."""
    import dataclasses

    from penumbra.arena.entrants import entrant
    from penumbra.arena.match import Match
    from penumbra.arena.sprt import Sprt
    from penumbra.players.penumbra.configuration import Configuration, from_file

    if record and out is None:
        raise ValueError("--record needs --out, the folder that the decisions are written to")
    base = from_file(config) if config is not None else Configuration()
    configuration = dataclasses.replace(
        base,
        seconds=base.seconds if seconds is None else seconds,
        nodes=base.nodes if nodes is None else nodes,
        ponder=ponder,
    )
    sides = entrant(a, configuration, python_a, name_a), entrant(b, configuration, python_b, name_b)
    test = Sprt(elo0, elo1) if sprt else None
    most = games or (10_000 if sprt else 2)
    planned = Match(*sides, most, parse_clock(clock), workers, seed, out, record, test, opening_plies)
    _play(planned, as_json)


def parse_clock(text: str) -> Clock:
    """`900+5`, `900` without an increment, or `none`."""
    from penumbra.arena.game_loop import Clock

    if text == "none":
        return Clock(None, 0.0)
    seconds, _, increment = text.partition("+")
    try:
        clock = Clock(float(seconds), float(increment or 0))
    except ValueError:
        clock = Clock(None, -1)
    if clock.seconds is None or not (0 < clock.seconds < float("inf") and 0 <= clock.increment < float("inf")):
        raise typer.BadParameter(f"{text!r} is not SECONDS+INCREMENT, like 900+5, nor none", param_hint="--clock")
    return clock


def _play(match: Match, as_json: bool) -> None:
    """Plays it and says what came of it."""
    import json

    from penumbra.arena.match import MatchStopped, run, to_json
    from penumbra.commands.terminal.progress import progress

    _show_installations(match)
    if not as_json:
        print(plan_line(match), flush=True)
    with progress(f"{match.a.name} v {match.b.name}", match.games) as bar:

        def report(score: Score) -> None:
            bar.show(len(score.results), score.line())
            if not (bar.is_drawn or as_json):
                print(game_line(match, score.results[-1]), flush=True)

        stopped = ""
        try:
            score, interrupted = run(match, report)
        except MatchStopped as error:
            score, interrupted, stopped = error.score, True, str(error)
    if as_json:
        print(json.dumps(to_json(match, score, interrupted), indent=1))
    else:
        print(summary(match, score, interrupted))
    if stopped:
        complain(stopped)
        raise typer.Exit(FAILED)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if unsettled := len(score.results) - len(score.settled):
        raise ValueError(f"{unsettled} games could not be played; the last: {_last_trouble(score)}")


def _last_trouble(score: Score) -> str:
    return [result.detail for result in score.results if not result.settled][-1]


def plan_line(match: Match) -> str:
    """What will be played, said before it is."""
    clock = match.clock
    time = "without a clock" if clock.seconds is None else f"at {clock.seconds:g} s and {clock.increment:g} s a turn"
    most = "at most " if match.sprt is not None else ""
    return f"{match.a.name} v {match.b.name}: {most}{match.games:,} games {time}, {match.workers} at a time"


def _show_installations(match: Match) -> None:
    """Which Penumbra plays on each side, where one runs in another Python."""
    if match.a.installation is None and match.b.installation is None:
        return
    import sys

    from penumbra.interop.isolated_player import this_installation

    for who in (match.a, match.b):
        print(f"{who.name}: {(who.installation or this_installation()).line()}", file=sys.stderr, flush=True)


def game_line(match: Match, result: GameResult) -> str:
    """One game on one line."""
    names = {"a": match.a.name, "b": match.b.name}
    white, black = ("a", "b") if result.a_is_white else ("b", "a")
    if not result.settled:
        end = f"not settled: {result.detail}"
    elif result.winner is None:
        end = f"draw, {result.reason}"
    else:
        end = f"{names[result.winner]} wins, {result.reason}" + (f" ({result.detail})" if result.detail else "")
    head = f"game {result.number + 1}: {names[white]} v {names[black]}"
    return f"{head}: {end}; {result.plies} moves in {result.seconds:.1f} s"


def summary(match: Match, score: Score, interrupted: bool) -> str:
    """The score, wins by reason with those on time apart, and what each side lost by its own fault.

    Games that ended by a fault are in the score, since a fault loses, and told apart from those that were played out.
    """
    lines = [f"{match.a.name} v {match.b.name}: {score.line()}"]
    if faults := score.faults:
        lines.append(f"  {len(faults)} of these games ended by a player's fault; the others: {score.faultless.line()}")
        lines += [f"  {fault_line(match, result)}" for result in faults[:FAULTS_SHOWN]]
    if score.different < len(score.settled):
        lines.append(
            f"  only {score.different} of these games differ, so the interval is too narrow: the players repeat "
            "themselves (see --opening-plies)"
        )
    if match.sprt is not None:
        lines.append(f"  {match.sprt.line(*score.tally)}")
    for side, name in (("a", match.a.name), ("b", match.b.name)):
        wins = score.reasons(side)
        on_time = wins.pop("time", 0)
        lines.append(f"  {name} wins {score.count(side)}: {_counts(wins)}; on time {on_time}")
    lines.append(f"  draws {score.count(None)}: {_counts(score.reasons(None))}")
    for side, who in (("a", match.a), ("b", match.b)):
        lines.append(f"  {who.name} lost by its own fault: {_counts(score.losses(side))}")
        least = [left for result in score.settled if (left := result.least_left[0 if side == "a" else 1]) is not None]
        if least:
            lines.append(f"  {who.name}'s clock never showed less than {min(least):.2f} s")
    recoveries = sum(len(result.recoveries) for result in score.results)
    failed = sum(len(result.search_faults) for result in score.results)
    if match.a.is_penumbra or match.b.is_penumbra:
        lines.append(f"  Penumbra lost track and recovered {recoveries} times; searches that failed: {failed}")
    unsettled = len(score.results) - len(score.settled)
    lines.append(f"  games: {match.games} asked for, {len(score.settled)} settled, {unsettled} not settled")
    if match.is_clear(score):
        lines.append(f"  clear after {len(score.results)} games")
    if interrupted:
        lines.append(f"  interrupted: {match.games - len(score.results)} games not played")
    return "\n".join(lines)


def fault_line(match: Match, result: GameResult) -> str:
    """Who failed in a game, and how."""
    loser = match.b.name if result.winner == "a" else match.a.name
    return f"game {result.number + 1}: {loser} lost by a fault, {result.reason}: {result.detail}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items()) or "none"
