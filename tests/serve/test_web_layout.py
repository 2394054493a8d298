"""Layout and accessibility in a real browser: themes, widths, keyboard, screen readers, hostile texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import expect

from rprs import Document
from tests.support.browser import visit
from tests.support.cli import QUERY, RECORDS, TEXTS
from tests.support.server import Server, served
from tests.support.web_samples import MARKUP, hostile, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = hostile()
CASES = [
    *(Document(id, text) for id, text in TEXTS.items()),
    *(Document(one["id"], one["text"], one["title"], {"date": one["date"]}) for one in RECORDS),
]
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def server(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    index_path = write_index(tmp_path_factory.mktemp("looks") / "made.rprs", [*CASES, *HOSTILE])
    with served(index_path) as running:
        yield running


def colours(page: Page, *selectors: str) -> list[str]:
    return [page.locator(one).first.evaluate("node => getComputedStyle(node).backgroundColor") for one in selectors]


# ---------------------------------------------------------------------------- themes and widths


@pytest.mark.slow
def test_the_theme_follows_the_system_until_it_is_changed(chrome: Browser, server: Server) -> None:
    themes: dict[str, list[str]] = {}
    for scheme in ("light", "dark"):
        with visit(chrome, server.url, color_scheme=scheme) as visited:
            visited.search(text=QUERY)
            page = visited.compare("moss-v-reed")
            themes[scheme] = colours(page, "body", ".aligned-body", ".match")
            other = "light" if scheme == "dark" else "dark"
            page.get_by_role("button", name=f"Use the {other} theme").click()
            themes[f"{scheme}, then {other}"] = colours(page, "body", ".aligned-body", ".match")
            page.reload()
            page.locator(".aligned").wait_for()
            assert colours(page, "body", ".aligned-body", ".match") == themes[f"{scheme}, then {other}"]
    assert themes["light, then dark"] == themes["dark"]
    assert themes["dark, then light"] == themes["light"]
    assert not set(themes["light"]) & set(themes["dark"])
    assert min(map(lightness, themes["light"])) > 0.6
    assert max(map(lightness, themes["dark"])) < 0.3


def lightness(colour: str) -> float:
    red, green, blue = (float(part) / 255 for part in colour.strip("rgba()").split(",")[:3])
    return 0.2 * red + 0.7 * green + 0.1 * blue


@pytest.mark.parametrize(("width", "height"), [(1280, 800), pytest.param(820, 1180, marks=pytest.mark.slow)])
def test_nothing_overflows_the_window(width: int, height: int, chrome: Browser, server: Server) -> None:
    """Even with markup and long words in titles; and the two texts are side by side."""
    with visit(chrome, server.url, viewport={"width": width, "height": height}) as visited:
        page = visited.fill_form(text=QUERY, words=["script", "svg"])
        page.locator("#search-options > summary").click()
        narrow(page)
        visited.search()
        if not page.locator("#filter-k").is_visible():
            page.get_by_text("Filters", exact=True).click()
        narrow(page)
        visited.compare(visited.ids()[0])
        narrow(page)
        left, right = (page.locator(f".aligned-side.{name}").bounding_box() for name in ("query", "document"))
        assert left
        assert right
        assert left["x"] + left["width"] <= right["x"]
        assert min(left["width"], right["width"]) > 0.4 * width
        assert page.evaluate("document.querySelector('.aligned').scrollHeight <= innerHeight")


def narrow(page: Page) -> None:
    wide = page.evaluate(
        """() => [document.scrollingElement, ...document.querySelectorAll("main, .view:not([hidden]), .aligned-text")]
            .filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.className || node.tagName)"""
    )
    assert wide == []


# ---------------------------------------------------------------------------- keys and screen readers


def test_everything_works_with_the_keyboard(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.open()
        view = page.locator("body")
        tab_to(page, "#text")
        page.keyboard.insert_text(QUERY)
        tab_to(page, "#find")
        page.keyboard.type("moss")
        expect(page.locator("#options [role=option]")).to_have_count(1)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        tab_to(page, "#submit")
        page.keyboard.press("Enter")
        expect(view).to_have_attribute("data-view", "results")
        tab_to(page, "#export")
        page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.format") == "jsonl"
        page.keyboard.press("Escape")
        tab_to(page, "#hits .hit:nth-child(2) .hit-open")
        id = visited.ids()[1]
        page.keyboard.press("Enter")
        page.locator(".aligned").wait_for()
        page.keyboard.press("j")
        tab_to(page, ".query .number.current")
        page.keyboard.press("Enter")
        expect(page.locator(".document .number.current")).to_be_focused()
        tab_to(page, '.kind-toggle[data-kind="same idea"]', "Shift+Tab")
        page.keyboard.press("Space")
        expect(page.locator('.kind-toggle[data-kind="same idea"]')).to_have_attribute("aria-pressed", "false")
        page.keyboard.press("Escape")
        expect(view).to_have_attribute("data-view", "results")
        expect(page.locator(f'.hit[data-id="{id}"] .hit-open')).to_be_focused()
        tab_to(page, "#edit", "Shift+Tab")
        page.keyboard.press("Enter")
        expect(view).to_have_attribute("data-view", "search")
        expect(page.locator("#text")).to_have_value(QUERY)


RINGED = """() => [document.activeElement, document.activeElement.parentElement]
    .some(node => getComputedStyle(node).outlineStyle === "solid")"""


def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press Tab until the element has a visible focus."""
    for _ in range(60):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            assert page.evaluate(RINGED)
            return
    pytest.fail(f"{key} does not lead to {selector}")


REPEATED_IDS = """() => {
    const ids = [...document.querySelectorAll("[id]")].map(({id}) => id);
    return ids.filter((id, place) => ids.indexOf(id) !== place);
}"""


@pytest.mark.slow
def test_ids_are_unique(chrome: Browser, server: Server) -> None:
    """Also beside the filters, whose ids are derived from the names of metadata fields."""
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY)
        assert page.evaluate(REPEATED_IDS) == []
        assert visited.compare("moss-v-reed").evaluate(REPEATED_IDS) == []


@pytest.mark.slow
def test_no_accessibility_violations(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url, bypass_csp=True, reduced_motion="reduce") as visited:
        page = visited.fill_form(text=QUERY, words=["moss"])
        page.locator("#search-options > summary").click()
        accessible(page, "ask")
        visited.search()
        accessible(page, "results")
        visited.compare("lease.txt")
        page.keyboard.press("j")
        page.locator("#aligned-gaps").check()
        accessible(page, "aligned")
        report = visited.saved(page.get_by_role("button", name="Report").click)
        page.goto(f"{server.url}/docs")
        alike = page.locator("main section:not(:nth-of-type(5n + 1))")  # a sample is enough, and faster
        alike.evaluate_all("sections => sections.forEach(section => section.remove())")
        accessible(page, "docs")
    with visit(chrome, "file://", bypass_csp=True) as mailed:
        mailed.page.goto(report.as_uri())
        accessible(mailed.page, "report")


def accessible(page: Page, name: str) -> None:
    """The violations that axe finds, in the light and the dark theme, without the transition between them."""
    contrast = {"runOnly": ["color-contrast"]}
    for scheme, rules in (("dark", contrast), ("light", {"resultTypes": ["violations"]})):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]  # one of two words
        violations: list[dict[str, Any]] = Axe().run(page, options=rules).response["violations"]
        serious = [(one["id"], node["html"]) for one in violations if one["impact"] in SERIOUS for node in one["nodes"]]
        assert serious == [], f"{name}, {scheme}"


# ---------------------------------------------------------------------------- hostile documents

HARM = """() => ({
    ran: window.ran ?? null,
    handlers: [...document.querySelectorAll("*")].flatMap(node => [...node.attributes])
        .filter(({name}) => name.startsWith("on") || name === "srcdoc").map(({value}) => value),
    links: [...document.querySelectorAll("[href], [src]")].map(({href, src}) => String(href?.baseVal ?? href ?? src))
        .filter(address => /^\\s*(javascript|data|vbscript):/i.test(address)),
    elements: document.querySelectorAll("main :is(script, img, iframe, svg[onload], object, embed)").length,
})"""
NONE: dict[str, Any] = {"ran": None, "handlers": [], "links": [], "elements": 0}


def test_documents_are_shown_as_text_only(chrome: Browser, server: Server) -> None:
    """Markup in file names, texts, ids, titles and metadata is displayed literally and never runs."""
    name = MARKUP[1].replace('"', "").replace("/", "") + ".txt"
    text = HOSTILE[0].text.replace("clause", "article")
    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.locator("#find").fill("javascript:")
        expect(page.locator("#options [role=option] .option-title").first).to_be_visible()
        page.locator("#find").fill("")
        visited.fill_form(files=[{"name": name, "mimeType": "", "buffer": text.encode()}], text=text, words=["script"])
        expect(page.locator("#chips")).to_contain_text(name)
        assert page.evaluate(HARM) == NONE
        visited.search()
        titles = page.locator(".hit-open").all_inner_texts()
        assert set(MARKUP) & set(titles)
        assert page.evaluate(HARM) == NONE
        first = visited.ids()[0]
        page.locator("#hits .compare").first.click()
        expect(page.locator(".aligned-side.document h2")).to_have_text(titles[0])
        page.locator(".aligned-side.document .aligned-metadata summary").click()
        page.keyboard.press("j")
        expect(page.locator(".aligned-side.document .aligned-text")).to_contain_text(MARKUP[0])
        assert page.evaluate(HARM) == NONE
        report = visited.saved(page.get_by_role("button", name="Report").click)
        for address in (f"/?id={MARKUP[1]}", f"/?id={first}&open={MARKUP[1]}", f"/?id=lease.txt&where={MARKUP[0]}"):
            visited.open(address.replace("#", "%23").replace("&lt", "%26lt"))
            page.locator(".notice, .field-error:not(:empty), .aligned").first.wait_for()
            assert page.evaluate(HARM) == NONE
    with visit(chrome, "file://") as mailed:
        mailed.page.goto(report.as_uri())
        expect(mailed.page.locator("#texts")).to_contain_text(MARKUP[0])
        assert mailed.page.evaluate(HARM) == NONE


@pytest.mark.slow
def test_an_injected_script_does_not_run(chrome: Browser, server: Server) -> None:
    """The policy is in force, and these tests would detect a breach."""
    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.ran = 1";
                const image = document.createElement("img");
                image.src = "https://example.org/x.png";
                document.body.append(script, image);
            }"""
        )
        assert page.evaluate("window.ran ?? null") is None
        for _ in range(2):
            assert "Content Security Policy" in visited.console_errors.pop()
        visited.foreign_requests.clear()
