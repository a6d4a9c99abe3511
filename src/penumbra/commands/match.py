"""`penumbra match` on the terminal: a bar and the score while it runs, the account at the end."""

from __future__ import annotations

import json

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from penumbra.arena.match import Match, run, to_json
from penumbra.arena.score import GameResult, Score
from penumbra.interop.isolated_player import this_installation


def play_match(match: Match, as_json: bool, console: Console) -> bool:
    """Plays it and says what came of it; `console` shows the progress. False if it was interrupted."""
    if match.a.installation is not None or match.b.installation is not None:
        for who in (match.a, match.b):
            print(f"{who.name}: {(who.installation or this_installation()).line()}", file=console.file, flush=True)
    if console.is_terminal:
        score, interrupted = _with_bar(match, console)
    else:
        score, interrupted = run(match, lambda score: None if as_json else _print_last(match, score))
    if as_json:
        print(json.dumps(to_json(match, score, interrupted), indent=1))
    else:
        print(summary(match, score, interrupted))
    return not interrupted


def _print_last(match: Match, score: Score) -> None:
    print(game_line(match, score.results[-1]), flush=True)


def _with_bar(match: Match, console: Console) -> tuple[Score, bool]:
    columns = (
        TextColumn(f"{match.a.name} v {match.b.name}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[score]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("match", total=match.games, score="")
        return run(match, lambda score: progress.update(task, completed=len(score.results), score=score.line()))


def game_line(match: Match, result: GameResult) -> str:
    """One game on one line."""
    names = {"a": match.a.name, "b": match.b.name}
    white, black = ("a", "b") if result.a_is_white else ("b", "a")
    if not result.settled:
        end = f"not settled: {result.detail}"
    elif result.winner is None:
        end = f"draw, {result.reason}"
    else:
        end = f"{names[result.winner]} wins, {result.reason}" + (f" ({result.detail})" if result.detail else "")
    head = f"game {result.number + 1}: {names[white]} v {names[black]}"
    return f"{head}: {end}; {result.plies} moves in {result.seconds:.1f} s"


def summary(match: Match, score: Score, interrupted: bool) -> str:
    """The score, wins by reason with those on time apart, and what each side lost by its own fault."""
    lines = [f"{match.a.name} v {match.b.name}: {score.line()}"]
    if match.sprt is not None:
        lines.append(f"  {match.sprt.line(*score.tally)}")
    for side, name in (("a", match.a.name), ("b", match.b.name)):
        wins = score.reasons(side)
        on_time = wins.pop("time", 0)
        lines.append(f"  {name} wins {score.count(side)}: {_counts(wins)}; on time {on_time}")
    lines.append(f"  draws {score.count(None)}: {_counts(score.reasons(None))}")
    for side, who in (("a", match.a), ("b", match.b)):
        lines.append(f"  {who.name} lost by its own fault: {_counts(score.losses(side))}")
        least = [left for result in score.settled if (left := result.least_left[0 if side == "a" else 1]) is not None]
        if least:
            lines.append(f"  {who.name}'s clock never showed less than {min(least):.2f} s")
    recoveries = sum(len(result.recoveries) for result in score.results)
    faults = [fault for result in score.results for fault in result.search_faults]
    if match.a.is_penumbra or match.b.is_penumbra:
        lines.append(f"  Penumbra lost track and recovered {recoveries} times; searches that failed: {len(faults)}")
    unsettled = len(score.results) - len(score.settled)
    lines.append(f"  games: {match.games} asked for, {len(score.settled)} settled, {unsettled} not settled")
    if match.is_clear(score):
        lines.append(f"  clear after {len(score.results)} games")
    if interrupted:
        lines.append(f"  interrupted: {match.games - len(score.results)} games not played")
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items()) or "none"
