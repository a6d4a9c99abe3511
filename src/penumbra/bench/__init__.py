"""Benchmarks, one module per subject, each a function from a time limit in seconds to rows of measurements.

Peers are measured in the same run, on the same machine, by the same loop where there can be one. `belief` measures
quality instead of speed, and needs recorded games.
"""
