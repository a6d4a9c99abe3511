"""The command line, one module for each command: the only place that parses arguments and draws on a terminal."""
