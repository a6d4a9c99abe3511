"""Penumbra plays reconnaissance blind chess with deep synoptic Monte Carlo planning, and takes it apart for study.

The per-state work lives in the native core (`penumbra.core`), the game as players see it in `penumbra.rbc`, and
everything that knows python-chess or reconchess in `penumbra.interop`.
"""

__version__ = "0.1.0"
