"""What a run of `penumbra improve` goes on from: `state.pt` in its folder.

It is written between two rounds of play, when one is played and not yet learned from, so it holds that one too.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from penumbra.core import GameRecord
from penumbra.training.ppo_rollouts import Steps
from penumbra.whole_files import WriteError, replacing, write_text

STATE = "state.pt"
Played = tuple[Steps, list[GameRecord]]


class StateError(ValueError):
    """A state that cannot be gone on from, and why."""


def save_state(path: Path, state: Mapping[str, Any], steps: Steps, games: list[GameRecord]) -> None:
    """Writes it, whole or not at all."""
    data = [np.frombuffer(game.to_bytes(), np.uint8) for game in games]
    names = [[game.white_name, game.black_name] for game in games]
    whole = {
        **state,
        "steps": {column.name: getattr(steps, column.name).cpu() for column in fields(steps)},
        "games": [torch.from_numpy(one.copy()) for one in data],
        "names": names,
    }
    try:
        with replacing(path) as beside:
            torch.save(whole, beside)
    except (OSError, RuntimeError) as error:  # torch's own writer knows no errno
        text = f"{path}: could not be written ({error}); what was there before is kept"
        raise StateError(str(error) if isinstance(error, WriteError) else text) from None


def load_state(path: Path, device: torch.device) -> tuple[dict[str, Any], Played]:
    """The state, and the round that was played."""
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        steps = Steps(**{name: column.to(device) for name, column in state.pop("steps").items()})
        games = [GameRecord.from_bytes(one.numpy().tobytes()) for one in state.pop("games")]
        for game, (white, black) in zip(games, state.pop("names"), strict=True):
            game.white_name, game.black_name = white, black
        if not {"number", "learner", "bulk"} <= set(state):
            raise ValueError("parts are missing")
    except Exception as error:  # whatever the file holds
        raise StateError(f"{path}: is not the state of a run ({str(error).splitlines()[0]})") from None
    return state, (steps, games)


@contextlib.contextmanager
def fitting(path: Path) -> Iterator[None]:
    """What does not fit inside is a StateError."""
    try:
        yield
    except (RuntimeError, ValueError, LookupError, TypeError) as error:
        why = " ".join(str(error).split())[:160]
        text = f"{path}: is the state of a run with other weights or settings ({why}); give those, or another folder"
        raise StateError(text) from None


def keep_rounds(log: Path, number: int) -> None:
    """Leaves of a log the rounds up to this one: those after it are played and learned again."""
    if not log.exists():
        return
    kept = []
    for line in log.read_text().splitlines():
        with contextlib.suppress(ValueError):
            if json.loads(line)["round"] <= number:
                kept.append(line + "\n")
    write_text(log, "".join(kept))
