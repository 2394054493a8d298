"""Collections in a real browser: choosing, creating, extending and reducing them, also with the keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import visit
from tests.support.cli import QUERY
from tests.support.server import Server, served
from tests.support.web_samples import HARBOUR, invent_sentences, paragraphs, write_index

from .test_collections import CASES, CONTRACTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHIPS = {
    "name": "ships.txt",
    "mimeType": "text/plain",
    "buffer": b"The pilot sold the silver lantern. He left at dawn.",
}
BROKEN = {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 nothing"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    (root / "served").mkdir()
    write_index(root / "served" / "cases.rprs", CASES)
    write_index(root / "served" / "contracts.rprs", CONTRACTS)
    (root / "files").mkdir()
    (root / "files" / "note.txt").write_text("The notary weighed the broken bell. Nobody heard it.")
    with served(root / "served", "--allow-write", "--files", root / "files") as running:
        yield running


def test_a_collection_is_chosen_and_all_are_searched_together(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.locator("#collection").select_option("contracts")
        page.wait_for_url("**/?collection=contracts")
        page.locator("#search-form:not([inert])").wait_for(state="attached")
        visited.search(text=QUERY)
        assert "lease.txt" in visited.ids()
        assert "moss-v-reed" not in visited.ids()
        assert not page.locator(".hit-collection").count()
        page.reload()
        page.locator("#hits").wait_for()
        assert page.locator("#collection").input_value() == "contracts"
        page.locator("#collection").select_option("_together")
        page.wait_for_url("**/?collection=_together")
        page.locator("#search-form:not([inert])").wait_for(state="attached")
        visited.search(text=QUERY)
        assert {"lease.txt", "moss-v-reed"} <= {*visited.ids()}
        where = page.locator('.hit[data-id="moss-v-reed"] .hit-collection')
        expect(where).to_have_text("Collection: cases")
        visited.compare("moss-v-reed")
        page.keyboard.press("Alt+p")
        page.locator("#passage-text").fill(QUERY)
        page.keyboard.press("Control+Enter")
        passage = page.locator('.passage-hit[data-id="moss-v-reed"]').first
        expect(passage.locator(".hit-collection")).to_have_text("Collection: cases")
        page.keyboard.press("Escape")
        page.go_back()
        page.locator("#show-coverage").click()
        page.locator("#coverage[data-complete]").wait_for()
        sources = page.locator(".chart-sources li")
        assert {*sources.locator(".hit-collection").all_text_contents()} == {" in cases", " in contracts"}
        assert "in c" in (page.locator(".who .source").first.get_attribute("aria-label") or "")


def test_a_collection_is_created_extended_and_reduced_with_the_keyboard(chrome: Browser, server: Server) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.get_by_role("link", name="Collections").focus()
        page.keyboard.press("Enter")
        page.locator("#create").wait_for()
        page.locator("#new-name").focus()
        page.keyboard.type("ships")
        page.locator("form.create input[type=file]").set_input_files([SHIPS, BROKEN])  # type: ignore[arg-type]  # they are such files
        page.locator("#new-encoder").select_option("hashed")
        page.locator("#create").focus()
        page.keyboard.press("Enter")
        outcome = page.locator(".outcome-notice")
        outcome.wait_for()
        assert "1 document added, 0 changed, 0 unchanged, 1 skipped" in outcome.inner_text()
        outcome.locator("summary").focus()
        page.keyboard.press("Enter")
        outcome.get_by_text("broken.pdf").wait_for()
        ships = page.locator('.collection[data-name="ships"]')
        ships.wait_for()
        assert "cannot be searched together" in page.locator("#collections .lead").inner_text()
        violations = [
            each for each in Axe().run(page).response["violations"] if each["impact"] in ("serious", "critical")
        ]
        assert violations == []
        ships.get_by_text("Add documents").focus()
        page.keyboard.press("Enter")
        folder = ships.locator("input[list]")
        folder.fill(folder.get_attribute("placeholder") or "")
        folder.press("Enter")
        page.locator(".outcome-notice", has_text="Adding to ships: 1 document added").wait_for()
        ships.get_by_text("Remove documents").focus()
        page.keyboard.press("Enter")
        button = ships.get_by_role("button", name="Remove ships")
        button.wait_for()
        button.focus()
        page.keyboard.press("Enter")
        page.get_by_text("Removed ships").wait_for()
        ships.get_by_text("1 document ·").wait_for()
        ships.get_by_role("link", name="Search").click()
        page.wait_for_url("**/?collection=ships")


@pytest.mark.slow
def test_a_cancelled_collection_leaves_nothing_behind_and_says_so(chrome: Browser, server: Server, root: Path) -> None:
    long_texts = root / "files" / "long"
    long_texts.mkdir()
    for number in range(400):
        (long_texts / f"{number}.txt").write_text(paragraphs(invent_sentences(HARBOUR, 100, number)))
    before = sorted((root / "served").iterdir())
    with visit(chrome, server.url) as visited:
        page = visited.open("/?manage=collections")
        page.locator("#new-name").fill("unfinished")
        page.locator("form.create input[list]").fill(str(long_texts))
        page.locator("#create").click()
        page.locator(".progress [role=status]", has_text=re.compile(r"\d documents")).wait_for()  # it has begun
        page.locator(".progress").get_by_role("button", name="Cancel").click()
        notice = page.locator(".notice[role=status]")
        expect(notice).to_have_text("Creating unfinished was cancelled. No collection was created.")
        expect(page.locator(".progress")).to_have_count(0)
        expect(page.locator('.collection[data-name="unfinished"]')).to_have_count(0)
        assert eventually(lambda: sorted((root / "served").iterdir()) == before)
        with server.client() as http:
            names = [each["name"] for each in http.get("/collections").json()["collections"]]
        assert "unfinished" not in names
        page.locator("#new-name").fill("unfinished")  # the name is free again
        page.locator("form.create input[list]").fill("")
        page.locator("form.create input[type=file]").set_input_files([SHIPS])  # type: ignore[arg-type]  # it is such a file
        page.locator("#new-encoder").select_option("hashed")
        page.locator("#create").click()
        expect(page.locator(".outcome-notice")).to_contain_text("Creating unfinished: 1 document added")


def eventually(condition: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether a condition holds within some time: the server stops a job at its next step."""
    end = monotonic() + seconds
    while not condition():
        if monotonic() > end:
            return False
        sleep(0.05)
    return True


@pytest.mark.slow
def test_nothing_is_said_about_an_empty_form(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.open("/?manage=collections")
        page.locator("#create").click()
        page.get_by_role("alert").get_by_text("Choose files or a folder first.").wait_for()
