"""The memory of a process on Linux: how much it holds, that it frees soon what it no longer needs, and that this goes
back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from pathlib import Path

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of mallopt
LARGE = 1 << 18  # bytes; blocks above are given back when they are freed
ARENAS = 4  # pools of small blocks; each thread has its own otherwise, and none gives anything back


def return_freed() -> None:
    """From now on. Threads that each free hundreds of megabytes would otherwise keep them. Needs the GNU C library."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, LARGE)
        library.mallopt(_ARENA_MAX, ARENAS)


def collect_often() -> None:
    """From now on, where what is there already, such as modules, stays for ever.

    Python looks through all of its objects only when a quarter of them is new. While modules count, a hundred
    connections and games that are over, which refer to each other, wait for that, and with them what they hold.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # counts what is left, by which it decides when to look again


def resident(pid: int | None) -> int:
    """Bytes of memory that a process and those it has started hold; 0 where that cannot be known."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident(child) for child in children(pid))


def children(pid: int | None) -> list[int]:
    """The processes that a process has started."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def physical() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
