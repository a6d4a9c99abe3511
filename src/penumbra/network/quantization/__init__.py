"""Networks in eight bits: the rounding, the calibration of ranges, and the evaluator on kernels of our own."""
