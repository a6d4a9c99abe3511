"""Runs pytest on the package in the folder named first, whatever is installed; the other arguments are pytest's.

The project is installed for editing, and that installation finds the package before any path does: it is switched off.
"""

import sys
from pathlib import Path

import pytest

folder = Path(sys.argv[1]).resolve()
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildInplaceFinder"]
sys.path[:] = [str(folder), *(path for path in sys.path if Path(path).name != "src")]

from penumbra import core  # noqa: E402

if not Path(core._module.__file__ or "").is_relative_to(folder):
    sys.exit(f"the core was loaded from {core._module.__file__}, not from {folder}")
sys.exit(pytest.main(["-o", "pythonpath=", "-p", "no:cacheprovider", *sys.argv[2:]]))
