"""A real Chromium for the tests of the page: Debian's, or another of this machine.

Where there is none, these tests are left out with a line at the end of the run. `RPRS_BROWSER` names one, or is
`required`: then its absence is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NONE = "no Chromium here: install one (Debian: apt-get install chromium), or name it in RPRS_BROWSER"
# In containers there is neither a user for its sandbox nor a graphics card; the rest keeps it from calling home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str | None:
    """The program, if there is one."""
    wanted = os.environ.get("RPRS_BROWSER", "")
    names = NAMES if wanted in ("", "required") else (wanted,)
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without windows; a test that asks for it where there is none is skipped, or fails."""
    program = chromium()
    if program is None:
        if os.environ.get("RPRS_BROWSER"):
            pytest.fail(NONE)
        pytest.skip(NONE)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Visit:
    """A page, with what it complained of and whom it asked."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("request", self._note)

    def _note(self, request: Any) -> None:
        if not request.url.startswith((self.url, "blob:", "data:")):
            self.strangers.append(request.url)


@contextmanager
def visit(running: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """A page of a server in a profile of its own; at its end it has complained of nothing and asked nobody else."""
    context = running.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **options})
    context.set_default_timeout(15_000)
    try:
        visited = Visit(context, url)
        yield visited
        assert visited.complaints == []
        assert visited.strangers == []
    finally:
        context.close()
