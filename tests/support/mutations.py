"""Valid input made invalid: bytes flipped, cut, repeated and exchanged, always the same way for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

ODD = (
    *(b"", b"\0", b"-1", b"1e999", b"NaN", b"null", b"[]", b"{}", b"true", b'"', b"\n"),
    *(b"9" * 400, b"[" * 50, b"\xff\xfe", "\u2028".encode(), b"\\ud800", b"\\u0000"),
)


def mutated(seeds: Sequence[bytes], count: int, seed: int = 0) -> Iterator[bytes]:
    """So many broken versions of some texts or files."""
    rng = random.Random(seed)
    for _ in range(count):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 1, 1, 2, 5, 30))):
            _mutate(data, rng)
        yield bytes(data)


def _mutate(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((1, 2, 8, 64)))
    match rng.randrange(7):
        case 0 if at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        case 1 if at < len(data):
            data[at] = rng.randrange(256)
        case 2:
            del data[at:end]
        case 3:
            data[at:at] = data[at:end]
        case 4:
            data[at:end] = rng.choice(ODD)
        case 5:
            del data[at:]
        case _:
            other = rng.randrange(len(data) + 1)
            data[at:end] = data[other : other + end - at]
