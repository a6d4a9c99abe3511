"""Evaluators: what turns the synopsis of an information state into a policy and a value."""

# Rows that are answered about as fast as one: by a GPU, and by an inference server that has other games to answer too.
GPU_ROWS, SERVED_ROWS = 256, 64
SCHEME = "unix:"  # of a device that is an inference server: `unix:SOCKET`
