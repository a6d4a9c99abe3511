"""Reconnaissance blind chess as the players see it: actions, observations, the tracker of what is possible.

Everything here speaks action numbers and viewer squares; boards of python-chess live in `penumbra.interop`.
"""
