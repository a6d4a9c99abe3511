"""The command line. Whatever a user does wrong is answered by one line and an exit code other than zero."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer.exceptions import TyperException

import penumbra
from penumbra.commands import cli_archive, cli_reproduce, cli_tournament, cli_training, players

app = typer.Typer(
    name="penumbra",
    help="Reconnaissance blind chess with deep synoptic Monte Carlo planning.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(cli_archive.archive, name="archive")
app.command()(cli_archive.generate)
app.command()(cli_archive.rate)
app.command()(cli_tournament.tournament)
app.command()(players.players)
app.command()(cli_training.train)
app.command()(cli_training.evaluate)
app.command()(cli_training.export)
app.command()(cli_training.selfplay)
for _command in (cli_training.improve, cli_training.infer):
    app.command(context_settings=cli_training.PASSED_ON, add_help_option=False)(_command)
app.command()(cli_reproduce.reproduce)
app.command()(cli_reproduce.report)


class Subject(StrEnum):
    """What can be measured."""

    RULES = "rules"
    STATES = "states"
    SYNOPSIS = "synopsis"
    PLAYOUTS = "playouts"
    EXAMPLES = "examples"
    NETWORK = "network"
    SEARCH = "search"
    SHARED = "shared"
    TRAINING = "training"
    ARENA = "arena"
    BELIEF = "belief"


class Side(StrEnum):
    """Who looks."""

    WHITE = "white"
    BLACK = "black"


class Step(StrEnum):
    """The two steps of a turn."""

    SENSE = "sense"
    MOVE = "move"


GameFile = Annotated[Path, typer.Argument(help="A game as reconchess writes it (JSON).")]
TurnNumber = Annotated[int, typer.Option(min=1, help="Which of the player's turns, counted from 1.")]
Player = Annotated[Side, typer.Option(help="Who looks.")]
StepOfTurn = Annotated[Step, typer.Option(help="Before the sense, or after it and before the move.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"penumbra {penumbra.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Reconnaissance blind chess with deep synoptic Monte Carlo planning."""


@app.command()
def doctor() -> None:
    """Say what this installation runs on; fail if something is missing."""
    from penumbra.commands.doctor import report

    found, problems = report()
    for what, value in found:
        print(f"{what:<20} {value}")
    for problem in problems:
        print(f"penumbra: {problem}", file=sys.stderr)
    if problems:
        raise typer.Exit(1)


@app.command()
def replay(
    file: GameFile,
    plain: Annotated[bool, typer.Option("--plain", help="Print the whole game as text.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page for the browser instead, all in one file.")] = None,
) -> None:
    """Step through a game: the board, and how many states each player holds possible."""
    from penumbra.commands.replay import replay as show

    if html is not None:
        from penumbra.interop.history import read_record
        from penumbra.review.page import write_replay_page

        write_replay_page(read_record(file), html)
        print(f"The game is in {html}; open it in a browser")
        return

    show(file, Console(), plain)


@app.command()
def demo(
    white: Annotated[str, typer.Option(help="penumbra, hunter, random or attacker")] = "penumbra",
    black: Annotated[str, typer.Option(help="The same for the other side.")] = "hunter",
    seed: Annotated[int, typer.Option(help="The same seed gives the same game.")] = 3,
    delay: Annotated[float, typer.Option(min=0, help="Seconds each step stays on the terminal.")] = 0.2,
    out: Annotated[Path, typer.Option(help="Where the game is written.")] = Path("demo.json"),
) -> None:
    """Play one game, drawn as it goes, with what Penumbra believes."""
    from penumbra.commands.demo import demo as play

    play(white, black, seed, delay, out, Console())


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets others in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    data: Annotated[Path | None, typer.Option(help="The folder in which games are kept.")] = None,
    archive: Annotated[Path | None, typer.Option(help="An archive whose games can be reviewed.")] = None,
    config: Annotated[Path | None, typer.Option(help="Penumbra: a TOML file.")] = None,
    ponder: Annotated[bool, typer.Option("--ponder", help="Penumbra thinks while a person does.")] = False,
    games: Annotated[int, typer.Option(min=1, help="Games awake at once.")] = 64,
    name: Annotated[list[str] | None, typer.Option(help="Another name the server is reached by.")] = None,
) -> None:
    """Play, watch and review games in the browser."""
    import dataclasses
    import os

    from penumbra.games.archive import Archive
    from penumbra.players.penumbra.configuration import from_environment, from_file
    from penumbra.server.application import LOOPBACK, ServerSettings
    from penumbra.server.serve import games_folder
    from penumbra.server.serve import serve as run

    if archive is not None:
        Archive.open(archive).close()
    base = from_file(config) if config is not None else from_environment(os.environ)
    configuration = dataclasses.replace(base, ponder=ponder)
    hosts = (*LOOPBACK, *(name or ())) if host in LOOPBACK or name else ()
    run(ServerSettings(data or games_folder(), archive, games, hosts, configuration), host, port)


@app.command()
def planes(
    file: GameFile,
    turn: TurnNumber,
    player: Player = Side.WHITE,
    step: StepOfTurn = Step.SENSE,
    states: Annotated[int, typer.Option(min=1, help="How many states are summarised at most.")] = 128,
    seed: Annotated[int, typer.Option(min=0, help="Which of them, where there are more.")] = 0,
    out: Annotated[Path, typer.Option(help="The picture, .png or .svg.")] = Path("planes.png"),
) -> None:
    """Draw the 104 planes of the synopsis at one moment of a game."""
    from penumbra.interop.history import read_record
    from penumbra.review.pictures.files import check_picture_file
    from penumbra.review.pictures.moments import find_moment
    from penumbra.review.pictures.planes import draw_planes

    check_picture_file(out)
    moment = find_moment(read_record(file), player == Side.WHITE, turn, list(Step).index(step), states, seed)
    draw_planes(moment, states, seed, out)
    print(f"{moment.title}, {moment.size}: {out}")


@app.command()
def situation(
    file: GameFile,
    turn: TurnNumber,
    player: Player = Side.WHITE,
    step: StepOfTurn = Step.SENSE,
    out: Annotated[Path, typer.Option(help="The picture, .png or .svg.")] = Path("situation.png"),
) -> None:
    """Draw the board at one moment of a game as the player may imagine it: where opposing pieces may stand."""
    from penumbra.interop.history import read_record
    from penumbra.review.pictures.files import check_picture_file
    from penumbra.review.pictures.moments import find_moment
    from penumbra.review.pictures.situation import draw_situation

    check_picture_file(out)
    moment = find_moment(read_record(file), player == Side.WHITE, turn, list(Step).index(step), ell=1, seed=0)
    draw_situation(moment, out)
    print(f"{moment.title}, {moment.size}: {out}")


@app.command()
def bench(
    subject: Annotated[Subject | None, typer.Argument(help="What to measure; all but belief by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one list of objects.")] = False,
    seconds: Annotated[
        float | None, typer.Option(min=0.01, help="How long each measurement takes, 2 by default; belief: each step.")
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="belief: an archive, or games as reconchess writes them (files, lines, gzip).")
    ] = None,
    games: Annotated[int | None, typer.Option(min=1, help="belief: so many, drawn at random; 40 by default.")] = None,
    particles: Annotated[
        int | None, typer.Option(min=1, help="belief: so many instead of seconds; 512 by default.")
    ] = None,
    headsets: Annotated[
        str | None, typer.Option(help="belief: opponent models to compare; by default Top,All,recognised.")
    ] = None,
    cap: Annotated[
        int | None, typer.Option(min=10, help="belief: a game is followed up to so many states; 50000 by default.")
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, help="belief: a game is followed for so many turns; 100 by default.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="belief: of games, seats and particles; 0 by default.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="belief: Penumbra, a TOML file.")] = None,
) -> None:
    """Measure speed, beside other programs where there are any; belief: how well beliefs foresee recorded games."""
    from penumbra.bench import report

    plan = {"particles": particles, "cap": cap, "turns": turns, "seed": seed}
    if subject is Subject.BELIEF:
        from penumbra.commands.belief import bench_belief

        bench_belief(archive, config, {"seconds": seconds, **plan}, headsets, games, as_json)
        return
    for name, value in {"archive": archive, "config": config, "headsets": headsets, "games": games, **plan}.items():
        if value is not None:
            raise ValueError(f"--{name} is for `penumbra bench belief` alone")
    subjects = [subject] if subject else [each for each in Subject if each is not Subject.BELIEF]
    modules = [import_module(f"penumbra.bench.{name}") for name in subjects]
    rows = [row for module in modules for row in module.run(2.0 if seconds is None else seconds)]
    if as_json:
        print(report.to_json(rows))
    else:
        report.show(rows, Console())


@app.command()
def match(
    a: Annotated[str, typer.Argument(help="random, hunter, penumbra[:PRESET], attacker, trout, a module or a path.")],
    b: Annotated[str, typer.Argument(help="The same for the other side.")],
    python_a: Annotated[
        str | None, typer.Option(metavar="PATH", help="Another Python, in whose installation of Penumbra A plays.")
    ] = None,
    python_b: Annotated[str | None, typer.Option(metavar="PATH", help="The same for B.")] = None,
    name_a: Annotated[str | None, typer.Option(metavar="NAME", help="What results and games call A.")] = None,
    name_b: Annotated[str | None, typer.Option(metavar="NAME", help="The same for B.")] = None,
    games: Annotated[
        int | None, typer.Option(min=1, help="Colours alternate; A has White first. 2, with --sprt 10000 at most.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Each player's clock; 0 for none.")] = 900.0,
    increment: Annotated[float, typer.Option(min=0, help="Seconds added after each turn.")] = 5.0,
    step_seconds: Annotated[float | None, typer.Option(min=0.001, help="Penumbra: at most so long a step.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Penumbra: so many evaluations a step.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Games at the same time.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the first game.")] = 0,
    sprt: Annotated[bool, typer.Option("--sprt", help="Play until it is clear whether A is better.")] = False,
    elo0: Annotated[float, typer.Option(help="With --sprt: the claim that A is better by no more.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="With --sprt: the claim that A is better by so much.")] = 30.0,
    ponder: Annotated[bool, typer.Option("--ponder", help="Penumbra thinks while its opponent does.")] = False,
    config: Annotated[Path | None, typer.Option(help="Penumbra: a TOML file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the match as one object.")] = False,
    out: Annotated[Path | None, typer.Option(help="A folder for the games, and what foreign players print.")] = None,
    record: Annotated[bool, typer.Option("--record", help="Penumbra's decisions too, beside the games.")] = False,
) -> None:
    """Play games between two players and say who is better, and how sure that is."""
    import dataclasses

    from penumbra.arena.entrants import entrant
    from penumbra.arena.game_loop import Clock
    from penumbra.arena.match import Match
    from penumbra.arena.sprt import Sprt
    from penumbra.commands.match import play_match
    from penumbra.players.penumbra.configuration import Configuration, from_file

    if record and out is None:
        raise ValueError("--record needs --out, the folder that the decisions are written to")
    base = from_file(config) if config is not None else Configuration()
    configuration = dataclasses.replace(
        base,
        seconds=base.seconds if step_seconds is None else step_seconds,
        nodes=base.nodes if nodes is None else nodes,
        ponder=ponder,
    )
    clock = Clock(seconds or None, increment)
    sides = entrant(a, configuration, python_a, name_a), entrant(b, configuration, python_b, name_b)
    test = Sprt(elo0, elo1) if sprt else None
    most = games or (10_000 if sprt else 2)
    planned = Match(*sides, most, clock, workers=workers, seed=seed, out=out, record=record, sprt=test)
    if not play_match(planned, as_json, Console(stderr=True)):
        raise typer.Exit(130)


@app.command()
def analyse(
    file: Annotated[Path, typer.Argument(help="A game as reconchess writes it (JSON).")],
    turn: Annotated[int | None, typer.Option(min=1, help="Of the player, counted from 1; all by default.")] = None,
    player: Annotated[str | None, typer.Option(help="white or black; both by default.")] = None,
    preset: Annotated[
        str, typer.Option(help="penumbra, or a variant of the paper: mixture, tree, cache, network, simple")
    ] = "penumbra",
    seconds: Annotated[float | None, typer.Option(min=0.001, help="To think about each step.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Evaluations for each step.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed and nodes give the same answer.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one list of objects.")] = False,
) -> None:
    """Say what Penumbra would have done in a game, knowing what the player knew, and what it would have believed.

    The line `belief` of each step says what the search stood on: how many particles, from how many different ones of a
    turn ago they come, how many are singletons, made because none could be drawn, and what it took to refill them.
    """
    import json

    from penumbra.commands.analyse import show

    steps = penumbra.analyse(file, turn=turn, player=player, preset=preset, seconds=seconds, nodes=nodes, seed=seed)
    if as_json:
        print(json.dumps(list(steps), indent=1))
    else:
        show(steps)


def main() -> None:
    """The entry point: errors of the user and of files become one line."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except TyperException as error:
        _fail(error.format_message(), 2)
    except (ValueError, OSError, ImportError) as error:
        _fail(str(error), 1)
    except (KeyboardInterrupt, EOFError):
        _fail("interrupted", 130)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    print(f"penumbra: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
