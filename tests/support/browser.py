"""A real Chromium for the tests of the page: Debian's, or another of this machine.

Where there is none, these tests are left out with a line at the end of the run. `RPRS_BROWSER` names one, or is
`required`: then its absence is a failure.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

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
# What the line of progress said, one after the other: too fast to be looked at from here.
LISTEN = """
window.told = [];
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  const words = document.querySelector(".progress [role=status]")?.textContent;
  if (words && words !== window.told.at(-1)) window.told.push(words);
}).observe(document.body, {subtree: true, childList: true, characterData: true}));
"""


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
    """A page, with what it complained of and whom it asked; and the steps that a person takes on it."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.context = context
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.asked: list[str] = []  # method and path of each request to the API
        context.on("request", self._note)
        context.on("console", lambda said: self._complain(said.text) if said.type == "error" else None)
        context.on("weberror", lambda error: self._complain(str(error.error)))
        context.on("dialog", self._close)
        context.add_init_script(LISTEN)
        self.page: Page = context.new_page()

    def _note(self, request: Request) -> None:
        if not request.url.startswith((f"{self.url}/", "blob:", "data:")):
            self.strangers.append(request.url)
        path = urlsplit(request.url).path
        if path.startswith("/api/"):
            self.asked.append(f"{request.method} {path.removeprefix('/api/v1')}")

    def _complain(self, words: str) -> None:
        self.complaints.append(words)

    def _close(self, dialog: Any) -> None:
        self._complain(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def forgive(self, pattern: str) -> None:
        """Complaints that the test itself provoked, such as the browser's own about an answer of 401; there is one."""
        kept = [words for words in self.complaints if not re.search(pattern, words)]
        assert len(kept) < len(self.complaints), f"nothing to forgive in {self.complaints}"
        self.complaints[:] = kept

    # ------------------------------------------------------------------------ steps

    def open(self, address: str = "/") -> Page:
        """Go to an address of the server, until the page can be used."""
        self.page.goto(self.url + address)
        self.page.locator("#ask-form:not([inert])").wait_for(state="attached")
        return self.page

    def give(self, *, text: str = "", files: Sequence[Path | dict[str, Any]] = (), words: Sequence[str] = ()) -> Page:
        """Put a question into the form; documents of the index are picked by words of their titles."""
        page = self.page if self.page.url != "about:blank" else self.open()
        if files:
            page.locator("#files").set_input_files(files)  # type: ignore[arg-type]  # both kinds are taken
        for some in words:
            page.locator("#find").fill(some)
            page.locator("#found [role=option]").first.click()
        if text:
            page.locator("#text").fill(text)
        return page

    def ask(self, **question: Any) -> Page:
        """Ask a question, until its list is there."""
        page = self.give(**question)
        page.locator("#submit").click()
        page.locator("#hits").wait_for()
        return page

    def ids(self) -> list[str]:
        """The documents of the list."""
        return [hit.get_attribute("data-id") or "" for hit in self.page.locator("#hits > .hit").all()]

    def shows(self, ids: Sequence[str]) -> bool:
        """Whether the list comes to be this one."""
        from playwright.sync_api import expect

        hits = self.page.locator("#hits > .hit")
        expect(hits).to_have_count(len(ids))
        for place, id in enumerate(ids):
            expect(hits.nth(place)).to_have_attribute("data-id", id)
        return True

    def compare(self, id: str) -> Page:
        """Open a result of the list side by side."""
        self.page.locator(f'.hit[data-id="{id}"] .compare').click()
        self.page.locator(".aligned").wait_for()
        return self.page

    def saved(self, press: Callable[[], None]) -> Path:
        """The file that a step hands to the browser's downloads, under the name that it has for the person."""
        with self.page.expect_download() as download:
            press()
        path = download.value.path()
        return path.rename(path.with_name(f"{path.name}-{download.value.suggested_filename}"))


@contextmanager
def visit(running: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """A page of a server in a profile of its own; at its end it has complained of nothing and asked nobody else."""
    context = running.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **options})
    context.set_default_timeout(15_000)
    try:
        visited = Visit(context, url)
        yield visited
        assert not visited.complaints, visited.complaints
        assert not visited.strangers, visited.strangers
    finally:
        context.close()
