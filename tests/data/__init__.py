"""Data files that tests compare with, and the scripts that made them."""
