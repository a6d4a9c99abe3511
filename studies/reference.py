"""Writes what `penumbra doctor --deep` compares with: `PYTHONPATH=src python -m studies.reference`.

To be run where weights or the search have changed on purpose; tests/bench/test_reference.py fails until it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from penumbra.bench.reference import FILE, WEIGHTS, Outcome, digest, evaluators, search
from penumbra.whole_files import write_text


def text() -> str:
    """The file: of each kind of evaluator what the first of its kind says."""
    outcomes: dict[str, Outcome] = {}
    for kind, make in evaluators().values():
        if kind not in outcomes:
            outcomes[kind] = search(make())
    lines = ["# By `python -m studies.reference`: hashes, and what a search comes to by the kind of evaluator."]
    lines += ["", "[weights]", *(f'{name} = "{digest(path)}"' for name, path in WEIGHTS.items())]
    for kind, outcome in outcomes.items():
        lines += ["", f'[search."{kind}"]', *(f'"{name}" = {value:.5f}' for name, value in outcome.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.reference", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=FILE, help="the file to write")
    out = parser.parse_args().out
    write_text(out, text())
    print(out)


if __name__ == "__main__":
    main()
