"""A tournament as one HTML page that needs nothing else: ratings, cross table, lengths, ends, time and every game.

Figures are drawn as SVG inside the page. A cell of the cross table leads to its games, and a game opens to its senses
and moves.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from urllib.parse import quote

from penumbra.arena.game_loop import FAULTS
from penumbra.arena.match import steps
from penumbra.arena.score import wilson
from penumbra.arena.tournament_plan import Tournament
from penumbra.games.archive import ArchivedGame
from penumbra.games.ratings import Ratings, rate
from penumbra.whole_files import write_text

BIN = 10  # plies in a bar of the histogram
OPENED = 2_000  # games whose moves are in the page; of more only the results are

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1d2330; background: #fcfcfa; margin: 2rem auto; max-width: 70rem;
       padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #e3e4e0; }
th { font-weight: 600; color: #55606f; } td.name, th.name { text-align: left; }
.cross td:not(.name) { text-align: center; } .cross a { color: inherit; text-decoration: none; display: block; }
.quiet { color: #55606f; } svg text { font: 12px system-ui, sans-serif; fill: #1d2330; }
details { border-bottom: 1px solid #e3e4e0; padding: .2rem 0; } summary { cursor: pointer; }
details p { margin: .4rem 0 .6rem 1.2rem; font: 13px/1.6 ui-monospace, monospace; overflow-wrap: anywhere; }
#clear { display: none; margin-left: .8rem; } .scroll { overflow-x: auto; }
"""

_SCRIPT = """
const games = [...document.querySelectorAll("#games details")], clear = document.getElementById("clear");
function show() {
  const pair = new URLSearchParams(location.hash.slice(1)).getAll("of");
  for (const game of games) {
    game.hidden = !pair.every((name) => game.dataset.white === name || game.dataset.black === name);
  }
  clear.style.display = pair.length ? "inline" : "none";
  if (pair.length) document.getElementById("games").scrollIntoView();
}
addEventListener("hashchange", show);
show();
"""


@dataclass(frozen=True)
class Played:
    """What the page says about one game."""

    white: str
    black: str
    winner: bool | None
    reason: str
    detail: str
    plies: int
    seconds: tuple[float, float]  # White's and Black's
    steps: Sequence[str]  # `sense move` of each turn; none where the page has too many games

    def points(self, name: str) -> float:
        return 0.5 if self.winner is None else float((name == self.white) == self.winner)

    @property
    def loser(self) -> str | None:
        return None if self.winner is None else self.black if self.winner else self.white


def write_report(
    path: Path,
    tournament: Tournament,
    games: Sequence[ArchivedGame],
    anchor: tuple[str | None, float] = (None, 1500.0),
) -> None:
    """Writes the page; ValueError if no games were played."""
    if not games:
        raise ValueError(f"{path}: there are no games to report")
    go_on = "the games are kept in the archive, and the same command makes the page"
    write_text(path, page(tournament, games, anchor), go_on)


def page(tournament: Tournament, games: Sequence[ArchivedGame], anchor: tuple[str | None, float]) -> str:
    played = [_played(game, number < OPENED) for number, game in enumerate(games)]
    results = Counter((game.white, game.black, game.winner) for game in played)
    ratings = rate([(*key, count) for key, count in results.items()], anchor=anchor[0], anchor_elo=anchor[1])
    names = [rating.name for rating in ratings.players]
    sections = [
        ("Ratings", _ratings_table(ratings, played) + _ratings_plot(ratings)),
        ("Points of each against each", _cross_table(names, played)),
        ("Lengths", _histogram([game.plies for game in played]) + _lengths_table(names, played)),
        ("How games ended", _reasons_table(names, played)),
        ("Time", _time_table(names, played)),
        ("Games", _games_list(played)),
    ]
    body = "\n".join(f"<h2>{title}</h2>\n{content}" for title, content in sections)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Tournament</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n<body>\n'
        f"<h1>Tournament</h1>\n<p class=quiet>{escape(_summary(tournament, games))}</p>\n{body}\n"
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _played(game: ArchivedGame, opened: bool) -> Played:
    said = game.settings
    white, black = said.get("seconds", (0.0, 0.0))
    turns: list[str] = []
    if opened:
        found = steps(game.record)
        turns = [f"{sense or '–'} {move}" for sense, move in zip(found["senses"], [*found["moves"], "…"], strict=False)]
    reason = str(said.get("reason") or (game.reason or "unfinished").lower().replace("_", " "))
    return Played(
        game.white, game.black, game.winner, reason, str(said.get("detail", "")), game.plies, (white, black), turns
    )


def _summary(tournament: Tournament, games: Sequence[ArchivedGame]) -> str:
    clock = tournament.clock
    time = "no clock" if clock.seconds is None else f"{clock.seconds:g} s and {clock.increment:g} s a turn"
    first, last = (
        datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M")
        for when in (min(game.time for game in games), max(game.time for game in games))
    )
    asked = tournament.games * len(tournament.pairings())
    return (
        f"{len(games):,} of {asked:,} games, {tournament.games} of each pairing, {tournament.format}; {time}; "
        f"errors: {tournament.on_error}; seed {tournament.seed}; {first} to {last} UTC"
    )


# -- tables


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """Cells are HTML already; the first column holds names."""

    def row(cells: Iterable[str], tag: str) -> str:
        return "".join(f"<{tag}{' class=name' if i == 0 else ''}>{cell}</{tag}>" for i, cell in enumerate(cells))

    lines = [f"<tr>{row(headings, 'th')}</tr>", *(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)]
    return f'<div class=scroll><table class="{kind}">{"".join(lines)}</table></div>'


def _ratings_table(ratings: Ratings, played: Sequence[Played]) -> str:
    losses = Counter(game.loser for game in played if game.reason in FAULTS)

    def row(i: int) -> list[str]:
        rating = ratings.players[i]
        better = f"{100 * ratings.superiority[i][i + 1]:.1f} %" if i + 1 < len(ratings.players) else ""
        return [
            escape(rating.name),
            f"{rating.elo:.0f}",
            f"±{rating.margin:.0f}",
            f"{rating.games:,}",
            f"{rating.points:g}",
            f"{100 * rating.share:.1f} %",
            f"{rating.draws:,}",
            better,
            f"{losses[rating.name]:,}",
        ]

    headings = ("player", "Elo", "95 %", "games", "points", "score", "draws", "better than the next", "faults")
    first = (
        f"White's first move is worth {ratings.advantage:+.0f} ±{ratings.advantage_margin:.0f} Elo. "
        f"Faults are losses by {', '.join(FAULTS)}; they are rated, and say nothing about how well somebody plays."
    )
    return _table(headings, map(row, range(len(ratings.players)))) + f"<p class=quiet>{first}</p>"


def _cross_table(names: Sequence[str], played: Sequence[Played]) -> str:
    points: dict[tuple[str, str], float] = defaultdict(float)
    games: Counter[tuple[str, str]] = Counter()
    for game in played:
        for name, other in ((game.white, game.black), (game.black, game.white)):
            points[name, other] += game.points(name)
            games[name, other] += 1

    def cell(name: str, other: str) -> str:
        n = games[name, other]
        if not n:
            return ""
        share = points[name, other] / n
        low, high = wilson(points[name, other], n)
        hue, strength = (140 if share >= 0.5 else 15), 0.5 * abs(2 * share - 1)
        return (
            f'<a href="#of={quote(name, safe="")}&amp;of={quote(other, safe="")}" title="{100 * share:.0f} %, '
            f'95 % from {100 * low:.0f} to {100 * high:.0f}" '
            f'style="background: hsl({hue} 60% 55% / {strength:.2f})">{points[name, other]:g}/{n}</a>'
        )

    rows = ([escape(name), *(cell(name, other) for other in names)] for name in names)
    return _table(["", *map(escape, names)], rows, "cross")


def _lengths_table(names: Sequence[str], played: Sequence[Played]) -> str:
    def row(name: str) -> list[str]:
        plies = [game.plies for game in played if name in (game.white, game.black)]
        return [escape(name), f"{statistics.median(plies):g}", f"{statistics.mean(plies):.1f}", f"{max(plies)}"]

    return _table(("player", "median plies", "mean", "longest"), map(row, names))


def _reasons_table(names: Sequence[str], played: Sequence[Played]) -> str:
    reasons = [reason for reason, _ in Counter(game.reason for game in played).most_common()]

    def row(name: str) -> list[str]:
        tally: Counter[tuple[str, float]] = Counter()
        for game in played:
            if name in (game.white, game.black):
                tally[game.reason, game.points(name)] += 1
        return [
            escape(name),
            *(f"{tally[reason, 1.0]} / {tally[reason, 0.5]} / {tally[reason, 0.0]}" for reason in reasons),
        ]

    note = "<p class=quiet>Won / drawn / lost.</p>"
    return _table(("player", *map(escape, reasons)), map(row, names)) + note


def _time_table(names: Sequence[str], played: Sequence[Played]) -> str:
    def row(name: str) -> list[str]:
        used, turns = [], 0
        for game in played:
            if name in (game.white, game.black):
                side = 0 if name == game.white else 1
                used.append(game.seconds[side])
                turns += (game.plies + 1 - side) // 2
        return [
            escape(name),
            f"{statistics.mean(used):.2f}",
            f"{max(used):.2f}",
            f"{1000 * sum(used) / max(1, turns):.1f}",
            f"{sum(used):,.0f}",
        ]

    headings = ("player", "seconds a game", "most", "milliseconds a turn", "seconds in all")
    return _table(headings, map(row, names))


def _games_list(played: Sequence[Played]) -> str:
    def entry(number: int, game: Played) -> str:
        end = "draw" if game.winner is None else f"{game.white if game.winner else game.black} wins"
        detail = f" ({game.detail})" if game.detail else ""
        head = f"{number}. {game.white} – {game.black}: {end}, {game.reason}{detail}; {game.plies} plies"
        moves = " &nbsp; ".join(
            f"{i // 2 + 1}{'.' if i % 2 == 0 else '…'} {escape(turn)}" for i, turn in enumerate(game.steps)
        )
        return (
            f'<details data-white="{escape(game.white)}" data-black="{escape(game.black)}">'
            f"<summary>{escape(head)}</summary><p>{moves or 'not in this page'}</p></details>"
        )

    note = '<p class=quiet>Each turn is a sense and a move. <a id=clear href="#">Show all games</a></p>'
    return f"{note}<div id=games>{''.join(entry(i, game) for i, game in enumerate(played, 1))}</div>"


# -- figures


def _svg(width: int, height: int, parts: Iterable[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}" style="max-width: 100%; margin-top: 1rem">{"".join(parts)}</svg>'
    )


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = high - low or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def _ratings_plot(ratings: Ratings) -> str:
    """Each player's rating with its 95 % interval, the best on top."""
    width, line, left = 760, 24, 190
    low = min(rating.elo - rating.margin for rating in ratings.players)
    high = max(rating.elo + rating.margin for rating in ratings.players)
    x = _scale(low, high, left, width - 20)
    height = line * len(ratings.players) + 30
    step = 50 if high - low < 500 else 100 if high - low < 1_200 else 250
    parts = []
    for mark in range(int(low // step + 1) * step, int(high) + 1, step):
        parts.append(f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="0" y2="{height - 24}" stroke="#e3e4e0"/>')
        parts.append(f'<text x="{x(mark):.1f}" y="{height - 8}" text-anchor="middle">{mark}</text>')
    for i, rating in enumerate(ratings.players):
        y = line * i + 14
        ends = x(rating.elo - rating.margin), x(rating.elo + rating.margin)
        parts.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(rating.name)}</text>')
        parts.append(
            f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y}" y2="{y}" stroke="#3b6ea5" stroke-width="2"/>'
        )
        parts.append(f'<circle cx="{x(rating.elo):.1f}" cy="{y}" r="4.5" fill="#3b6ea5"/>')
    return _svg(width, height, parts, "Ratings with 95 % intervals")


def _histogram(plies: Sequence[int]) -> str:
    """How many games lasted how long."""
    width, height, bottom = 760, 190, 160
    counts = Counter(length // BIN for length in plies)
    bars = max(counts) + 1
    x = _scale(0, bars, 40, width - 10)
    y = _scale(0, max(counts.values()), bottom, 16)
    parts = []
    for i in range(bars):
        top, wide = y(counts[i]), max(1.0, x(i + 1) - x(i) - 1)
        label = f"{i * BIN} to {i * BIN + BIN - 1} plies: {counts[i]} games"
        parts.append(
            f'<rect x="{x(i):.1f}" y="{top:.1f}" width="{wide:.1f}" height="{bottom - top:.1f}" fill="#3b6ea5">'
            f"<title>{label}</title></rect>"
        )
        if i % max(1, bars // 10) == 0:
            parts.append(f'<text x="{x(i):.1f}" y="{bottom + 16}">{i * BIN}</text>')
    parts.append(f'<text x="4" y="{y(max(counts.values())) + 4:.1f}">{max(counts.values())}</text>')
    parts.append(f'<text x="{width - 10}" y="{height - 2}" text-anchor="end">plies</text>')
    return _svg(width, height, parts, "Games by their length in plies")
