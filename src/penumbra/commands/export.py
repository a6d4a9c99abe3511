"""`penumbra export`: a network for other programs, or for play alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.checks import file_to_write, first
from penumbra.commands.options import WeightsFile, examples

EXAMPLES = examples(
    "penumbra export runs/lite/weights.safetensors lite.safetensors",
    "penumbra export runs/lite/weights.safetensors lite.onnx --policy Top --value All",
)


def export(
    weights: WeightsFile,
    out: Annotated[
        Path,
        typer.Argument(help="The file to write: .onnx, or .safetensors for play alone.", callback=first(file_to_write)),
    ],
    policy: Annotated[str, typer.Option(help="The headset whose policy an ONNX file has.")] = "Top",
    value: Annotated[str, typer.Option(help="The headset whose value an ONNX file has.")] = "All",
) -> None:
    """Write a network as ONNX, or as weights without the heads that only training needs."""
    from penumbra.network import weights as files

    given = files.load(weights)
    if out.suffix == ".safetensors":
        from penumbra.network.quantization.calibration import with_ranges
        from penumbra.training.sample_positions import synopses

        files.save(with_ranges(files.for_play(given), synopses(512, given.architecture.synopsis)), out)
    elif out.suffix == ".onnx":
        from penumbra.network.onnx_graph import write

        write(given, policy, value, out)
    else:
        raise ValueError(f"{out}: it ends neither in .onnx nor in .safetensors")
    print(f"{out}: {out.stat().st_size:,} bytes")
