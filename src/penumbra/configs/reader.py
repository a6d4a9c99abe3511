"""Files of settings: what is wrong with one is said in one line that names it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_toml(path: str | Path, error: type[ValueError]) -> dict[str, Any]:
    """What a TOML file holds; raises `error` where it cannot be read."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as reason:
        raise error(f"{path}: cannot be read: {reason.strerror or reason}") from None
    except UnicodeDecodeError:
        raise error(f"{path}: is not a text file") from None
    except tomllib.TOMLDecodeError as reason:
        raise error(f"{path}: is not TOML: {reason}") from None
