"""Phantom tic-tac-toe in plain Python: a domain for DSMCP, evaluators, and exact values to measure its play by.

Nothing here knows chess, and nothing is fast: the game is small enough that its best responses can be enumerated.
"""
