"""Players that speak action numbers, and the table at which two of them play; each sees only what it observes.

Nothing here knows python-chess or reconchess: `penumbra.interop` carries players to and from those.
"""
