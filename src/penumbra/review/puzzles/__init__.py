"""Puzzles: positions of recorded games, as one player knew them, with a question that a search of every state answers.

What they are, how they are found, kept and judged; docs/puzzles.md says how the shipped ones were made.
"""
