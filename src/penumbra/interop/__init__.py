"""The adapters between Penumbra and the python-chess and reconchess packages: games, game files, boards.

This is the lowest part of the package that imports `chess` or `reconchess`; nothing here decides how to play.
"""
