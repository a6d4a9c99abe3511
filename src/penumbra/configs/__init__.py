"""The configurations that come with the program, and the one reader of all configuration files.

What a key means is said where its settings are; nothing here knows the game.
"""
