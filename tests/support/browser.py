"""A real Chromium for the UI tests.

Without one, these tests are skipped, with a line at the end of the run. `RPRS_BROWSER` names the program, or is
`required` to make its absence a failure.
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
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NONE = "UI tests require Chromium: install it (Debian: apt-get install chromium), or name it in RPRS_BROWSER"
# Containers have no user for its sandbox and no graphics card; the other flags disable background connections.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
TIMEOUT = 60_000  # milliseconds: generous, because it only bounds tests that fail
# All messages of the progress line in order: they change too quickly to be read from here.
LISTEN = """
window.progressMessages = [];
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  const message = document.querySelector(".progress [role=status]")?.textContent;
  if (message && message !== window.progressMessages.at(-1)) window.progressMessages.push(message);
}).observe(document.body, {subtree: true, childList: true, characterData: true}));
"""


def chromium() -> str | None:
    """The path of the program, if it is installed."""
    requested = os.environ.get("RPRS_BROWSER", "")
    names = NAMES if requested in ("", "required") else (requested,)
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless browser; without Chromium the test is skipped, or fails if it is required."""
    program = chromium()
    if program is None:
        if os.environ.get("RPRS_BROWSER"):
            pytest.fail(NONE)
        pytest.skip(NONE)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Visit:
    """A browser tab with its console errors and requests, and the steps of a user."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.context = context
        self.console_errors: list[str] = []
        self.foreign_requests: list[str] = []
        self.api_requests: list[str] = []  # method and path of each request to the API
        context.on("request", self._note)
        context.on("console", lambda entry: self._add_error(_described(entry)) if entry.type == "error" else None)
        context.on("weberror", lambda error: self._add_error(str(error.error)))
        context.on("dialog", self._close)
        context.add_init_script(LISTEN)
        self.page: Page = context.new_page()

    def _note(self, request: Request) -> None:
        if not request.url.startswith((f"{self.url}/", "blob:", "data:")):
            self.foreign_requests.append(request.url)
        path = urlsplit(request.url).path
        if path.startswith("/api/"):
            self.api_requests.append(f"{request.method} {path.removeprefix('/api/v1')}")

    def _add_error(self, message: str) -> None:
        self.console_errors.append(message)

    def _close(self, dialog: Any) -> None:
        self._add_error(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def expect_error(self, pattern: str) -> None:
        """Remove errors that the test provoked, such as the browser's own about a status 401; there must be one."""
        kept = [message for message in self.console_errors if not re.search(pattern, message)]
        assert len(kept) < len(self.console_errors), f"no such error in {self.console_errors}"
        self.console_errors[:] = kept

    # ------------------------------------------------------------------------ steps

    def open(self, address: str = "/") -> Page:
        """Go to an address of the server and wait until the form is ready."""
        self.page.goto(self.url + address)
        self.page.locator("#search-form:not([inert])").wait_for(state="attached")
        return self.page

    def fill_form(
        self, *, text: str = "", files: Sequence[Path | dict[str, Any]] = (), words: Sequence[str] = ()
    ) -> Page:
        """Fill in the form; documents from the index are picked by words of their titles."""
        page = self.page if self.page.url != "about:blank" else self.open()
        if files:
            page.locator("#files").set_input_files(files)  # type: ignore[arg-type]  # both types are accepted
        for some in words:
            page.locator("#find").fill(some)
            page.locator("#options [role=option]").first.click()
        if text:
            page.locator("#text").fill(text)
        return page

    def search(self, **query: Any) -> Page:
        """Run a search and wait for its results."""
        page = self.fill_form(**query)
        page.locator("#submit").click()
        page.locator("#hits").wait_for()
        return page

    def ids(self) -> list[str]:
        """The ids of the results."""
        return [hit.get_attribute("data-id") or "" for hit in self.page.locator("#hits > .hit").all()]

    def shows(self, ids: Sequence[str]) -> bool:
        """Whether the results become these."""
        from playwright.sync_api import expect

        hits = self.page.locator("#hits > .hit")
        expect(hits).to_have_count(len(ids))
        for place, id in enumerate(ids):
            expect(hits.nth(place)).to_have_attribute("data-id", id)
        return True

    def compare(self, id: str) -> Page:
        """Open a result side by side."""
        self.page.locator(f'.hit[data-id="{id}"] .compare').click()
        self.page.locator(".aligned").wait_for()
        return self.page

    def saved(self, press: Callable[[], None]) -> Path:
        """The file that a step downloads, with its suggested name."""
        with self.page.expect_download() as download:
            press()
        path = download.value.path()
        return path.rename(path.with_name(f"{path.name}-{download.value.suggested_filename}"))


def _described(entry: ConsoleMessage) -> str:
    """An error of the console with the address it concerns: a missing file's is not in its text."""
    return f"{entry.text} ({entry.location['url']})"


@contextmanager
def visit(running: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """A tab in a new profile; at the end there must be no console errors and no requests to other servers."""
    context = running.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **options})
    context.set_default_timeout(TIMEOUT)
    try:
        visited = Visit(context, url)
        yield visited
        assert not visited.console_errors, visited.console_errors
        assert not visited.foreign_requests, visited.foreign_requests
    finally:
        context.close()
