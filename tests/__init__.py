"""Tests state properties of the game and of the paper. Slow references for the fast core live in `oracles/`."""
