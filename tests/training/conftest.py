"""Training in one thread, and a recipe of a few steps."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from penumbra.training.recipe import Recipe, read_recipe
from tests.support.training_games import write_recipe

torch.set_num_threads(1)


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    return read_recipe(write_recipe(tmp_path))
