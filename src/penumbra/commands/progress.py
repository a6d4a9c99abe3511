"""What `penumbra generate` and `penumbra tournament` say at the end of a run."""

from __future__ import annotations

import sys

from penumbra.arena.archive_run import Progress

INTERRUPTED = 130
TOLD = 10  # failures that are told of one by one


def conclude(progress: Progress) -> int:
    """Says what went wrong in a run; the exit status."""
    for failure in progress.failures[:TOLD]:
        print(f"penumbra: {failure}", file=sys.stderr)
    if progress.stopped:
        kept = "what was played is kept, and a new run goes on from there"
        print(f"penumbra: {progress.stopped}; {kept}", file=sys.stderr)
        return INTERRUPTED if progress.stopped == "interrupted" else 1
    return 1 if progress.failures else 0
