"""Accounts of the official server: which player each belongs to, as `accounts.toml` says."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from penumbra.configs.reader import read, read_toml
from penumbra.core import GameRecord

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class _Accounts:
    """The file."""

    unknown: tuple[str, ...]
    players: Mapping[str, tuple[str, ...]]


@functools.cache
def player_of(account: str) -> str:
    """The player's name; an account that the file does not name is a player of that name."""
    for player, patterns in _accounts().players.items():
        if any(fnmatchcase(account, pattern) for pattern in patterns):
            return player
    return account


def seats(record: GameRecord) -> tuple[str, str]:
    """(who played White, who played Black)."""
    return player_of(record.white_name), player_of(record.black_name)


@functools.cache
def is_unknown(account: str) -> bool:
    """Whether nobody knows which program plays under this account."""
    return any(fnmatchcase(account, pattern) for pattern in _accounts().unknown)


@functools.cache
def _accounts() -> _Accounts:
    return read(_Accounts, read_toml(FILE))
