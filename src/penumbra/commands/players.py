"""`penumbra players`: everybody who can play under a name."""

from __future__ import annotations

import json

from penumbra.commands.options import AsJson, examples

EXAMPLES = examples("penumbra players", "penumbra players --json")


def players(
    as_json: AsJson = False,
) -> None:
    """List the players that have a name, with their style and their rating.

    A name means the same player in every command, in files and on the page of `penumbra serve`.
    """
    from penumbra.interop.stockfish import find_stockfish
    from penumbra.players import registry

    entries, stockfish = registry.ENTRIES.values(), find_stockfish()
    if as_json:
        keys = ("name", "title", "line", "rating", "needs_stockfish")
        rows = [{key: getattr(entry, key) for key in keys} for entry in entries]
        print(json.dumps({"players": rows, "stockfish": stockfish}, indent=1))
        return
    width = max(map(len, registry.ENTRIES))
    print(f"{'name':<{width}}  {'Elo':>4}  style")
    for entry in entries:
        needs = "; needs Stockfish" if entry.needs_stockfish else ""
        print(f"{entry.name:<{width}}  {entry.rating or '':>4}  {entry.line}{needs}")
    print(f"Stockfish: {stockfish or 'not found; install it, or set STOCKFISH_EXECUTABLE to its path'}")
