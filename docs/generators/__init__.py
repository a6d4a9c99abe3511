"""Pages of the documentation that are made from the program: its commands, its public names, its planes."""
