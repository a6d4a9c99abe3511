"""Where a server keeps its games unless another folder is named."""

from __future__ import annotations

import os
from pathlib import Path


def games_folder() -> Path:
    """Among the user's data, by the XDG convention."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "penumbra" / "games"
