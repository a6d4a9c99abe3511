"""Matches between any two players, the archive of games, the mill that fills it, and ratings.

How players play is theirs (`penumbra.players`, `penumbra.interop`); how a match looks on a terminal is in
`penumbra.terminal`.
"""
