"""A finished game made ready for eyes: its frames and verdicts, the decisions of an analysis, the self-contained page.

Pictures belong here too, and puzzles, which are made of finished games.
"""
