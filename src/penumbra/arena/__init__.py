"""Matches: games with clocks between any two players, many of them, every one accounted for.

How players play is theirs (`penumbra.players`, `penumbra.interop`); how a match looks on a terminal is in
`penumbra.terminal`.
"""
