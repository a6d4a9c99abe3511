"""How each task of the lessons is played to its end."""

from __future__ import annotations

WAY: dict[tuple[int, int], list[str | None]] = {  # squares to sense and moves, by lesson and task
    (1, 0): ["d5", "c3d5"],
    (1, 1): ["b7", "e1f2", "b3", "f2f3"],
    (2, 0): ["g2", "d1d8"],
    (2, 1): ["g7", "e2e4"],
    (2, 2): ["g7", "e2d3"],
    (3, 0): ["b2", "e4f5"],
    (3, 1): ["h7", "e1e2", "f2", "e2f2"],
    (4, 0): ["e7", "e2e8"],
    (4, 1): ["e7", "e1d1"],
    (5, 0): ["g6", "e4e5"],
    (5, 1): ["g7", "h2h8"],
}
