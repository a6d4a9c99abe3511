"""A real server in a process of its own, and the system's Chromium that looks at its page."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect, sync_playwright

from tests.support.processes import environment

DESKTOP = ViewportSize(width=1280, height=900)
PHONE = ViewportSize(width=390, height=844)
SIDEWAYS = ViewportSize(width=844, height=390)


@dataclass
class Server:
    """`penumbra serve` on a port of its own; it can be killed and started again there."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = 0
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "penumbra", "serve", "--port", str(self.port), "--data", str(self.folder)]
        self.process = subprocess.Popen([*command, *self.options], stdout=subprocess.PIPE, text=True, env=environment())
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found, line
        self.port = int(found[1])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.communicate(timeout=20)


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    server = Server(folder, options)
    server.start()
    try:
        yield server
    finally:
        server.stop(signal.SIGKILL)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Skips the test, and says why, where there is no Chromium."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed (apt-get install chromium, or set CHROMIUM to its path)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def clean_page(
    browser: Browser, viewport: ViewportSize = DESKTOP, dark: bool = False, touch: bool = False
) -> Iterator[Page]:
    """A page on which nothing may go wrong: an error on its console fails the test."""
    faults: list[str] = []
    context = browser.new_context(
        viewport=viewport, color_scheme="dark" if dark else "light", has_touch=touch, reduced_motion="reduce"
    )
    page = context.new_page()
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    context.close()
    assert not faults, faults


def cell(page: Page, square: str) -> Locator:
    return page.locator(f'.cells [data-square="{square}"]')


def phase(page: Page, *names: str) -> str:
    """Waits until the page says that it is time for one of these; which one it is."""
    table = page.locator(".table")
    expect(table).to_have_attribute("data-phase", re.compile("|".join(names)), timeout=20_000)
    return str(table.get_attribute("data-phase"))


def start_game(page: Page, server: Server, opponent: str = "random", color: str = "White") -> None:
    page.goto(server.url)
    page.locator(f'[name=opponent][value="{opponent}"]').check()
    page.get_by_role("button", name=color, exact=True).click()
    page.get_by_role("button", name="Start the game").click()
    phase(page, "sense", "waiting")
