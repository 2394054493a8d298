"""Small windows in a real browser: phones, tablets, a phone on its side, and a zoom of 200%."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.serve.test_web_layout import accessible, narrow
from tests.support.browser import Visit, visit
from tests.support.server import Server
from tests.support.web_samples import COPIED, EDITED, REWRITTEN, case_query, cases, paragraphs, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TABLET: dict[str, Any] = {"viewport": {"width": 768, "height": 1024}, "has_touch": True, "is_mobile": True}
ZOOMED: dict[str, Any] = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}  # 1280 x 800 at 200%
SIDEWAYS: dict[str, Any] = {"viewport": {"width": 844, "height": 390}, "has_touch": True, "is_mobile": True}
MORE = paragraphs([f"Quark {number} drifts through seventeen indigo manifolds." for number in range(200)])
COLUMN = "() => document.querySelector('.aligned-side.query .chapter').getBoundingClientRect().width"

SCROLLED = """() => {
    const away = document.querySelector(".top").getBoundingClientRect().bottom <= 0;
    scrollTo(0, document.body.scrollHeight);
    return away;
}"""


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("small") / "made.rprs", cases())


def compared(visited: Visit) -> Page:
    visited.search(text=f"{case_query()}\n\n{MORE}")
    return visited.compare("case-1")


@pytest.mark.parametrize(
    "window",
    [
        pytest.param(PHONE, id="phone"),
        pytest.param(TABLET, id="tablet", marks=pytest.mark.slow),
        pytest.param(ZOOMED, id="200% zoom", marks=pytest.mark.slow),
    ],
)
def test_one_comfortable_column(window: dict[str, Any], chrome: Browser, server: Server) -> None:
    """The text has nearly the whole width, and the header scrolls away."""
    width = window["viewport"]["width"]
    with visit(chrome, server.url, **window) as visited:
        page = visited.open()
        narrow(page)
        compared(visited)
        narrow(page)
        assert page.evaluate(COLUMN) >= min(width - 40, 600)
        expect(page.locator(".aligned-side.document .aligned-text")).to_be_hidden()
        page.locator(".aligned-bar").get_by_role("button", name="Next").click()
        page.locator(".aligned-bar").get_by_role("button", name="Next").click()
        expect(page.locator(".partner")).to_be_in_viewport()
        expect(page.locator(".segment.current").first).to_be_in_viewport()
        page.wait_for_function(SCROLLED, polling=500)  # a match that was just opened is still being put in place
        expect(page.locator(".top")).not_to_be_in_viewport()
        expect(page.locator(".aligned-bar")).to_be_in_viewport()


def test_the_counterpart_unfolds_under_a_match(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url, **PHONE) as visited:
        page = compared(visited)
        match = page.locator(".aligned-side.query .segment.match", has_text=COPIED[10:40]).first
        match.tap()
        partner = page.locator(".partner")
        expect(partner.locator(".quote")).to_have_text(COPIED)
        expect(partner.locator(".kind-label")).to_have_text("=identical")
        above, below = match.bounding_box(), partner.bounding_box()
        assert above
        assert below
        assert below["y"] > above["y"]
        assert below["width"] > 300
        partner.get_by_role("button", name="Close").tap()
        expect(partner).to_have_count(0)
        page.locator(".aligned-side.query .segment.match", has_text="The owner of the ferry").first.tap()
        expect(partner.locator(".quote").first).to_have_text(REWRITTEN)
        tracked = partner.locator(".tracked .quote")
        expect(tracked.locator("del")).to_have_text(["dues", "first"])
        expect(tracked.locator("ins")).to_have_text(["fees", "last"])
        partner.get_by_role("button", name="Read on in the result").tap()
        expect(page.locator(".aligned-side.document .segment.current").first).to_be_in_viewport()
        expect(page.locator(".aligned-side.query .aligned-text")).to_be_hidden()
        expect(partner.locator(".quote").first).to_have_text(EDITED)
        page.locator(".aligned-bar").get_by_role("button", name="Your document").tap()
        expect(page.locator(".aligned-side.query .segment.current").first).to_be_in_viewport()


@pytest.mark.slow
def test_a_phone_on_its_side_shows_both_texts(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url, **SIDEWAYS) as visited:
        page = compared(visited)
        narrow(page)
        page.keyboard.press("j")
        expect(page.locator(".number.current")).to_have_count(2)
        for name in ("query", "document"):
            expect(page.locator(f".aligned-side.{name} .segment.current").first).to_be_in_viewport()
            box = page.locator(f".aligned-side.{name} .aligned-text").bounding_box()
            assert box
            assert box["width"] > 300
            assert box["height"] > 250
        expect(page.locator(".top")).not_to_be_in_viewport()
        expect(page.locator(".aligned-bar")).to_be_in_viewport()


@pytest.mark.slow
def test_turning_the_window_keeps_the_match(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url, **PHONE) as visited:
        page = compared(visited)
        for _ in range(2):
            page.keyboard.press("j")
        expect(page.locator(".partner")).to_have_count(1)
        page.set_viewport_size({"width": 1000, "height": 800})
        expect(page.locator(".partner")).to_have_count(0)
        expect(page.locator(".aligned-side.document .segment.current").first).to_be_in_viewport()
        page.set_viewport_size({"width": 390, "height": 844})
        expect(page.locator(".partner")).to_be_in_viewport()


SMALL_TARGETS = """() => [...document.querySelectorAll("main :is(button, a, input, select, summary)")]
    .filter(node => node.checkVisibility() && !node.closest(".aligned-text, .visually-hidden, .query-input, p"))
    .map(node => [node.closest("label") ?? node, node]).filter(([box]) => box.getBoundingClientRect().height < 40)
    .map(([, node]) => node.outerHTML.slice(0, 100))"""


@pytest.mark.slow
def test_controls_can_be_hit_with_a_finger(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url, **PHONE) as visited:
        page = visited.search(text=case_query())
        page.get_by_text("Filters", exact=True).tap()
        assert [node for node in page.evaluate(SMALL_TARGETS) if "title=" not in node] == []
        visited.compare("case-1")
        assert page.evaluate(SMALL_TARGETS) == []


@pytest.mark.slow
def test_no_accessibility_violations_on_a_phone(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url, bypass_csp=True, reduced_motion="reduce", **PHONE) as visited:
        page = visited.search(text=case_query())
        page.get_by_text("How to read this").tap()
        page.locator(".duplicates summary").first.tap()
        accessible(page, "results on a phone")
        visited.compare("case-1")
        page.keyboard.press("j")
        page.locator("#aligned-gaps").check()
        accessible(page, "aligned on a phone")


OVERLAPS = """() => [...document.querySelectorAll(".pairs > li")].filter((item) => {
    const [a, b] = [".kind-label", ".passages-like"].map((name) => item.querySelector(name).getBoundingClientRect());
    return a.right > b.left && b.right > a.left && a.bottom > b.top && b.bottom > a.top;
}).map((item) => item.innerText)"""
CUT = "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth).map(node => node.innerText)"
REACH = """node => {
    node.scrollIntoView({block: "center"});
    const {left, width, top, height} = node.getBoundingClientRect();
    const at = (y) => document.elementFromPoint(left + width / 2, y) === node;
    return at(top + height / 2 - 21) && at(top + height / 2 + 21);
}"""


@pytest.mark.parametrize("width", [360, 390])
def test_nothing_overlaps_or_is_cut_on_a_phone(chrome: Browser, server: Server, width: int) -> None:
    with visit(chrome, server.url, **{**PHONE, "viewport": {"width": width, "height": 844}}) as visited:
        page = visited.search(text=case_query())
        expect(page.locator(".pairs .kind-label", has_text="reworded").first).to_be_attached()
        assert page.evaluate(OVERLAPS) == []
        assert page.locator(".index-name").evaluate_all(CUT) == []
        visited.compare("case-1")
        assert page.locator(".aligned-bar .where").evaluate_all(CUT) == []
        number = page.locator(".aligned-side.query .number").nth(2)
        assert number.evaluate(REACH)  # as high as a finger, although its line is not
        page.locator(".aligned-bar button[title^=Next]").tap()
        expect(page.locator(".partner")).to_have_count(1)
        assert page.locator(".aligned-bar .where").evaluate_all(CUT) == []
