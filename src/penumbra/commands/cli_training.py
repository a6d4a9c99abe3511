"""The commands about networks: `penumbra train`, `evaluate`, `export`, `selfplay`, `improve` and `infer`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Games = Annotated[list[Path], typer.Option("--archive", help="An archive of games; may be given repeatedly.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: cuda where there is one.")]
WeightsFile = Annotated[Path, typer.Argument(help="Weights (safetensors).")]


def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe: TOML, or one that is shipped: lite, full or paper.")],
    archive: Games,
    out: Annotated[Path, typer.Option(help="The run's folder; a run that was stopped goes on.")],
    start: Annotated[Path | None, typer.Option(help="Weights to begin with, of the recipe's network.")] = None,
    device: Device = "auto",
    seconds: Annotated[float | None, typer.Option(min=0, help="Stop after so long; the schedule follows.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Instead of the recipe's.")] = None,
    cap: Annotated[int, typer.Option(min=1, help="States tracked for the evaluation at the end.")] = 100_000,
    saliency: Annotated[int, typer.Option(min=0, help="Measure the planes' saliency every so many steps.")] = 0,
) -> None:
    """Train a network on archived games. Needs torch: pip install 'penumbra[torch]'."""
    from penumbra.commands.training import train as run

    changes = {key: value for key, value in (("seconds", seconds), ("steps", steps)) if value is not None}
    run(recipe, archive, out, device, changes, cap, saliency, start)


def evaluate(
    weights: WeightsFile,
    archive: Games,
    out: Annotated[Path | None, typer.Option(help="A folder for the tables as CSV.")] = None,
    device: Device = "auto",
    cap: Annotated[int, typer.Option(min=1, help="States tracked; a million is as good as no cap.")] = 1_000_000,
    most: Annotated[int, typer.Option(min=1, help="Examples for each headset, at most.")] = 100_000,
) -> None:
    """Say how well a network predicts the games kept for validation: the paper's Table 1 and its cross tables."""
    from penumbra.commands.training import evaluate as run

    run(weights, archive, out, device, cap, most)


def export(
    weights: WeightsFile,
    out: Annotated[Path, typer.Argument(help="lite.onnx, or weights for play alone (.safetensors).")],
    policy: Annotated[str, typer.Option(help="ONNX: the headset whose policy it has.")] = "Top",
    value: Annotated[str, typer.Option(help="ONNX: the headset whose value it has.")] = "All",
) -> None:
    """Write a network as ONNX, or as weights without the heads that only training needs."""
    from penumbra.network import weights as files

    given = files.load(weights)
    if out.suffix == ".safetensors":
        from penumbra.network.quantization.calibration import with_ranges
        from penumbra.training.sample_positions import synopses

        files.save(with_ranges(files.for_play(given), synopses(512)), out)
    elif out.suffix == ".onnx":
        from penumbra.network.onnx_graph import write

        write(given, policy, value, out)
    else:
        raise ValueError(f"{out}: it ends neither in .onnx nor in .safetensors")
    print(f"{out}: {out.stat().st_size:,} bytes")


def selfplay(
    archive: Annotated[Path, typer.Option(help="Where the games go; made if it is not there.")],
    games: Annotated[int, typer.Option(min=1, help="How many.")] = 1000,
    at_once: Annotated[int, typer.Option(min=1, help="How many advance together.")] = 1024,
    headset: Annotated[list[str] | None, typer.Option(help="Whose policies play; may be given repeatedly.")] = None,
    temperature: Annotated[list[float] | None, typer.Option(min=0, help="0 always takes the likeliest.")] = None,
    cap: Annotated[int, typer.Option(min=1, help="States tracked by each player.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed plays the same pairs.")] = 0,
    weights: Annotated[Path | None, typer.Option(help="Others than come with the program.")] = None,
    device: Device = "auto",
) -> None:
    """Play bare networks against each other by the thousand, into an archive."""
    from penumbra.commands.training import selfplay as run
    from penumbra.training.selfplay import SelfPlay

    plan = SelfPlay(games, at_once, tuple(headset or ["Top"]), tuple(temperature or [1.0]), cap, seed=seed)
    run(plan, archive, None if weights is None else str(weights), device)


def improve(context: typer.Context) -> None:
    """Let a network learn from its own games. Needs torch; --help says more."""
    from penumbra.training import ppo as module

    raise typer.Exit(module.main(context.args))


def infer(context: typer.Context) -> None:
    """Serve one network to many games, which ask it through a socket: device = "unix:SOCKET". --help says more."""
    from penumbra.network import inference_server

    raise typer.Exit(inference_server.main(context.args))


PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}  # to modules that also run without typer
