"""Boilerplate, duplicates and printing in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from rprs import Document, Searcher
from rprs.alignment.describe import coverage_sentence
from tests.support.browser import visit
from tests.support.server import Server
from tests.support.web_samples import COMMON, COPIED, case_query, cases, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

QUERY = Document("query", case_query())


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("evidence") / "made.rprs", cases())


def colour(locator: Locator) -> str:
    return str(locator.evaluate("node => getComputedStyle(node).color"))


# ---------------------------------------------------------------------------- boilerplate


def test_boilerplate_is_grey_and_can_be_left_out(chrome: Browser, server: Server, searcher: Searcher) -> None:
    """The switch changes matches and coverage, without a request."""
    alignment = searcher.align(QUERY, "case-1")
    bare = searcher.align(QUERY, "case-1", boilerplate=False)
    assert any(pair.boilerplate for pair in alignment.pairs)
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY.text)
        visited.compare("case-1")
        common = page.locator(".aligned-side.query .sentence.boilerplate").first
        expect(common).to_have_text(COMMON)
        copied = page.locator(".aligned-side.query .sentence", has_text=COPIED)
        assert colour(common.locator(".segment").first) != colour(copied.locator(".segment").first)
        words = page.locator(".aligned .coverage-words")
        expect(words).to_have_text(sentences(alignment.query_coverage, alignment.document_coverage))
        requests = len(visited.api_requests)
        page.locator("#aligned-boilerplate").focus()
        page.keyboard.press("Space")
        expect(words).to_have_text(sentences(bare.query_coverage, bare.document_coverage))
        expect(common.locator(".match")).to_have_count(0)
        identical = sum(pair.kind == "identical" for pair in bare.pairs)
        expect(page.locator('.kind-toggle[data-kind="identical"] .times')).to_have_text(str(identical))
        page.locator("#aligned-gaps").check()
        assert colour(common.locator(".segment").first) != colour(
            page.locator(".segment:not(.match)", has_text="tunnel")
        )
        assert len(visited.api_requests) == requests


def sentences(query: object, document: object) -> list[str]:
    return [coverage_sentence(query, "query"), coverage_sentence(document, "document")]  # type: ignore[arg-type]


@pytest.mark.slow
def test_cards_without_boilerplate(chrome: Browser, server: Server, searcher: Searcher) -> None:
    hit, bare = (searcher.search(QUERY, k=1, boilerplate=flag)[0] for flag in (True, False))
    assert hit.pairs[0].query == COPIED
    assert hit.query_coverage != bare.query_coverage
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY.text)
        words = page.locator("#hits > .hit").first.locator(".coverage-words")
        expect(words).to_have_text(sentences(hit.query_coverage, hit.document_coverage))
        expect(page.locator("#hits .pair .quote").first).to_have_text(COPIED)
        expect(page.locator("#hits .kind-label").first).to_have_text("=identical")
        page.locator("#filter-boilerplate").uncheck()
        expect(words).to_have_text(sentences(bare.query_coverage, bare.document_coverage))
        visited.compare(hit.id)
        expect(page.locator("#aligned-boilerplate")).not_to_be_checked()
        expect(page.locator(".aligned .coverage-words")).to_have_text(
            sentences(bare.query_coverage, bare.document_coverage)
        )


# ---------------------------------------------------------------------------- duplicates


def test_duplicates_are_grouped_and_named(chrome: Browser, server: Server, searcher: Searcher) -> None:
    expected = searcher.search(QUERY)
    first = expected[0]
    assert {duplicate.relation for duplicate in first.duplicates} == {"identical", "near duplicate"}
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY.text)
        assert visited.ids() == [hit.id for hit in expected]
        group = page.locator("#hits > .hit").first.locator(".duplicates")
        expect(group.locator("summary")).to_have_text("1 document with identical text, 1 near duplicate")
        expect(group.locator("li").first).to_be_hidden()
        group.locator("summary").focus()
        page.keyboard.press("Enter")
        listed = [item.get_attribute("data-id") for item in group.locator("li").all()]
        assert listed == [duplicate.id for duplicate in first.duplicates]
        expect(group.locator(".relation")).to_have_text(["Identical text", "Near duplicate"])
        last = first.duplicates[-1]
        expect(group.locator("li").last.locator(".alone")).to_have_attribute("href", f"/?read={last.id}")
        group.locator("li").last.locator(".alone").click()
        expect(page.locator("#reader h1")).to_have_text(last.title)
        page.go_back()
        group.locator("summary").click()
        group.locator("li").last.locator(".similar").click()
        expect(page.locator("#results-title")).to_have_text(last.title)
        page.go_back()
        assert visited.shows([hit.id for hit in expected])
        group.locator("summary").click()
        group.locator(".duplicate").last.click()
        expect(page.locator(".aligned-side.document h2")).to_have_text(first.duplicates[-1].title)


@pytest.mark.slow
def test_a_copy_of_the_query_is_labelled(chrome: Browser, server: Server, searcher: Searcher) -> None:
    text = searcher.index.document("near").text.upper()  # the very same text would be the query itself, and left out
    with visit(chrome, server.url) as visited:
        page = visited.search(text=text)
        label = page.locator("#hits > .hit").first.locator("h2 .relation")
        expect(label).to_have_text("Identical text")
        assert "1.00" not in page.locator("#hits").inner_text()
        visited.compare(visited.ids()[0])
        expect(page.locator(".aligned-side.document .relation")).to_have_text("Identical text")
        expect(page.locator(".aligned .coverage-words").first).to_have_text(
            "100% of your document has a counterpart here: 100% identical"
        )


# ---------------------------------------------------------------------------- printing

UNBROKEN = "nodes => nodes.map(node => getComputedStyle(node).breakInside)"


@pytest.mark.slow
def test_printed_cards_keep_their_colours_and_are_not_broken(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY.text)
        page.emulate_media(media="print")
        assert set(page.locator(".hit").evaluate_all(UNBROKEN)) == {"avoid"}
        adjust = "node => getComputedStyle(node).printColorAdjust"
        assert page.locator(".coverage-bar > *").first.evaluate(adjust) == "exact"
        expect(page.locator("#filter-k")).to_be_hidden()
        expect(page.locator(".hit-actions").first).to_be_hidden()


@pytest.mark.slow
def test_pairs_can_be_printed_alone(chrome: Browser, server: Server, searcher: Searcher, tmp_path: Path) -> None:
    pairs = searcher.align(QUERY, "case-1").pairs
    with visit(chrome, server.url) as visited:
        visited.context.add_init_script("window.print = () => {}")  # no dialog: the test makes the PDF
        page = visited.search(text=QUERY.text)
        visited.compare("case-1")
        page.get_by_role("button", name="Print pairs").click()
        printed = on_paper(page, tmp_path / "pairs.pdf")
        assert all(" ".join(text.split()) in printed for pair in pairs for text in (pair.query, pair.document))
        assert "Quarks" not in printed  # unmatched
        assert "identical" in printed
        expect(page.locator(".print-pairs")).to_have_count(0)  # removed after printing
        assert "Quarks" in on_paper(page, tmp_path / "texts.pdf")


def on_paper(page: Page, file: Path) -> str:
    page.pdf(path=file)
    return " ".join(" ".join(sheet.extract_text() for sheet in PdfReader(file).pages).split())
