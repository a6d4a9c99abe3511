"""Every table and figure of the paper by one command each, ours beside the paper's.

A module here asks the arena, the training or the pictures for what it needs and says what came of it; nothing plays,
learns or draws boards here.
"""
