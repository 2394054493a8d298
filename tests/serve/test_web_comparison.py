"""The side-by-side view in a real browser: matches, shortcuts, kinds, map, report, and texts as long as a book."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from rprs import Document, Explanation, Index, Searcher, __version__
from rprs.alignment.describe import coverage_sentence
from rprs.alignment.values import KINDS, Kind, Pair
from tests.support.browser import Visit, visit
from tests.support.server import Server
from tests.support.web_samples import HARBOUR, LAST, ORCHARD, book, invent_sentences, paragraphs, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

# Sentences that differ by a word or two, some that nothing is like, and characters that JavaScript counts as two.
ORCHARD_BOOK = [line.replace("the", "the 🍐", 1) for line in invent_sentences(ORCHARD, 160)]
FOREIGN = [f"Quarks {word} through seventeen indigo manifolds." for word in "tunnel drift spin decay bounce".split()]
ALIEN = [f"Gluons {word} beneath eleven scarlet lattices." for word in "hum flicker".split()]
CHRONICLE_LINES = [*ALIEN, *ORCHARD_BOOK]
QUERY = paragraphs(
    [
        *FOREIGN[:2],
        *(line.replace("year", "month") for line in ORCHARD_BOOK[120:40:-1]),
        *FOREIGN[2:],
        *ORCHARD_BOOK[:9],
    ]
)
MINE = Document("mine", QUERY, "What I ask")
CHRONICLE = Document("chronicle", paragraphs(CHRONICLE_LINES), "A chronicle of the orchard", {"date": "1999-01-02"})
BOOK = Document("book", book(), "The book of the harbour")
OTHERS = [
    Document(
        f"note-{number}", paragraphs([*invent_sentences(ORCHARD, 6, number), *invent_sentences(HARBOUR, 6, number)])
    )
    for number in range(2, 8)
]
PROMPT = 3.0  # seconds of processor time for a step in a book; each was measured at no more than a third of this


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


PASSAGES = """nodes => {
    const passages = {};
    for (const node of nodes)
        for (const number of node.dataset.pairs.split(" "))
            passages[number] = (passages[number] ?? "") + node.textContent;
    return passages;
}"""


def passages(pane: Locator) -> dict[int, str]:
    """The marked text of each pair by its number, without white space, which the layout may change."""
    texts: dict[str, str] = pane.locator(".segment[data-pairs]").evaluate_all(PASSAGES)
    return {int(number): squeezed(text) for number, text in texts.items()}


def squeezed(text: str) -> str:
    return "".join(text.split())


SAME_HEIGHT = """() => {
    const [left, right] = [...document.querySelectorAll(".number.current")].map(one => one.getBoundingClientRect().y);
    return Math.abs(left - right) < 40;
}"""


def current(page: Page) -> int:
    """The number of the current match; both its passages are visible at the same height."""
    numbers = page.locator(".number.current")
    expect(numbers).to_have_count(2)
    for name in ("query", "document"):
        expect(side(page, name).locator(".segment.current").first).to_be_in_viewport()
    page.wait_for_function(SAME_HEIGHT)  # the texts settle over a few frames
    first, second = (numbers.nth(place).get_attribute("data-number") for place in (0, 1))
    assert first == second
    return int(first or 0)


def toggle(page: Page, kind: Kind) -> None:
    page.locator(f'.kind-toggle[data-kind="{kind}"]').click()


def filled(page: Page) -> None:
    """Wait until both texts are complete."""
    expect(side(page, "document").locator(".sentence")).to_have_count(len(CHRONICLE_LINES))
    expect(side(page, "query").locator(".sentence")).to_have_count(QUERY.count("."))


# ---------------------------------------------------------------------------- matches


def test_every_pair_is_marked_exactly_on_both_sides(view: Visit, expected: Explanation) -> None:
    """By its spans, whatever characters precede them, and with the colour and the sign of its kind."""
    page = view.page
    pairs = expected.alignment.pairs
    assert len(pairs) > 20
    assert {pair.kind for pair in pairs} >= {"identical", "reworded"}
    filled(page)
    for name in ("query", "document"):
        marked = passages(side(page, name))
        assert marked == {number: squeezed(getattr(pair, name)) for number, pair in enumerate(pairs, 1)}
    looks: set[tuple[str, str, str]] = set()
    for name in ("query", "document"):
        looks |= set(map(tuple, side(page, name).locator(".match:not(.common)").evaluate_all(LOOKS)))
    kinds = {pair.kind for pair in pairs}
    assert len(looks) == len(kinds) == len({colour for _, colour, _ in looks}) == len({line for _, _, line in looks})
    signs = set(map(tuple, page.locator(".number").evaluate_all(SIGNS)))
    assert len(signs) == len({kind for kind, _ in signs}) == len({sign for _, sign in signs})


LOOKS = """nodes => nodes.map(node => {
    const style = getComputedStyle(node);
    const line = node.classList.contains("changed") ? null : style.textDecorationStyle;
    return [/kind-[a-z-]+/.exec(node.className)[0], style.backgroundColor, line];
}).filter(look => look[2])"""
SIGNS = "nodes => nodes.map(node => [/kind-[a-z-]+/.exec(node.className)[0], node.dataset.sign])"


@pytest.mark.slow
def test_changed_words_of_a_reworded_pair_are_marked(view: Visit, expected: Explanation) -> None:
    page = view.page
    filled(page)
    number, pair = next(
        (number, pair)
        for number, pair in enumerate(expected.alignment.pairs, 1)
        if pair.kind == "reworded" and all(change.query_span[0] < change.query_span[1] for change in pair.changes)
    )
    assert pair.changes
    for _ in range(number):
        page.keyboard.press("j")
    assert current(page) == number
    for name, text in (("query", expected.query.text), ("document", expected.document.text)):
        spans = [getattr(change, f"{name}_span") for change in pair.changes]
        changed = side(page, name).locator(".current.changed").all_text_contents()
        assert "".join(changed) == "".join(text[start:end] for start, end in spans)


@pytest.mark.slow
def test_coverage_is_that_of_the_searcher_and_scores_are_technical_details(view: Visit, expected: Explanation) -> None:
    page = view.page
    hit = expected.hit
    for name in ("query", "document"):
        coverage = getattr(expected.alignment, f"{name}_coverage")
        words = page.locator(f".aligned-side.{name} .coverage-words")
        expect(words).to_have_text(coverage_sentence(coverage, name))
        shares = page.locator(f".aligned-side.{name} .coverage-bar").evaluate(SHARES)
        counts = [count for count in (coverage.identical, coverage.reworded, coverage.same_idea) if count]
        assert shares == pytest.approx([count / coverage.words for count in counts], abs=0.01)
    expect(page.locator(".aligned-scores dl")).to_be_hidden()
    page.get_by_text("Technical details").click()
    scores = page.locator(".aligned-scores dl")
    for score in (f"Keyword rank{hit.first_rank}", f"QP{hit.qp:.3f}", f"DP{hit.dp:.3f}"):
        expect(scores).to_contain_text(score)
    expect(page.locator(".aligned-disclaimer")).to_have_text(
        "Scores help you prioritise; they are not legal conclusions."
    )
    expect(page.locator(".aligned-side.document")).to_contain_text("1999-01-02")


SHARES = "bar => [...bar.children].map(part => part.getBoundingClientRect().width / bar.getBoundingClientRect().width)"


@pytest.mark.slow
def test_a_click_scrolls_to_the_matching_passage(view: Visit, expected: Explanation) -> None:
    page = view.page
    pairs = expected.alignment.pairs
    for name, other in (("query", "document"), ("document", "query")):
        filled(page)
        shown = {int(one) for one in side(page, name).locator(".number:visible").evaluate_all(NUMBERS)}
        number = max(shown, key=lambda each: getattr(pairs[each - 1], f"{other}_span")[0])
        side(page, name).locator(f'.number[data-number="{number}"]').click()
        assert current(page) == number
        text = "".join(side(page, other).locator(".segment.current").all_text_contents())
        assert squeezed(text) == squeezed(getattr(pairs[number - 1], other))
    passage = side(page, "query").locator(".segment.match:not(.current)").first
    numbers = (passage.get_attribute("data-pairs") or "").split()
    passage.click()
    assert str(current(page)) in numbers


NUMBERS = "nodes => nodes.map(node => node.dataset.number)"


@pytest.mark.slow
def test_a_passage_with_many_matches_shows_the_best_and_lists_the_others(view: Visit, expected: Explanation) -> None:
    page = view.page
    filled(page)
    by_start: dict[int, list[tuple[int, Pair]]] = {}
    for number, pair in enumerate(expected.alignment.pairs, 1):
        by_start.setdefault(pair.query_span[0], []).append((number, pair))
    crowd = max(by_start.values(), key=len)
    assert len(crowd) > 1
    best = max(crowd, key=lambda each: (-KINDS.index(each[1].kind), each[1].similarity))[0]
    start = len(QUERY[: crowd[0][1].query_span[0]].encode("utf-16-le")) // 2  # as JavaScript counts
    box = side(page, "query").locator(f'.badge-box:has([data-start="{start}"])')
    more = box.locator(".more-partners")
    expect(more).to_have_attribute("data-count", f"+{len(crowd) - 1}")
    box.locator(".number").click()
    assert current(page) == best
    box.locator(".number").focus()
    page.keyboard.press("Tab")
    expect(more).to_be_focused()
    page.keyboard.press("Enter")
    listed = page.locator(".partners button")
    expect(listed).to_have_count(len(crowd))
    expect(listed.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".partners")).to_have_count(0)
    assert current(page) in {number for number, _ in crowd} - {best}
    more.click()
    page.keyboard.press("Escape")
    expect(page.locator(".partners")).to_have_count(0)
    expect(page.locator(".aligned")).to_be_visible()  # Escape closed only the list


def test_shortcuts_step_through_matches_and_back_to_the_results(view: Visit) -> None:
    page = view.page
    page.keyboard.press("j")
    assert current(page) == 1
    for _ in range(4):
        page.keyboard.press("j")
    assert current(page) == 5
    page.keyboard.press("k")
    assert current(page) == 4
    expect(page.locator(".aligned-bar .where")).to_contain_text("Match 4")
    page.keyboard.press("Escape")
    page.locator("#hits").wait_for()
    assert CHRONICLE.id in view.ids()


@pytest.mark.slow
def test_kinds_can_be_hidden_without_a_request(view: Visit, expected: Explanation) -> None:
    page = view.page
    pairs = expected.alignment.pairs
    filled(page)
    for kind in KINDS:
        count = sum(pair.kind == kind for pair in pairs)
        expect(page.locator(f'.kind-toggle[data-kind="{kind}"] .times')).to_have_text(str(count))
    requests = len(view.api_requests)
    kept = {number for number, pair in enumerate(pairs, 1) if pair.kind != "reworded"}
    assert 0 < len(kept) < len(pairs)
    toggle(page, "reworded")
    expect(page.locator('.kind-toggle[data-kind="reworded"]')).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".pairs-shown")).to_have_text(f"{len(kept)} of {len(pairs)} matches shown")
    expect(page.locator(".match.kind-reworded")).to_have_count(0)
    assert {int(one) for one in page.locator(".number:visible").evaluate_all(NUMBERS)} <= kept
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert current(page) == sorted(kept)[1]
    toggle(page, "reworded")
    expect(page.locator(".match.kind-reworded").first).to_be_attached()
    assert len(view.api_requests) == requests


@pytest.mark.slow
def test_unmatched_text_is_highlighted_on_both_sides(view: Visit, expected: Explanation) -> None:
    """Including text whose matches are of hidden kinds."""
    page = view.page
    filled(page)
    alignment = expected.alignment
    before = colour_of(side(page, "query").locator(".segment:not(.match)").first)
    page.locator("#aligned-gaps").check()
    for name in ("query", "document"):
        text = getattr(alignment, name).text
        spans = getattr(alignment, f"{name}_unmatched")
        highlighted = side(page, name).locator(".sentence .segment:not(.match, [data-bare])")
        gaps = highlighted.all_text_contents()
        assert {text[start:end] for start, end in spans} <= set(gaps)
        assert all(colour_of(each) != before for each in highlighted.all()[:3])
        expect(page.locator(f".aligned-side.{name} .gap-count")).to_contain_text("unmatched passage")
    assert set(side(page, "query").locator(".segment:not(.match)").all_text_contents()) >= set(FOREIGN)
    count = page.locator(".aligned-side.query .gap-count").inner_text()
    for kind in KINDS:
        toggle(page, kind)
    expect(page.locator(".aligned-side.query .gap-count")).to_have_text("1 unmatched passage")
    for kind in KINDS:
        toggle(page, kind)
    expect(page.locator(".aligned-side.query .gap-count")).to_have_text(count)
    page.keyboard.press("n")
    expect(side(page, "query").locator(".pointed").first).to_be_in_viewport()
    side(page, "document").focus()
    page.keyboard.press("n")
    expect(side(page, "document").locator(".pointed").first).to_be_in_viewport()
    page.locator("#aligned-gaps").uncheck()
    assert colour_of(side(page, "query").locator(".segment:not(.match)").first) == before


def colour_of(locator: Locator) -> str:
    return str(locator.evaluate("node => getComputedStyle(node).backgroundColor"))


@pytest.mark.slow
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
    toggle(page, "reworded")
    expect(page.locator(".pairs-shown")).to_contain_text("shown")
    assert 0 < chart.locator("canvas").evaluate(painted) < before


@pytest.mark.slow
def test_the_report_can_be_mailed(view: Visit, expected: Explanation, chrome: Browser) -> None:
    """A self-contained file, named for both documents, with the visible pairs and everything needed to reproduce it."""
    toggle(view.page, "reworded")
    file = view.saved(view.page.get_by_role("button", name="Report").click)
    assert file.suffix == ".html"
    assert all(name in file.name for name in (MINE.title, CHRONICLE.title))
    with visit(chrome, "file://") as mailed:
        page = mailed.page
        page.goto(file.as_uri())
        kept = [pair for pair in expected.alignment.pairs if pair.kind != "reworded"]
        expect(page.locator("#matches tbody tr")).to_have_count(len(kept))
        texts = page.locator("#texts").evaluate(WITHOUT_NUMBERS)
        assert [line for line in (*FOREIGN, *CHRONICLE_LINES) if line not in texts] == []
        about = page.locator("#details").inner_text()
        fingerprint = view.page.evaluate("fetch('/api/v1/info').then(answer => answer.json())")["fingerprint"]
        assert all(part in about for part in (__version__, fingerprint, "blend", "fuse"))
        expect(page.locator("body")).to_contain_text("not legal conclusions")
        link = page.locator("#texts .match a").last
        link.click()
        expect(page.locator(":target")).to_be_in_viewport()


WITHOUT_NUMBERS = """node => {
    const copy = node.cloneNode(true);
    copy.querySelectorAll("a").forEach(link => link.remove());
    return copy.textContent;
}"""


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


@pytest.mark.slow
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
        toggle(page, "identical")
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
