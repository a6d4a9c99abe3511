"""The web application's back end: games in the browser, seen by each side as the rules allow, and games reviewed.

The page itself is built from `web/` into `static/`. The messages are described in docs/server.md.
"""
