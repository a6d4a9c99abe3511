"""A finished game made ready for eyes: its frames, the decisions of an analysis, pictures, the self-contained page."""
