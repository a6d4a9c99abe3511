"""The built-in opponents, after programs of the competitions, and what several of them share."""
