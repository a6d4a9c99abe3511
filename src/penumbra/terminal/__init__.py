"""What the command line draws: boards, games step by step, and the state of this installation.

Everything is written twice, for a terminal (rich) and as plain text; nothing here decides how to play.
"""
