"""`penumbra report`: everything that has been reproduced on one page, ours beside the paper's.

Of each experiment the largest scale is taken that is there. Pictures are copied beside the page.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penumbra.reproduce.experiments import WHERE
from penumbra.reproduce.request import OUT, SCALES, ReproductionError
from penumbra.reproduce.result import Claim, Grid, page
from penumbra.whole_files import replacing, write_text

PAGE = Path("docs/reproduction.md")
PICTURES = Path("pictures/reproduction")  # beside the page
LARGEST_FIRST = tuple(reversed(SCALES))

TITLE = "# The paper's tables and figures, ours beside the paper's"
SUBJECTS = {  # lines of the verdict: experiments about the same
    "What the network predicts": ("table1", "cross1", "cross5", "crosswin"),
    "Uncertainty, and the games": ("fig1", "fig-synopsis", "fig-lengths", "fig-uncertainty"),
    "Strength of the variants and the baselines": ("table2",),
    "Caution, paranoia and exploration": ("table3", "table4"),
    "Saliency of the planes": ("fig-saliency", "table-saliency", "ablation"),
}

FEW = 2  # statements that are named where they hold; those that do not always are

INTRODUCTION = """## How this page is made

Each section is the output of one command; `penumbra report` collects them here. Our games are not the paper's: its
opponents were the public programs of 2019 and 2020, ours are players built after them and a few hundred public games,
and no network of ours has been trained for as long as the paper's. So numbers differ, and the question is which of the
paper's statements hold. *Cannot be told* means that what was measured at this scale could also be due to chance, or
that there is nothing to compare.

```sh
penumbra reproduce all --scale smoke          # a check that everything works, on two cores
penumbra reproduce all --scale paper          # at the paper's scale; each command first prints its time and memory
penumbra report                               # this page
```

At small scale, in seven minutes with a GPU and 16 cores, the first three at the same time as the others:

```sh
for name in table-saliency fig-saliency ablation; do
    PENUMBRA_THREADS=5 penumbra reproduce $name --scale small --games 3000 --device cuda \\
        --archive runs/games.db --archive runs/public.db
done
penumbra reproduce table2 --scale small --workers 22 --minutes 3.4 --device cuda
penumbra reproduce table4 --scale small --workers 22 --minutes 1.2 --device cuda
penumbra reproduce table3 --scale small --workers 22 --minutes 1.5 --device cuda
```

The paper's baselines are public programs. As files of reconchess players, named after the programs, they take the place
of our kinds after them. Each plays in a process of its own, without a clock, and games that end by a fault of its are
counted apart. A program that needs Stockfish finds it by STOCKFISH_EXECUTABLE:

```sh
penumbra reproduce table2 --scale small --baselines bots/stocky_inference.py --baselines bots/trout.py
```

and on two cores, with fewer games than the scale asks for, as their sections say:

```sh
penumbra reproduce fig-synopsis --scale small
penumbra reproduce fig-lengths --scale small --games 20000
penumbra reproduce fig1 --scale small --games 150
for name in table1 cross1 cross5 crosswin; do
    penumbra reproduce $name --scale small --games 1200 --weights src/penumbra/weights/lite.safetensors
done
penumbra reproduce fig-uncertainty --scale small --games 400
```

Every command first prints its estimated cost, continues where it was stopped, and writes CSV, Markdown and PNG into
`runs/reproduction/SCALE/`. The paper's numbers are in `src/penumbra/reproduce/paper/`."""


def write_report(folder: Path = OUT, to: Path = PAGE) -> list[str]:
    """Writes the page; the names of what is on it."""
    found = collect(folder)
    if not found:
        raise ReproductionError(f"{folder}: nothing has been reproduced yet; `penumbra reproduce all` does it")
    pictures = to.parent / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    sections = []
    for name, (about, home) in found.items():
        with replacing(pictures / f"{name}.png") as beside:
            shutil.copyfile(home / f"{name}.png", beside)
        sections.append(page(about, f"{PICTURES / name}.png", level=2))
    parts = [TITLE, verdict(found), INTRODUCTION, _summary(found), *(section.strip() for section in sections)]
    write_text(to, "\n\n".join(parts) + "\n")
    return list(found)


def collect(folder: Path) -> dict[str, tuple[dict[str, Any], Path]]:
    """What NAME.json holds and where it is, for each experiment that is there."""
    found = {}
    for name in WHERE:
        homes = [folder / scale for scale in LARGEST_FIRST if (folder / scale / f"{name}.json").is_file()]
        if homes:
            try:
                found[name] = json.loads((homes[0] / f"{name}.json").read_text()), homes[0]
            except ValueError:
                raise ReproductionError(f"{homes[0] / name}.json: is not one of ours") from None
    return found


def verdict(found: dict[str, tuple[dict[str, Any], Path]]) -> str:
    """What of the paper is confirmed, what is not, what is unknown and what it would take, in about ten lines."""
    claims = {name: [Claim(**claim) for claim in about["claims"]] for name, (about, _) in found.items()}
    counts = Counter(claim.verdict for each in claims.values() for claim in each)
    lines = [
        f"Of {counts.total()} statements of the paper {counts['holds']} hold in what was measured here, "
        f"{counts['does not hold']} do not, and {counts['cannot be told']} cannot be told.",
        "",
    ]
    for subject, names in SUBJECTS.items():
        there = [name for name in names if name in found]
        if there:
            scales = dict.fromkeys(str(found[name][0]["scale"]) for name in there)
            lines.append(_line(subject, there, list(scales), [claim for name in there for claim in claims[name]]))
    lines += [
        "",
        "Numbers of games are those that would tell in four tries of five if the gap were the paper's; half the gap "
        "takes four times the games, so that the paper's smallest gaps take more than the paper played.",
    ]
    if public := sorted({name for about, _ in found.values() for name in about.get("public", [])}):
        lines.append(f"Baselines that were the public programs: {', '.join(public)}.")
    elif "table2" in found:
        lines.append("No baseline was the public program: those of Tables 2 to 4 are our own kinds after them.")
    if missing := _missing(found):
        lines.append(f"Not reproduced yet: {', '.join(missing)}.")
    return "## The verdict\n\n" + "\n".join(lines)


def _line(subject: str, names: Sequence[str], scales: Sequence[str], claims: Sequence[Claim]) -> str:
    by_verdict = {holds: [claim for claim in claims if claim.holds is holds] for holds in (True, False, None)}
    right = by_verdict[True]
    parts = [f"{len(right)} of {len(claims)} confirmed" + (_texts(right) if len(right) <= FEW else "")]
    if wrong := by_verdict[False]:
        parts.append(f"{len(wrong)} not confirmed" + _texts(wrong))
    if unknown := by_verdict[None]:
        parts.append(f"{len(unknown)} unknown: {_taking(unknown)}")
    commands = ", ".join(f"`{name}`" for name in names)
    return f"- *{subject}* ({commands}; {', '.join(scales)} scale): {'; '.join(parts)}."


def _texts(claims: Sequence[Claim]) -> str:
    return f" ({'; '.join(dict.fromkeys(claim.text for claim in claims))})" if claims else ""


def _taking(unknown: Sequence[Claim]) -> str:
    """What would tell claims, those of a kind together: `11 by 150 to 2,000 games, 1 by 16 planes`."""
    kinds: dict[str, list[Claim]] = {}
    for claim in unknown:
        kinds.setdefault(claim.of, []).append(claim)
    taking = []
    for of, claims in kinds.items():
        numbers = sorted(claim.more for claim in claims if claim.more is not None)
        span = " to ".join(f"{number:,}" for number in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else ""
        count = f"{len(claims)} by " if len(kinds) > 1 else ""
        taking.append(f"{count}{span} {of}" if numbers else f"{len(claims)} without a number ({of})")
    return ", ".join(taking)


def _missing(found: dict[str, tuple[dict[str, Any], Path]]) -> list[str]:
    return [name for name in WHERE if name not in found]


def _summary(found: dict[str, tuple[dict[str, Any], Path]]) -> str:
    """Which of the paper's statements hold, by experiment."""
    rows = []
    for name, (about, _) in found.items():
        claims = [Claim(**claim) for claim in about["claims"]]
        counts = [sum(claim.holds is verdict for claim in claims) for verdict in (True, False, None)]
        failing = "; ".join(claim.text for claim in claims if claim.holds is False)
        rows.append([f"`{name}`", about["title"], about["scale"], *counts, failing])
    heading = ["", "what", "scale", "hold", "do not hold", "cannot be told", "which do not hold"]
    missing = _missing(found)
    text = "## Which of the paper's statements hold\n\n" + Grid(heading, rows).markdown()
    return text + (f"\n\nNot reproduced yet: {', '.join(missing)}." if missing else "")
