"""The coverage of a document of 100,000 words in a real browser: soon there, and never frozen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from rprs import Document
from tests.support.browser import visit
from tests.support.server import Server
from tests.support.web_samples import HARBOUR, ORCHARD, invent_sentences, paragraphs, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SENTENCES = invent_sentences(HARBOUR, 8_400)
FOREIGN = "Quarks tunnel through seventeen indigo manifolds."
FREEZE = 1_000  # milliseconds; a click or a key that waits for less is slow, not lost
OBSERVE = """
window.tasks = [0];
const note = (list) => tasks.push(...list.getEntries().map((each) => each.duration));
new PerformanceObserver(note).observe({type: "longtask"});
"""
SCROLL = """async () => {
  const times = [];
  for (let top = 0; top < 90_000; top += 450) {
    const start = performance.now();
    scrollTo(0, top);
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}"""


def source(number: int) -> Document:
    """Sentences of its own, and 150 of the query, every third of them reworded."""
    shared = SENTENCES[number * 300 : number * 300 + 150]
    reworded = [each if at % 3 else each.replace("beside the", "near the old") for at, each in enumerate(shared)]
    return Document(
        f"source-{number}", paragraphs([*invent_sentences(ORCHARD, 50, number), *reworded]), f"Source {number}"
    )


def long_query() -> str:
    """More than 100,000 words, with a passage that nothing is like in the middle and at the end."""
    middle = len(SENTENCES) // 2
    text = paragraphs([*SENTENCES[:middle], FOREIGN, *SENTENCES[middle:], FOREIGN.replace("tunnel", "drift")])
    assert len(text.split()) > 100_000
    return text


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("coverage") / "long.rprs", [source(number) for number in range(24)])


def longest(page: Page) -> float:
    """The longest time since the last call for which the page did not answer, in milliseconds."""
    duration: float = page.evaluate("Math.max(...tasks.splice(0, tasks.length, 0))")
    return duration


@pytest.mark.slow
def test_a_hundred_thousand_words(
    chrome: Browser, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brief = tmp_path / "brief.txt"
    brief.write_text(long_query(), encoding="utf-8")
    with visit(chrome, server.url) as visited:
        visited.context.add_init_script(OBSERVE)
        visited.open()
        page = visited.search(files=[brief])
        longest(page)
        started = page.evaluate("performance.now()")
        page.locator("#show-coverage").click()
        page.locator(".chart-group").first.wait_for()
        first = page.evaluate("performance.now()") - started
        page.locator("#coverage[data-complete]").wait_for(timeout=300_000)
        drawing = longest(page)
        frames = page.evaluate(SCROLL)
        scrolling = longest(page)
        with capsys.disabled():
            print(
                f"\nfirst picture {first:.0f} ms, longest task {drawing:.0f} ms; while scrolling {scrolling:.0f} ms,"
                f" frames {frames[len(frames) // 2]:.0f} ms (median), {frames[-1]:.0f} ms (slowest)"
            )
        assert first < 5_000
        assert max(drawing, scrolling) < FREEZE
        assert page.locator(".lanes path").count() < 4_000  # what nobody has looked at is not drawn
        expect(page.locator(".chart-group")).to_have_count(1681)
        _reads_the_end(page)


def _reads_the_end(page: Page) -> None:
    """Gaps far away are counted and reached, a source opens from there, and the way back leads there."""
    expect(page.locator(".chart-gaps")).to_contain_text("passages of your document have no counterpart")
    page.keyboard.press("p")  # from nowhere: the last one
    expect(page.locator(".gap-search:focus")).to_have_accessible_name(re.compile("Quarks drift"))
    expect(page.locator(".gap-search:focus")).to_be_in_viewport()
    page.keyboard.press("p")
    expect(page.locator(".gap-search:focus")).to_be_in_viewport()
    page.keyboard.press("n")
    expect(page.locator(".gap-search:focus")).to_have_accessible_name(re.compile("Quarks drift"))
    group = page.locator(".chart-group").nth(-2)
    group.locator(".who .source").first.click()
    page.locator(".aligned").wait_for()
    longest(page)
    page.keyboard.press("Escape")
    expect(page.locator(".who .source:focus")).to_be_in_viewport()
    assert longest(page) < FREEZE
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # paper has all of it
    expect(group.locator(".lanes path").first).to_be_attached()
    assert page.locator(".chart-group:not(:has(.lanes path)):not(.has-gap)").count() == 0
