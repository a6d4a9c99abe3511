"""Pictures of what a player knows at a moment of a recorded game, drawn with matplotlib.

Everything shown is computed by the core; nothing here decides how to play.
"""
