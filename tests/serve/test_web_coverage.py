"""The coverage view in a real browser: lanes, who covers what, gaps, keys, exports; in a window and on a phone."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docx
import pytest
from playwright.sync_api import expect

from tests.serve.test_web_layout import accessible, narrow
from tests.serve.test_web_small import PHONE
from tests.support.browser import Visit, visit
from tests.support.server import Server
from tests.support.web_samples import COMMON, COPIED, EDITED, REWRITTEN, case_query, cases, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GAP = ".chart-row.gap"


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("coverage") / "made.rprs", cases())


def covered(visited: Visit) -> Page:
    page = visited.search(text=case_query())
    page.locator("#show-coverage").click()
    page.locator("#coverage[data-complete]").wait_for()
    return page


def test_who_covers_each_paragraph_and_what_nobody_covers(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = covered(visited)
        expect(page.locator("#coverage-title")).to_be_focused()
        expect(page.locator(".chart-head .coverage-words")).to_contain_text("has a counterpart in these documents")
        expect(page.locator(".chart-gaps")).to_contain_text("passages of your document have no counterpart")
        copied = page.locator(".chart-row", has_text=COPIED)
        expect(copied).to_have_class("chart-row kind-identical")
        expect(page.locator(".chart-row", has_text=EDITED)).to_have_class("chart-row kind-reworded")
        expect(page.locator(".chart-row", has_text=COMMON)).to_have_class("chart-row kind-identical common")
        assert all(text.startswith("Quarks") for text in page.locator(GAP).all_inner_texts())
        assert page.locator(GAP).count() == 3
        ranks = page.locator(".lane-heads span").all_inner_texts()
        assert len(ranks) == len(visited.page.locator(".chart-sources li").all())
        assert page.locator(".lanes path.kind-reworded").count() > 0
        first = page.locator(".chart-group").first.locator(".who .source").first
        expect(first.locator(".share")).to_have_text("85% identical")
        expect(page.locator(".chart-group.has-gap .nobody").first).to_have_text("Nobody covers the marked words")
        expect(page.locator(".chart-group.has-gap .gap-search").first).to_be_visible()
        expect(page.locator(".chart-legend")).to_contain_text("nobody covers it")
        expect(first).to_have_accessible_name("1. Case 1: identical, 85% of this paragraph. Read side by side")
        accessible(page, "coverage")


@pytest.mark.slow
def test_a_source_opens_side_by_side_and_back(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = covered(visited)
        page.locator(".chart-group").last.locator(".who .source").first.click()
        page.locator(".aligned").wait_for()
        expect(page.locator(".aligned-side.query .segment.current").first).to_contain_text("owner of the ferry")
        requests = len(visited.api_requests)
        page.keyboard.press("Escape")
        page.locator("#coverage[data-complete]").wait_for()
        expect(page.locator(".chart-group").last.locator(".who .source").first).to_be_focused()
        assert len(visited.api_requests) == requests  # the chart is kept
        page.keyboard.press("Escape")
        expect(page.locator("#hits")).to_be_visible()


def test_words_can_be_compared_and_the_chart_exported(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = covered(visited)
        page.locator(".chart-group").last.locator(".chart-rows summary").click()
        row = page.locator(".chart-rows tr", has_text=EDITED)
        expect(row.locator("td").nth(1)).to_contain_text("1. Case 1")
        expect(row.locator("td").nth(2)).to_have_text(REWRITTEN)
        expect(row.locator("ins")).to_have_text(["fees", "last"])
        expect(row.locator(".kind-label")).to_contain_text("reworded")
        accessible(page, "coverage")
        page.locator("#export-chart").click()
        word = visited.saved(lambda: page.get_by_role("menuitem", name="Word").click())
        assert word.name.endswith(".docx")
        assert "Coverage of" in word.name
        assert docx.Document(io.BytesIO(word.read_bytes())).tables[1].rows[0].cells[0].text == "Your words"
        page.locator("#export-chart").click()
        table = visited.saved(lambda: page.get_by_role("menuitem", name="CSV").click())
        assert EDITED in table.read_text("utf-8-sig")


@pytest.mark.slow
def test_a_gap_can_be_searched_for_with_the_keyboard(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = covered(visited)
        page.keyboard.press("n")
        button = page.locator(".gap-search").first
        expect(button).to_be_focused()
        expect(button).to_be_in_viewport()
        page.keyboard.press("n")
        expect(page.locator(".gap-search").nth(1)).to_be_focused()
        page.keyboard.press("p")
        expect(button).to_be_focused()
        page.keyboard.press("j")
        expect(page.locator(".chart-group").nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(page.locator(".chart-group").first).to_be_focused()
        page.keyboard.press("n")
        page.keyboard.press("Enter")
        expect(page.locator("#passages textarea")).to_have_value(re.compile("Quarks"))
        page.keyboard.press("Escape")
        expect(page.locator("#passages")).to_have_count(0)
        expect(page.locator(".gap-search:focus")).to_have_count(1)  # where the reader was


@pytest.mark.slow
def test_an_address_leads_to_the_coverage_and_hidden_results_are_no_sources(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.open("/?id=case-2&k=10")
        page.locator("#hits").wait_for()
        first = visited.ids()[0]
        page.locator(f'.hit[data-id="{first}"] .hide').click()
        page.locator("#show-coverage").click()
        page.locator("#coverage[data-complete]").wait_for()
        assert "view=coverage" in page.url
        sources = page.locator(".chart-sources li").all_text_contents()
        hidden = first.replace("case-", "Case ")
        assert sources
        assert not any(hidden in source for source in sources)
        page.reload()
        page.locator("#coverage[data-complete]").wait_for()
        page.locator(".chart-head .back").click()
        page.locator("#hits").wait_for()


@pytest.mark.parametrize("window", [PHONE], ids=["phone"])
@pytest.mark.slow
def test_on_a_phone(window: dict[str, Any], chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url, **window) as visited:
        page = covered(visited)
        narrow(page)
        lanes, text = page.locator(".lanes").first.bounding_box(), page.locator(".chart-text").first.bounding_box()
        assert lanes
        assert text
        assert lanes["width"] <= 64
        assert text["width"] >= 250
        button = page.locator(".gap-search").first
        box = button.bounding_box()
        assert box
        assert box["height"] >= 44
        page.locator(".chart-rows summary").first.tap()
        narrow(page)
        accessible(page, "coverage")
        page.locator("#coverage-title").focus()
        page.keyboard.press("n")
        expect(page.locator(".gap-search:focus")).to_be_in_viewport()
        button.tap()
        expect(page.locator("#passages textarea")).to_have_value(re.compile("Quarks"))


@pytest.mark.slow
def test_an_error_can_be_retried(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=case_query())
        page.route("**/api/v1/coverage", lambda route: route.abort())
        page.locator("#show-coverage").click()
        alert = page.locator("#coverage [role=alert]")
        expect(alert).to_contain_text("stopped answering")
        page.unroute("**/api/v1/coverage")
        alert.get_by_role("button").first.click()
        page.locator("#coverage[data-complete]").wait_for()
        visited.expect_error("net::ERR_FAILED")
