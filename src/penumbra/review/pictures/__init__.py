"""Pictures of what a player knows at a moment of a recorded game, drawn with matplotlib, which is an extra.

Everything shown is computed by the core; nothing here decides how to play.
"""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError("pictures need matplotlib: pip install 'penumbra[figures]'")
