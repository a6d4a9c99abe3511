"""Players that speak action numbers, each seeing only what it observes, and the registry that makes them by name.

Nothing here knows python-chess or reconchess: `penumbra.interop` carries players to and from those.
"""
