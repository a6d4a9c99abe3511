"""Playing games: one game loop, one pool of workers, and matches, tournaments and generation on top of them.

How players play is theirs (`penumbra.players`, `penumbra.interop`); games on disk are in `penumbra.games`.
"""
