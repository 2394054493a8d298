"""Quick users, unusual texts and restrictive browsers, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from rprs import Document
from tests.support.browser import visit
from tests.support.server import Server, served
from tests.support.web_samples import ORCHARD, invent_sentences, paragraphs, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = paragraphs(invent_sentences(ORCHARD, 12))
LEASE = ["يدفع المستأجر الأجرة في أول كل شهر.", "A𝒽𝑒𝓉𝑒𝓃𝒶𝓃𝓉𝓅𝒶𝓎𝓈𝓉𝒽𝑒𝓇𝑒𝓃𝓉𝒶𝓁𝓌𝒶𝓎𝓈 on the first day."]
TITLE = "In the matter of the orchard beyond the river " * 40
NOTES = [
    Document(
        f"note-{number}",
        paragraphs(invent_sentences(ORCHARD, 9, number)),
        "",
        {"year": 1980 + 10 * number, "date": "1999"},
    )
    for number in range(1, 8)
]
STRANGE = [
    Document("strange", "\n\n".join(LEASE), "Strange"),
    Document("stranger", "\n\n".join(LEASE[::-1]), "Stranger"),
    Document("long", f"{TEXT} And more.", TITLE),
]
MANY = [
    Document(f"m{number:03}", " ".join(invent_sentences(ORCHARD, 2, number)), f"Note {number}") for number in range(300)
]
WITHOUT_STORAGE = """for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, {get() { throw new DOMException("denied", "SecurityError"); }});"""


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("review") / "made.rprs", [*NOTES, *STRANGE, *MANY])


@pytest.fixture(scope="module")
def server(index_path: Path) -> Iterator[Server]:
    with served(index_path, "--depth", 300) as running:
        yield running


def view(page: Page) -> str | None:
    return page.locator("body").get_attribute("data-view")


# ---------------------------------------------------------------------------- quick users


@pytest.mark.slow
def test_the_button_does_not_move_after_a_text_is_entered(chrome: Browser, server: Server) -> None:
    """Otherwise a quick click after pasting would miss it."""
    with visit(chrome, server.url) as visited:
        page = visited.open()
        where = "() => document.querySelector('#submit').getBoundingClientRect().top"
        give = "() => { text.value = 'Some words.'; text.dispatchEvent(new Event('input', {bubbles: true})); }"
        before = page.evaluate(where)
        page.evaluate(f"() => {{ const text = document.querySelector('#text'); ({give})(); }}")
        at_once = page.evaluate(where)
        page.wait_for_timeout(400)
        assert before < at_once == page.evaluate(where)


@pytest.mark.slow
def test_a_pending_filter_is_discarded_with_its_results(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=TEXT)
        for way, expected_view in (("#edit", "search"), (".compare >> nth=0", "aligned")):
            page.locator("#filter-year-from").fill("2020")
            page.locator("#filter-year-from").dispatch_event("change")
            page.locator(way).click()
            page.wait_for_timeout(650)  # more than the pause before a filter is applied
            assert view(page) == expected_view
            page.go_back()
            page.locator("#hits").wait_for()
            expect(page.locator("#filter-year-from")).to_have_value("")
        assert visited.api_requests.count("POST /search") == 1


@pytest.mark.slow
def test_a_double_click_on_back_goes_back_once(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=TEXT)
        page.locator(".compare").first.click(modifiers=["Control"])  # there is no address that another tab could open
        page.locator(".aligned").wait_for()
        page.locator(".back").dblclick()
        page.locator("#hits").wait_for()
        page.wait_for_timeout(200)
        assert view(page) == "results"


@pytest.mark.slow
def test_hidden_results_survive_a_reload(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=TEXT)
        before = visited.ids()
        page.locator(".hide").nth(1).click()
        page.reload()
        assert visited.shows([before[0], *before[2:]])
        expect(page.locator("#hidden-results")).to_contain_text("1 hidden")


@pytest.mark.slow
def test_an_error_disappears_once_it_is_resolved(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.locator("#submit").click()
        expect(page.locator("#problems li")).to_have_count(1)
        visited.search(text=TEXT)
        page.go_back()
        expect(page.locator("#problems li")).to_have_count(0)


@pytest.mark.slow
def test_numbers_in_filters_accept_exponents(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=TEXT)
        page.locator("#filter-year-to").fill("2.0e3")
        page.locator("#filter-year-to").press("Enter")
        expect(page.locator("#hits > .hit")).to_have_count(2)


# ---------------------------------------------------------------------------- unusual texts


@pytest.mark.slow
def test_texts_in_every_script_are_complete_and_aligned_to_their_side(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.page
        page.goto(f"{server.url}/?id=strange&open=stranger")
        sentences = page.locator(".aligned-side.query .sentence:has(.match)")
        sentences.first.wait_for()
        assert [text for text in sentences.all_text_contents() if text in LEASE] == LEASE
        pieces = sentences.last.evaluate("node => [...node.querySelectorAll('.lead')].map(lead => lead.textContent)")
        assert pieces == ["A"]  # not half a character
        arabic, latin = (sentences.filter(has_text=line[-8:]).locator("xpath=..") for line in LEASE)
        left, right = arabic.bounding_box(), arabic.locator(".number").first.bounding_box()
        assert left
        assert right
        assert right["x"] > left["x"] + left["width"] / 2
        assert latin.evaluate("node => getComputedStyle(node).textAlign") == "start"


@pytest.mark.slow
def test_a_long_title_is_shortened(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=TEXT)
        for place in ('.hit[data-id="long"] h2', '.hit[data-id="long"] article'):
            heading = page.locator(place)
            name = heading.get_attribute("aria-label") or heading.inner_text()
            assert 150 < len(name) < 220
        visited.compare("long")
        expect(page.locator(".aligned-side.query h2")).to_contain_text("In the year 1000")  # the title of a pasted text


# ---------------------------------------------------------------------------- restrictive browsers, print


@pytest.mark.slow
def test_browser_storage_is_not_required(chrome: Browser, index_path: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token-for-a-browser-that-keeps-nothing")
    token.chmod(0o600)
    with served(index_path, "--token-file", token) as guarded, visit(chrome, guarded.url) as visited:
        visited.context.add_init_script(WITHOUT_STORAGE)
        page = visited.page
        page.goto(guarded.url)
        page.locator("#token").fill(token.read_text())
        page.locator("#token").press("Enter")
        page.locator("#search-form:not([inert])").wait_for(state="attached")
        page.locator("#theme").click()
        visited.search(text=TEXT)
        visited.expect_error("401")


@pytest.mark.slow
def test_print_is_light_and_contains_both_texts(chrome: Browser, server: Server, tmp_path: Path) -> None:
    with visit(chrome, server.url, color_scheme="dark") as visited:
        page = visited.open("/?id=long&open=note-3")
        page.locator(".aligned").wait_for()
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(30, 34, 42)"
        paper = tmp_path / "paper.pdf"
        page.pdf(path=paper)
        printed = " ".join(" ".join(sheet.extract_text() for sheet in PdfReader(paper).pages).split())
        for last in (invent_sentences(ORCHARD, 12)[-1], invent_sentences(ORCHARD, 9, 3)[-1]):
            assert last in printed


@pytest.mark.slow
def test_hundreds_of_results_are_rendered_on_demand(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.page
        page.goto(f"{server.url}/?id=m000&k=300")
        hits = page.locator("#hits > .hit")
        hits.nth(280).wait_for(state="attached")
        before = hits.count()
        hit = hits.nth(200)
        hit.scroll_into_view_if_needed()
        hit.locator(".compare").click()
        page.locator(".aligned").wait_for()
        page.keyboard.press("Escape")
        page.locator("#hits").wait_for()
        expect(hit).to_be_in_viewport()
        first = hits.first.element_handle()
        hit.locator(".hide").click()
        expect(hits).to_have_count(before - 1)
        assert first.evaluate("node => node.isConnected")  # the others were not drawn again
