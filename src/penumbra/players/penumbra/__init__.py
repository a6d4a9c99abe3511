"""Penumbra as a player: its configuration, its clock, what it adds at the root, and how it finds a lost track again.

The search itself is in `penumbra.dsmcp`.
"""
