"""A request for everything at its smallest, and what every experiment must write."""

from __future__ import annotations

import pytest
import torch

from penumbra.network import weights as files
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, to_weights
from penumbra.reproduce.request import Request
from tests.support.training_games import make_archive

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def request_(tmp_path_factory: pytest.TempPathFactory) -> Request:
    """Everything at its smallest, in one folder, so that later experiments find what earlier ones made."""
    folder = tmp_path_factory.mktemp("reproduction")
    weights = folder / "tiny.safetensors"
    torch.manual_seed(0)
    headsets = ("All", "Top", "Trout")
    files.save(to_weights(Network(Architecture(4, 1, headsets))), weights)
    archive = make_archive(folder / "games.db")
    return Request("tiny", folder / "tiny", (archive,), (weights,), games=None, say=lambda text: None)
