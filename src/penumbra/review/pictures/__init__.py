"""Pictures of what a player knows at a moment of a recorded game, drawn with matplotlib, which is an extra.

Everything shown is computed by the core; nothing here decides how to play.
"""

from penumbra.extras import require

require("matplotlib", "drawing pictures")
