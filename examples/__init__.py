"""Games of one's own for DSMCP; nothing in the package imports from here."""
