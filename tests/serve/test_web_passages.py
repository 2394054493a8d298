"""Passages like a selected text, in a real browser: by mouse and by keyboard, with filters and exports."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from rprs import Document
from tests.serve.test_web_layout import accessible
from tests.support.browser import visit
from tests.support.cli import QUERY, RECORDS, TEXTS
from tests.support.server import Server, served
from tests.support.web_samples import write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NOTICE = "Either party may end this lease with three months of written notice."
CASES = [
    *(Document(id, text, f"The {id.partition('.')[0]}") for id, text in TEXTS.items()),
    *(Document(one["id"], one["text"], one["title"], {"date": one["date"]}) for one in RECORDS),
]
# Select a text as a user does with the mouse or a finger.
SELECT = """([root, text]) => {
    const nodes = document.createTreeWalker(document.querySelector(root), NodeFilter.SHOW_TEXT);
    const parts = [];
    let whole = "";
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
        parts.push([whole.length, node]);
        whole += node.data;
    }
    const start = whole.indexOf(text);
    const at = (offset) => {
        const [first, node] = parts.findLast(([first]) => first <= offset);
        return [node, offset - first];
    };
    const range = document.createRange();
    range.setStart(...at(start));
    const [node, last] = at(start + text.length - 1);
    range.setEnd(node, last + 1);
    parts.findLast(([first]) => first <= start)[1].parentElement.scrollIntoView({block: "center"});
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""

# Select a document to which so many words were added; they are not rendered, which takes a browser minutes.
ADD_AND_SELECT = """(text, words) => {
    const rest = document.createElement("p");
    rest.hidden = true;
    rest.textContent = "word ".repeat(words);
    text.append(rest);
    getSelection().selectAllChildren(text);
}"""
PASTE = """(field, [text, size]) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text.repeat(size / text.length + 1));
    field.focus();
    field.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""


@pytest.fixture(scope="module")
def server(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(write_index(tmp_path_factory.mktemp("passages") / "made.rprs", CASES)) as running:
        yield running


def hits(page: Page) -> list[str | None]:
    return [hit.get_attribute("data-id") for hit in page.locator(".passage-hit").all()]


def test_a_selection_leads_to_passages_and_to_their_documents(chrome: Browser, server: Server) -> None:
    """From the side-by-side view: select, find, choose kinds, read a passage in its document, and come back."""
    with visit(chrome, server.url, reduced_motion="reduce") as visited:
        page = visited.search(words=["The lease"])
        visited.compare("licence.txt")
        page.evaluate(SELECT, [".aligned-side.query .aligned-text", "with three months of written notice"])
        page.locator("#find-passages").click()
        panel = page.locator("#passages")
        expect(panel.locator(".passage-hit").first).to_be_visible()
        expect(panel.locator("#passage-text")).to_have_value("with three months of written notice")
        assert "lease.txt" not in hits(page)  # the document that it comes from
        panel.locator("#passage-text").fill(NOTICE)
        page.keyboard.press("Control+Enter")
        panel.get_by_text("Leave out the document it comes from").click()
        expect(panel.locator(".passage-hit").first).to_have_attribute("data-id", "lease.txt")
        expect(panel.locator(".passage-hit mark").first).to_have_text(NOTICE)
        expect(panel.locator(".passage-hit .context").first).to_contain_text("in good repair.")
        expect(panel.locator(".summary")).to_contain_text("sentences compared")
        accessible(page, "passages")
        panel.locator(".kind-toggle[data-kind=identical]").click()
        expect(panel.locator(".passage-hit").first).to_have_attribute("data-id", "licence.txt")
        expect(panel.locator(".passage-yours del").first).to_have_text("lease")
        saved = visited.saved(panel.locator("[data-format=csv]").click)
        rows = list(csv.reader(io.StringIO(saved.read_text("utf-8-sig"))))
        assert rows[2][rows[1].index("id")] == "licence.txt"
        panel.locator(".passage-hit a").first.click()
        expect(page.locator(".reader-text mark")).to_have_text(NOTICE.replace("lease", "licence"))
        expect(page.locator(".reader-text mark")).to_be_in_viewport()
        page.go_back()
        expect(panel.locator(".passage-hit").first).to_be_visible()
        page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        expect(page.locator(".aligned")).to_be_visible()


def test_by_keyboard(chrome: Browser, server: Server) -> None:
    """Alt+P takes what is selected in the query, or the current match, or opens an empty field; Escape closes it."""
    with visit(chrome, server.url) as visited:
        page = visited.open()
        panel = page.locator("#passages")
        page.keyboard.press("Alt+P")
        expect(panel.get_by_role("alert")).to_contain_text("Nothing is selected")
        assert page.evaluate("document.activeElement.id") == "passages-title"
        page.keyboard.press("Escape")
        page.locator("#text").fill(QUERY)
        page.locator("#text").press("Control+A")
        expect(page.locator("#find-passages")).to_be_visible()
        page.keyboard.press("Alt+P")
        expect(panel.locator("#passage-text")).to_have_value(" ".join(QUERY.split()))
        expect(panel.locator(".passage-hit").first).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#text")).to_be_focused()
        page.locator("#submit").click()
        page.locator("#hits").wait_for()
        page.locator(".passages-like").first.press("Enter")
        expect(panel.locator(".passage-hit").first).to_be_visible()
        page.keyboard.press("Escape")
        visited.compare("lease.txt")
        page.keyboard.press("j")
        page.keyboard.press("Alt+P")
        expect(panel.locator("#passage-text")).not_to_have_value("")


@pytest.mark.slow
def test_too_much_is_refused_before_it_is_sent(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.locator("#text").focus()
        page.locator("#text").evaluate("(field) => { field.value = 'word '.repeat(5e4); field.select(); }")
        page.keyboard.press("Alt+P")
        expect(page.locator("#passages").get_by_role("alert")).to_contain_text("has 250,000 characters; at most 20,000")
        assert "POST /passages" not in visited.api_requests


def test_ten_megabytes_are_refused_and_the_page_goes_on(chrome: Browser, server: Server) -> None:
    """Selected in a document: the limit is named, nothing is sent, and the panel and the page can be used."""
    with visit(chrome, server.url) as visited:
        page = visited.open("/?read=lease.txt")
        page.locator(".reader-text").wait_for()
        page.locator(".reader-text").evaluate(ADD_AND_SELECT, 10_000_000 // 5)
        page.keyboard.press("Alt+P")
        panel = page.locator("#passages")
        expect(panel.get_by_role("alert")).to_contain_text("characters; at most 20,000 are compared", timeout=30_000)
        assert "has 10,000," in panel.get_by_role("alert").inner_text()
        assert "POST /passages" not in visited.api_requests
        panel.locator("#passage-text").fill(NOTICE)
        page.keyboard.press("Control+Enter")
        expect(panel.locator(".passage-hit").first).to_have_attribute("data-id", "licence.txt")
        page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        expect(page.locator(".reader-text")).to_be_visible()


def test_ten_megabytes_pasted_become_a_file(chrome: Browser, server: Server) -> None:
    """A field with ten million characters would hold up the page."""
    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.locator("#text").evaluate(PASTE, [QUERY, 10_000_000])
        expect(page.locator("#chips .chip")).to_contain_text("Pasted text.txt")
        expect(page.locator("#text")).to_have_value("")
        page.locator("#chips .chip button").click()
        page.locator("#text").fill(QUERY)
        page.locator("#submit").click()
        page.locator("#hits").wait_for()


@pytest.mark.slow
def test_on_a_phone(chrome: Browser, server: Server) -> None:
    """The panel fills the window and does not scroll sideways."""
    with visit(chrome, server.url, viewport={"width": 390, "height": 780}, has_touch=True) as visited:
        page = visited.search(text=QUERY)
        page.locator(".passages-like").first.click()
        expect(page.locator(".passage-hit").first).to_be_visible()
        box = page.locator("#passages").bounding_box()
        assert box is not None
        assert (box["x"], box["width"]) == (0, 390)
        assert page.evaluate("document.querySelector('#passages').scrollWidth") <= 390
