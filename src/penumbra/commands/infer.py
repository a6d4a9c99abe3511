"""`penumbra infer`: one process that evaluates a network for many games."""

from __future__ import annotations

from typing import Annotated

import typer

from penumbra.commands.options import Device, Weights, examples

EXAMPLES = examples("penumbra infer --address /tmp/penumbra.socket --device cuda")


def infer(
    address: Annotated[str, typer.Option(help="The path of the Unix socket to serve on.")],
    weights: Weights = None,
    device: Device = "auto",
    threads: Annotated[int, typer.Option(min=1, help="On a CPU, use so many threads.")] = 2,
) -> None:
    """Serve one network to many games.

    Players with device = "unix:SOCKET" in their settings ask this process for evaluations. While one batch is
    evaluated the questions of other games gather into the next: the more games, the larger the batches.
    """
    from penumbra.network.inference_server import serve

    serve(address, weights, device, threads)
