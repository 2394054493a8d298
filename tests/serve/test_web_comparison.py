"""The side-by-side view in a real browser: matches, shortcuts, slider, map, report, and texts as long as a book."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from rprs import Document, Explanation, Index, Searcher, __version__
from tests.support.browser import Visit, visit
from tests.support.server import Server
from tests.support.web_samples import HARBOUR, LAST, ORCHARD, book, invent_sentences, paragraphs, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

# Sentences that differ by a word or two, some that nothing is like, and characters that JavaScript counts as two.
ORCHARD_BOOK = [line.replace("the", "the 🍐", 1) for line in invent_sentences(ORCHARD, 160)]
FOREIGN = [f"Quarks {word} through seventeen indigo manifolds." for word in "tunnel drift spin decay bounce".split()]
QUERY = paragraphs(
    [
        *FOREIGN[:2],
        *(line.replace("year", "month") for line in ORCHARD_BOOK[120:40:-1]),
        *FOREIGN[2:],
        *ORCHARD_BOOK[:9],
    ]
)
MINE = Document("mine", QUERY, "What I ask")
CHRONICLE = Document("chronicle", paragraphs(ORCHARD_BOOK), "A chronicle of the orchard", {"date": "1999-01-02"})
BOOK = Document("book", book(), "The book of the harbour")
OTHERS = [
    Document(
        f"note-{number}", paragraphs([*invent_sentences(ORCHARD, 6, number), *invent_sentences(HARBOUR, 6, number)])
    )
    for number in range(2, 8)
]
PROMPT = 3.0  # seconds of processor time for a step in a book; each was measured at no more than a third of this


ROUNDING = 0.005  # similarities are compared as displayed, with two digits


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("aligned") / "made.rprs", [MINE, CHRONICLE, BOOK, *OTHERS])


@pytest.fixture(scope="module")
def expected(index_path: Path) -> Iterator[Explanation]:
    with Index(index_path) as index:
        yield Searcher(index).explain(MINE, CHRONICLE.id)


@pytest.fixture
def view(chrome: Browser, server: Server) -> Iterator[Visit]:
    """The query beside the chronicle."""
    with visit(chrome, server.url) as visited:
        visited.open(f"/?id={MINE.id}&open={CHRONICLE.id}")
        visited.page.locator(".aligned").wait_for()
        yield visited


def side(page: Page, name: str) -> Locator:
    return page.locator(f".aligned-side.{name} .aligned-text")


def sentences(pane: Locator, selector: str = ".sentence") -> list[Any]:
    """The text, style and numbers of sentences, in the order of the text."""
    return list(
        pane.locator(selector).evaluate_all(
            """nodes => nodes.map(node => ({
                text: node.textContent, colour: getComputedStyle(node).backgroundColor,
                numbers: [...node.querySelectorAll(".number:not([hidden])")].map(one => Number(one.dataset.number)),
            }))"""
        )
    )


SAME_HEIGHT = """() => {
    const [left, right] = [...document.querySelectorAll(".number.current")].map(one => one.getBoundingClientRect().y);
    return Math.abs(left - right) < 40;
}"""


def current(page: Page) -> int:
    """The number of the current match; both its sentences are visible at the same height."""
    numbers = page.locator(".number.current")
    expect(numbers).to_have_count(2)
    for name in ("query", "document"):
        expect(side(page, name).locator(".sentence.current")).to_be_in_viewport()
    page.wait_for_function(SAME_HEIGHT)  # the texts settle over a few frames
    first, second = (numbers.nth(place).get_attribute("data-number") for place in (0, 1))
    assert first == second
    return int(first or 0)


def slide(page: Page, value: float) -> None:
    page.locator("#aligned-similarity").fill(f"{value:.2f}")


# ---------------------------------------------------------------------------- matches


def test_matches_have_the_same_number_and_colour_on_both_sides(view: Visit, expected: Explanation) -> None:
    """All pairs of the searcher at the right sentences, whatever characters precede them."""
    page = view.page
    pairs = expected.hit.pairs
    assert len(pairs) > 60
    expect(side(page, "document").locator(".sentence")).to_have_count(len(ORCHARD_BOOK))
    by_side = {name: sentences(side(page, name)) for name in ("query", "document")}
    at = {name: {number: one for one in by_side[name] for number in one["numbers"]} for name in by_side}
    for number, pair in enumerate(pairs, 1):
        assert (at["query"][number]["text"], at["document"][number]["text"]) == (pair.query, pair.document)
    assert len(at["query"]) == len(at["document"]) == len(pairs)
    bare = {one["colour"] for one in by_side["query"] if not one["numbers"]}
    assert len(bare) == 1
    tints: dict[int, set[str]] = {}
    for name in ("query", "document"):
        for one in by_side[name]:
            if one["numbers"]:
                tints.setdefault((one["numbers"][0] - 1) % 8, set()).add(one["colour"])
    assert len(tints) == 8
    assert all(len(colours) == 1 for colours in tints.values())
    assert len(set.union(*tints.values()) | bare) == 9
    assert paragraphs([one["text"] for one in by_side["query"]]) == QUERY


def test_scores_are_those_of_the_searcher_with_a_disclaimer(view: Visit, expected: Explanation) -> None:
    page = view.page
    facts = page.locator(".aligned-facts")
    for value in (expected.hit.qp, expected.hit.dp):
        expect(facts).to_contain_text(f"{value:.3f}")
    matched = len({pair.query_span for pair in expected.hit.pairs})
    expect(facts).to_contain_text(f"{matched} of {expected.sentences}")
    expect(page.locator(".aligned-disclaimer")).to_have_text("These numbers are an aid to ranking, not a verdict.")
    expect(page.locator(".aligned-side.document")).to_contain_text("1999-01-02")


def test_a_click_scrolls_to_the_matching_sentence(view: Visit, expected: Explanation) -> None:
    page = view.page
    pairs = expected.hit.pairs
    for name, other in (("query", "document"), ("document", "query")):
        number = max(range(len(pairs)), key=lambda place: getattr(pairs[place], f"{other}_span")[0]) + 1
        button = side(page, name).locator(f'.number[data-number="{number}"]')
        button.click()
        assert current(page) == number
        text = side(page, other).locator(".sentence.current").evaluate("node => node.textContent")
        assert text == getattr(pairs[number - 1], other)
    sentence = side(page, "query").locator(".sentence.match:not(.current)").first
    sentence.click()
    assert current(page) in [number for one in sentences(side(page, "query"), ".current") for number in one["numbers"]]


def test_shortcuts_step_through_matches_and_back_to_the_results(view: Visit) -> None:
    page = view.page
    page.keyboard.press("j")
    assert current(page) == 1
    for _ in range(4):
        page.keyboard.press("j")
    assert current(page) == 5
    page.keyboard.press("k")
    assert current(page) == 4
    expect(page.locator(".aligned-controls .where")).to_contain_text("Match 4")
    page.keyboard.press("Escape")
    page.locator("#hits").wait_for()
    assert CHRONICLE.id in view.ids()


def test_the_slider_hides_weak_pairs_without_a_request(view: Visit, expected: Explanation) -> None:
    page = view.page
    pairs = expected.hit.pairs
    least = 0.9
    kept = {number for number, pair in enumerate(pairs, 1) if pair.similarity >= least - ROUNDING}
    assert 5 < len(kept) < len(pairs)
    page.locator(".number").nth(len(pairs) - 1).wait_for(state="attached")
    requests = len(view.api_requests)
    slide(page, least)
    expect(page.locator(".pairs-shown")).to_have_text(f"{len(kept)} of {len(pairs)} pairs shown")
    for name in ("query", "document"):
        expect(side(page, name).locator(".number:not([hidden])")).to_have_count(len(kept))
        assert {number for one in sentences(side(page, name)) for number in one["numbers"]} == kept
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert current(page) == sorted(kept)[1]
    slide(page, 0)
    expect(side(page, "query").locator(".number:not([hidden])")).to_have_count(len(pairs))
    assert len(view.api_requests) == requests


def test_a_switch_shows_passages_without_a_match(view: Visit, expected: Explanation) -> None:
    """Including those whose matches are below the minimum similarity."""
    page = view.page
    bare = side(page, "query").locator(".sentence:not(.match)")
    before = sentences(side(page, "query"), ".sentence:not(.match)")[0]["colour"]
    page.locator("#aligned-gaps").check()
    for least in (0.0, 0.95):
        slide(page, least)
        uncovered = [expected.query.text[start:end] for start, end in expected.at_least(least - ROUNDING).uncovered]
        expect(bare).to_have_count(len(uncovered))
        gaps = sentences(side(page, "query"), ".sentence:not(.match)")
        assert [one["text"] for one in gaps] == uncovered
        assert {one["colour"] for one in gaps} != {before}
        expect(page.locator(".gap-count")).to_have_text(f"{len(uncovered)} sentences")
    assert set(uncovered) > set(FOREIGN)
    page.keyboard.press("n")
    expect(side(page, "query").locator(".pointed").first).to_be_in_viewport()
    page.locator("#aligned-gaps").uncheck()
    assert sentences(side(page, "query"), ".sentence:not(.match)")[0]["colour"] == before


def test_a_map_shows_matches_and_scrolls_to_them(view: Visit) -> None:
    page = view.page
    last = side(page, "document").locator(".sentence").last
    last.wait_for(state="attached")
    expect(last).not_to_be_in_viewport()
    chart = page.locator(".aligned-side.document .aligned-map")
    painted = """canvas => {
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return data.filter((value, place) => place % 4 === 3 && value > 0).length;
    }"""
    box = chart.bounding_box()
    assert box
    chart.click(position={"x": box["width"] / 2, "y": box["height"] - 2})
    expect(last).to_be_in_viewport()
    before = chart.locator("canvas").evaluate(painted)
    slide(page, 1)
    expect(page.locator(".pairs-shown")).to_contain_text(re.compile(r"^[1-9] of"))
    assert 0 < chart.locator("canvas").evaluate(painted) < before


def test_the_report_can_be_mailed(view: Visit, expected: Explanation, chrome: Browser) -> None:
    """A self-contained file with both texts, the visible pairs, and everything needed to reproduce it."""
    least = 0.9
    slide(view.page, least)
    file = view.saved(view.page.get_by_role("button", name="Report").click)
    assert file.suffix == ".html"
    with visit(chrome, "file://") as mailed:
        page = mailed.page
        page.goto(file.as_uri())
        kept = [pair for pair in expected.hit.pairs if pair.similarity >= least - ROUNDING]
        rows = page.locator("#pairs tbody tr").all_inner_texts()
        assert len(rows) == len(kept)
        assert all(pair.query in row and pair.document in row for row, pair in zip(rows, kept, strict=True))
        texts = page.locator("#texts").evaluate("node => node.textContent")
        assert [line for line in (*FOREIGN, *ORCHARD_BOOK) if line not in texts] == []
        about = page.locator("#about").inner_text()
        fingerprint = view.page.evaluate("fetch('/api/v1/info').then(answer => answer.json())")["fingerprint"]
        assert all(part in about for part in (__version__, fingerprint, "blend", "fuse"))
        expect(page.locator("body")).to_contain_text("not a verdict")
        link = page.locator("#texts .match a").last
        link.click()
        expect(page.locator(":target")).to_be_in_viewport()


# ---------------------------------------------------------------------------- as long as a book


class ProcessorTime:
    """Processor time of the main thread of a page, which hardly depends on how busy the machine is."""

    def __init__(self, page: Page) -> None:
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now(self) -> float:
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    def of(self, step: Callable[[], object]) -> float:
        before = self.now()
        step()
        return self.now() - before


DRAWN = """nodes => nodes.filter(node => node.checkVisibility({contentVisibilityAuto: true})).length"""
LAST_SEEN = """pane => new Promise(resolve => {
    let frames = 0;
    const look = () => {
        // Text that is still being added moves the end away: a reader would press the key again.
        if (++frames % 60 === 0) pane.scrollTop = pane.scrollHeight;
        const last = [...pane.querySelectorAll(".chapter:last-child > .block:last-child .sentence")].at(-1);
        const [box, window] = [last?.getBoundingClientRect(), pane.getBoundingClientRect()];
        if (box && box.top >= window.top && box.bottom <= window.bottom) resolve(last.textContent);
        else requestAnimationFrame(look);
    };
    look();
})"""
SCROLL = """pane => new Promise(resolve => {
    let left = 20;
    const step = () => {
        pane.scrollTop += pane.clientHeight * 0.8;
        if (left--) requestAnimationFrame(step); else resolve();
    };
    requestAnimationFrame(step);
})"""


def test_books_stay_responsive(chrome: Browser, server: Server) -> None:
    """A text of 100,000 words is uploaded and compared with another: open, scroll to the end, step, filter."""
    mine = BOOK.text.replace("year", "month").replace("captain", "skipper")
    assert len(mine.split()) > 100_000
    with visit(chrome, server.url) as visited:
        page = visited.search(files=[{"name": "mine.txt", "mimeType": "text/plain", "buffer": mine.encode()}])
        time = ProcessorTime(page)
        assert time.of(lambda: open_comparison(visited)) < PROMPT
        page.keyboard.press("j")
        assert current(page) == 1
        for name in ("query", "document"):
            assert time.of(partial(side(page, name).evaluate, SCROLL)) < PROMPT
            assert time.of(partial(to_the_end, page, name)) < PROMPT
        page.keyboard.press("k")
        assert time.of(lambda: page.keyboard.press("j")) < PROMPT
        current(page)
        counter = page.locator(".pairs-shown")
        before = counter.inner_text()
        requests = len(visited.api_requests)
        slide(page, 0.97)
        assert time.of(lambda: expect(counter).not_to_have_text(before)) < PROMPT
        assert len(visited.api_requests) == requests
        # Once all of it is there, for the browser's own search, only what is near the screen is drawn.
        expect(side(page, "document").locator(".sentence")).to_have_count(BOOK.text.count("."), timeout=20_000)
        for name in ("query", "document"):
            assert 5 < side(page, name).locator(".sentence").evaluate_all(DRAWN) < 400
        assert time.of(lambda: page.keyboard.press("Escape")) < PROMPT
        page.locator("#hits").wait_for()


def open_comparison(visited: Visit) -> None:
    visited.compare(BOOK.id)
    visited.page.locator(".aligned .number").first.wait_for()


def to_the_end(page: Page, name: str) -> None:
    pane = side(page, name)
    pane.focus()
    page.keyboard.press("End")
    assert pane.evaluate(LAST_SEEN) == LAST
