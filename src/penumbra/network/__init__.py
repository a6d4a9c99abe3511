"""Evaluators: what turns the synopsis of an information state into a policy and a value."""

SCHEME = "unix:"  # of a device that is an inference server: `unix:SOCKET`
