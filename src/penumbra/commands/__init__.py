"""The command line, one module for each command: the only place that parses arguments and draws on a terminal.

A module holds the command's function, whose parameters are its arguments and options, its examples, and what it prints;
`main` puts the commands together. What a command works with is imported when it runs: help is quick, and a command
needs only the packages that it uses itself.
"""
