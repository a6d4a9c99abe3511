"""Training: examples made from games, and what is learnt from them.

Nothing here plays; games come as records, and networks live in `penumbra.network`.
"""
