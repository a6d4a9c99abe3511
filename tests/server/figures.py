"""Figures for the documents, in evidence/page.json."""

from __future__ import annotations

import json

from tests.support import ROOT

NOTES = ROOT / "evidence"


def note(name: str, value: object) -> None:
    NOTES.mkdir(exist_ok=True)
    path = NOTES / "page.json"
    figures = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(figures | {name: value}, indent=1) + "\n")
    print(f"{name}: {value}")
