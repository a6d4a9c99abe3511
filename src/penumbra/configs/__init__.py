"""The configurations that come with the program (the TOML files here), and the one reader of all configuration files.

What a key means is said in the files and where its dataclass is; nothing here knows the game.
"""
