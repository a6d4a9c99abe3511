"""`penumbra reproduce NAME`, and `python -m penumbra.reproduce NAME` where there is no command line of ours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from penumbra.arena.pool import cores
from penumbra.network.loading import choose_device
from penumbra.network.weights import load
from penumbra.reproduce.experiments import ALL, WHERE, chosen, reproduce
from penumbra.reproduce.request import OUT, SCALES, ReproductionError, Request, check_scale

INTERRUPTED = 130


def request(
    scale: str,
    out: Path = OUT,
    archives: Sequence[Path] = (),
    weights: Sequence[Path] = (),
    logs: Sequence[Path] = (),
    recipe: Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    games: int | None = None,
    nodes: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
) -> Request:
    """What a command line said, checked."""
    for name, number in (("workers", workers), ("games", games), ("nodes", nodes)):
        if number is not None and number < 1:
            raise ReproductionError(f"--{name} {number}: it must be at least 1")
    for path in weights:
        load(path)  # one that is no such file is refused before games are played for it
    return Request(
        check_scale(scale),
        out / scale,
        tuple(archives),
        tuple(weights),
        tuple(logs),
        recipe,
        choose_device(device),
        workers or cores(),
        games,
        nodes,
        minutes,
        seed,
        lambda text: print(text, flush=True),
    )


def run(name: str, given: Request) -> None:
    """One experiment, or all of them one after the other."""
    for each in chosen(name):
        reproduce(each, given)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m penumbra.reproduce", description=__doc__)
    parser.add_argument("name", help=f"{', '.join(WHERE)}, or {ALL}")
    parser.add_argument("--scale", default="smoke", help=", ".join(SCALES))
    parser.add_argument("--out", type=Path, default=OUT, help="the folder; each scale has one in it")
    parser.add_argument("--archive", type=Path, action="append", default=[], help="games; may be given repeatedly")
    parser.add_argument("--weights", type=Path, action="append", default=[], help="several: runs of one training")
    parser.add_argument("--log", type=Path, action="append", default=[], help="of saliency, one of each training run")
    parser.add_argument("--recipe", type=Path, help="of networks that are trained")
    parser.add_argument("--device", default="auto", help="cpu, cuda, or auto")
    parser.add_argument("--workers", type=int, help="games at the same time; left out, one for each core")
    parser.add_argument("--games", type=int, help="of a pairing, or to look at; instead of the scale's")
    parser.add_argument("--nodes", type=int, help="of Penumbra for each step; instead of the scale's")
    parser.add_argument("--minutes", type=float, help="tables 2 to 4: play no longer, and take the games there are")
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args())
    name, given["archives"], given["logs"] = given.pop("name"), given.pop("archive"), given.pop("log")
    try:
        run(name, request(**given))
    except (ValueError, OSError, ImportError) as error:
        print(f"penumbra: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("penumbra: interrupted; the same command goes on from there", file=sys.stderr)
        return INTERRUPTED
    return 0
