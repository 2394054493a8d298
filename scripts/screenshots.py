"""Screenshots for the documentation, after `make demo`: `python scripts/screenshots.py INDEX FOLDER [NAME...]`.

Taken from a real server: the search form, results, the coverage of a licence, passages, a matter, and two licences side
by side, in the light and the dark theme and on a phone. Further arguments are the names of the only ones to take.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WINDOW = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}
GRANT = "facebook-patent-rights-2.LICENSE"  # re-ranking finds similar documents that share few words
HARDWARE, LIKE_IT = "cern-ohl-1.2.LICENSE", "cern-ohl-s-2.0.LICENSE"  # similar contents in different words
REWORDED = ".query .number.current.kind-reworded:not(.common)"
QUOTED = "apache-2.0.LICENSE"  # many licences have its definitions
SELECT_PARAGRAPH = """() => {
    const long = [...document.querySelectorAll(".reader-text p")].find(({textContent}) => textContent.length > 300);
    long.scrollIntoView({block: "center"});
    getSelection().selectAllChildren(long);
}"""
MATTER_NOTE = "Which licences have the same duties as ours? The board goes to the factory on 12 May."
RESULT_NOTE = "Permissive: no duty to publish changes. Our fallback if the supplier refuses the reciprocal licence."
COLOURS = 256  # enough for text, at a third of the size


@contextmanager
def served(index: Path) -> Iterator[str]:
    """The address of a server that runs until the end of the block."""
    words = [sys.executable, "-m", "rprs", "serve", str(index), "--port", "0", "--no-open", "--quiet"]
    with (
        tempfile.TemporaryDirectory() as matters,
        subprocess.Popen([*words, "--matters", matters], stdout=subprocess.PIPE, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            announcement = process.stdout.readline().split()
            if not announcement:
                sys.exit(f"The server did not start on {index}")
            yield announcement[-1].rstrip("/")
        finally:
            process.terminate()


@contextmanager
def opened(browser: Browser, address: str, theme: str) -> Iterator[Page]:
    """A new window with the form ready; the theme is light, dark, or phone."""
    window = PHONE if theme == "phone" else WINDOW
    context = browser.new_context(
        viewport={"width": window["width"], "height": window["height"]},
        has_touch=theme == "phone",
        color_scheme="dark" if theme == "dark" else "light",
        device_scale_factor=1.5,
        locale="en-GB",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(address)
    page.locator("#search-form:not([inert])").wait_for(state="attached")
    yield page
    context.close()


def fill_form(page: Page) -> None:
    """Combine two documents from the index into one query."""
    for words in ("cern hardware 1.2", "tapr hardware"):
        page.locator("#find").fill(words)
        page.locator("#options [role=option]").first.click()
    page.locator("#chips .chip").nth(1).wait_for()
    page.locator("#find").blur()


def results(page: Page) -> None:
    """The top of the results."""
    page.locator("#hits .hit").nth(5).wait_for()


def coverage(page: Page) -> None:
    """The first passage that nobody covers."""
    page.locator("#coverage[data-complete]").wait_for()
    page.keyboard.press("n")
    page.wait_for_timeout(500)  # until the surrounding text is rendered


def aligned(page: Page) -> None:
    """The second reworded match."""
    page.locator(".query .number").nth(10).wait_for(state="attached")
    for _ in range(2):
        page.keyboard.press("j")
        while not page.locator(REWORDED).count():
            page.keyboard.press("j")
    page.wait_for_timeout(500)  # until the surrounding text is rendered


def passages(page: Page) -> None:
    """Passages like the first long paragraph of a document."""
    page.locator(".reader-text p").nth(5).wait_for()
    page.evaluate(SELECT_PARAGRAPH)
    page.locator("#find-passages").click()
    page.locator(".passage-hit").nth(2).wait_for()


def matter(page: Page) -> None:
    """A saved matter with notes of its own, a relevant document, and a note with tags on a result."""
    page.locator("#hits .hit").nth(5).wait_for()
    relevant = page.locator("#hits > .hit").first.get_attribute("data-id")
    page.locator("#hits > .hit .mark-like").first.click()
    page.locator(f'#hits > .hit[data-id="{relevant}"]').wait_for(state="detached")  # it joins the query
    note = page.locator("#hits > .hit").first.locator(".note-fold")
    note.locator("summary").click()
    note.locator("textarea").fill(RESULT_NOTE)
    note.locator("input").fill("fallback, ask the supplier")
    note.locator("input").press("Tab")
    note.locator("summary").click()
    page.locator("#save-matter").click()
    page.locator("#matter-name").fill("Release of the sensor board")
    page.locator("#matter-notes").fill(MATTER_NOTE)
    page.locator("#matter-tags").fill("hardware, due in May")
    page.locator("#save-on-server").click()
    page.locator("#matter-head").wait_for()
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")


def take_screenshots(index: Path, folder: Path, only: Sequence[str] = ()) -> None:
    """Take all screenshots, or those with some names."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit("Screenshots require Chromium: install it (Debian: apt-get install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    side_by_side = f"/?id={HARDWARE}&k=10&open={LIKE_IT}"
    pictures = [
        ("page-ask", "/", "light", fill_form),
        ("page-results", f"/?id={GRANT}&k=10", "light", results),
        ("page-coverage", f"/?id={HARDWARE}&k=10&view=coverage", "light", coverage),
        ("page-aligned", side_by_side, "light", aligned),
        ("page-aligned-dark", side_by_side, "dark", aligned),
        ("page-phone", side_by_side, "phone", aligned),
        ("page-passages", f"/?read={QUOTED}", "light", passages),
        ("page-matter", f"/?id={HARDWARE}&k=10", "light", matter),
    ]
    with served(index) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for name, address, theme, prepare in (each for each in pictures if not only or each[0] in only):
            with opened(browser, url + address, theme) as page:
                prepare(page)
                file = folder / f"{name}.png"
                picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
                print(file, f"{file.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    take_screenshots(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
