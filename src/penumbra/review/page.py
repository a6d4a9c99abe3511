"""A review as one file: the page, its style and its script, and the game, with nothing left to fetch."""

from __future__ import annotations

import json
from pathlib import Path

from penumbra.core import GameRecord
from penumbra.interop.game_files import to_json
from penumbra.review.frames import review_of
from penumbra.whole_files import write_text

STATIC = Path(__file__).parents[1] / "server" / "static"


def write_replay_page(record: GameRecord, path: Path) -> None:
    """Writes the page; whoever opens it needs a browser and nothing else."""
    review = review_of(record) | {"file": to_json(record)}
    script = (STATIC / "penumbra.js").read_text(encoding="utf-8")
    style = (STATIC / "penumbra.css").read_text(encoding="utf-8")
    title = f"{record.white_name or 'White'} v {record.black_name or 'Black'} · Penumbra"
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="penumbra-review">{_json(review)}</script>
<script type="module">{_script(script)}</script>
</body>
</html>
"""
    write_text(path, page)


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _json(value: object) -> str:
    """JSON that no name in it can end early."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _script(script: str) -> str:
    """The same for a script, where `</script` and `<!--` can only stand in strings."""
    return script.replace("</script", "<\\/script").replace("<!--", "\\x3c!--")
