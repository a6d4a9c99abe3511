"""Slow, clear references for the native core, written from the specification pages with python-chess and reconchess.

Nothing here imports the native core, so a mistake can only be shared with it through the pages themselves.
"""
