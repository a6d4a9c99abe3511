"""A league: past selves of a learner, kept in a folder, against which it goes on playing.

A file holds the tower and the headset that learns, and is named by the round after which it was made. Who plays in a
round depends on the seed and the round alone, so a run that goes on meets whom it would have met.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from penumbra.network import weights as weights_file
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, from_weights
from penumbra.network.weights import Weights, WeightsError

SUFFIX = ".safetensors"


class League:
    """WeightsError names a member that cannot play here."""

    def __init__(self, folder: Path, architecture: Architecture, headset: str, seed: int = 0) -> None:
        self.folder, self.headset, self.seed = folder, headset, seed
        self.architecture = replace(architecture, headsets=(headset,))
        folder.mkdir(parents=True, exist_ok=True)
        for path in self.members():
            self.load(path)

    def members(self) -> list[Path]:
        """From the oldest to the newest."""
        found = list(self.folder.glob(f"*{SUFFIX}"))
        strangers = [path for path in found if not path.stem.isdecimal()]
        if strangers:
            raise WeightsError(f"{strangers[0]}: is no member of a league, which is named by the number of its round")
        return sorted(found, key=lambda path: int(path.stem))

    def add(self, weights: Weights, number: int) -> None:
        """The learner after so many rounds."""
        lean = weights_file.for_play(weights)
        kept = {n: t for n, t in lean.tensors.items() if n.startswith(("tower.", f"headsets.{self.headset}."))}
        member = Weights(self.architecture, kept, {"round": str(number)})
        weights_file.save(member, self.folder / f"{number:06}{SUFFIX}")

    def load(self, path: Path) -> Network:
        """The network of a member."""
        weights = weights_file.load(path)
        if weights.architecture != self.architecture:
            raise WeightsError(f"{path}: is not a past self of this network, by its size, headset or synopsis")
        return from_weights(weights)

    def opponents(self, number: int, count: int) -> list[tuple[str, Network]]:
        """Whom the round meets: names and networks, the newest and others drawn from those before the round."""
        known = [path for path in self.members() if int(path.stem) < number]
        if not known:
            raise WeightsError(f"{self.folder}: the league has nobody from before round {number}")
        rng = np.random.default_rng((self.seed, number))
        drawn = [known[-1], *(known[i] for i in rng.integers(len(known), size=count - 1).tolist())]
        return [(str(int(path.stem)), self.load(path)) for path in drawn]
