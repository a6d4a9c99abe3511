"""Fails where a link of the built documentation leads nowhere: a file that is not there, or a place that a page lacks.

python .ci/site_links.py build/docs
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Where a page leads, and the places in it that can be led to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name == "id" and value:
                self.places.add(value)


def broken(site: Path) -> list[str]:
    """Each link within the site that leads nowhere, with its page."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not there.exists() or (place and there in pages and place not in pages[there].places):
                found.append(f"{path.relative_to(site.resolve())}: {target}")
    return found


def main() -> None:
    problems = broken(Path(sys.argv[1]))
    for problem in problems:
        print(f"leads nowhere: {problem}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
