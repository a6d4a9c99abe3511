"""Tests of DSMCP: against a plain transcription of the paper, against exact values of a small game, and by property."""
