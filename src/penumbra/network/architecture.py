"""The size of a network and what it reads and says, for those who do not need torch."""

from __future__ import annotations

from dataclasses import dataclass

from penumbra.configs.reader import Count
from penumbra.rbc.synopsis import LAYOUTS, Layout, Synopsis

PIECE_KINDS, PIECE_COUNTS = 12, 18


@dataclass(frozen=True)
class Architecture:
    """The size of a network, the names of its headsets, and the sort of synopsis that it reads."""

    n_width: Count = 128
    n_depth: Count = 10
    headsets: tuple[str, ...] = ("All", "Top")
    synopsis: Synopsis = "binary"

    def __post_init__(self) -> None:
        if self.n_width < 1 or self.n_depth < 1:
            raise ValueError(f"a network of {self.n_depth} blocks of {self.n_width} channels cannot be")
        if not self.headsets or len(set(self.headsets)) != len(self.headsets):
            raise ValueError("headsets must be there, each once")
        if self.synopsis not in LAYOUTS:
            raise ValueError(f"there is no synopsis {self.synopsis!r}; there are {', '.join(LAYOUTS)}")

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.synopsis]

    @property
    def planes(self) -> int:
        return len(self.layout.planes)
