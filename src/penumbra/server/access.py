"""Who is let in: names and origins, the headers that keep the page to itself, and the secrets of games."""

from __future__ import annotations

import hashlib
import re
import secrets

from penumbra.server.game_log import Setup

LOOPBACK = ("localhost", "127.0.0.1", "::1")
COOKIE = "penumbra-game"  # holds a game's secret; the browser sends it to that game's own addresses alone
COOKIE_SECONDS = 30 * 86_400
PERSON_COOKIE = "penumbra-person"  # by which a browser finds its games again
PERSON_SECONDS = 400 * 86_400  # after the last game; browsers keep nothing longer

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?")

_SECRET = re.compile(r"[A-Za-z0-9_-]{22}")


def is_welcome(host: str | None, origin: str | None, hosts: tuple[str, ...]) -> bool:
    """Whether a request names this server as it may be named, and comes from this server's own page or from none.

    A name is checked so that another site cannot have its own name lead here. Without `hosts` any name will do.
    """
    named = _HOST.fullmatch(host or "")
    if named is None or (hosts and (named[1] or named[2]).lower() not in hosts):
        return False
    return origin is None or origin in (f"http://{host}", f"https://{host}")


def new_secret() -> str:
    """What a page must show before it may play; it cannot be guessed."""
    return secrets.token_urlsafe(16)


def digest(secret: str) -> str:
    """What is kept of a secret: it can be recognised, and not be read."""
    return hashlib.sha256(secret.encode()).hexdigest()


def owner(shown: str | None) -> str | None:
    """Under which name the games of whoever shows this cookie are kept; None for what cannot be one of ours."""
    return digest(shown) if shown is not None and _SECRET.fullmatch(shown) else None


def may_play(setup: Setup, shown: str | None) -> bool:
    """Whether whoever shows this secret may play the game, or see it before it is over."""
    return setup.secret is None or (shown is not None and secrets.compare_digest(digest(shown), setup.secret))
