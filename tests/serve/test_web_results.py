"""The results in a real browser: contents, hiding, export, addresses."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from playwright.sync_api import expect

from rprs import Document, Hit, Searcher, __version__, read_run
from rprs.alignment.describe import coverage_sentence, similarity_text
from rprs.alignment.values import Pair
from tests.support.browser import Visit, visit
from tests.support.cli import QUERY, sample_index
from tests.support.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ID = "heron-v-otter"
LIST = f"/?id={ID}&k=10"


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("results"))


def listed(visited: Visit, address: str = LIST) -> None:
    visited.open(address)
    visited.page.locator("#summary").wait_for()


def expected_ids(searcher: Searcher, where: str | None = None, k: int = 10) -> list[str]:
    return [hit.id for hit in searcher.search(searcher.index.document(ID), k=k, where=where)]


# ---------------------------------------------------------------------------- contents


def test_every_result_matches_the_searcher(chrome: Browser, server: Server, searcher: Searcher) -> None:
    expected = searcher.search(Document("query", QUERY), pairs=3)
    assert any(hit.pairs for hit in expected)
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY)
        expect(page.locator("#summary")).to_have_text(
            f"Top {len(expected)} of 12 documents · your document: {expected.query_sentences} sentences"
        )
        items: list[Any] = page.locator("#hits > .hit").evaluate_all(SEEN)
        assert "1.00" not in page.locator("#hits").inner_text()
    for hit, item in zip(expected, items, strict=True):
        check(hit, item)


SEEN = """hits => hits.map(hit => {
    const texts = selector => [...hit.querySelectorAll(selector)].map(node => node.textContent);
    return {
        id: hit.dataset.id,
        rank: texts(".rank")[0],
        title: texts(".hit-open")[0],
        coverage: texts(".coverage-words"),
        kinds: texts(".pair .kind-label"),
        pairs: texts(".pair .quote"),
        removed: texts(".pair del"),
        scores: texts(".technical dl")[0],
        metadata: texts(".metadata")[0] ?? "",
    };
})"""


def check(hit: Hit, item: dict[str, Any]) -> None:
    assert (item["id"], item["rank"], item["title"]) == (hit.id, str(hit.rank), hit.title)
    assert hit.query_coverage
    assert hit.document_coverage
    assert item["coverage"] == [
        coverage_sentence(hit.query_coverage, "query"),
        coverage_sentence(hit.document_coverage, "document"),
    ]
    quotes = [" ".join(text.split()) for pair in hit.pairs for text in (pair.query, pair.document)]
    assert item["pairs"] == quotes
    for pair, label in zip(hit.pairs, item["kinds"], strict=True):
        assert pair.kind in label
        assert similarity_text(pair) in label
    removed = [pair.query[start - pair.query_span[0] : end - pair.query_span[0]] for pair in hit.pairs
               for change in pair.changes for start, end in [change.query_span] if start < end]  # fmt: skip
    assert item["removed"] == [" ".join(text.split()) for text in removed]
    assert f"Keyword rank{hit.first_rank}" in item["scores"]
    assert all(f"{name}{value}" in item["metadata"] for name, value in hit.metadata.items())


def test_evidence_leads_to_its_place_side_by_side(chrome: Browser, server: Server, searcher: Searcher) -> None:
    hit = next(hit for hit in searcher.search(searcher.index.document(ID)) if len(hit.pairs) > 1)
    pair = hit.pairs[-1]
    with visit(chrome, server.url) as visited:
        listed(visited)
        link = visited.page.locator(f'.hit[data-id="{hit.id}"] .pair').last
        assert f"at={pair.query_span[0]}-{pair.document_span[0]}" in (link.get_attribute("href") or "")
        link.click()
        current_pair(visited, pair)
        visited.page.reload()
        current_pair(visited, pair)
        visited.page.keyboard.press("Escape")
        visited.page.locator("#hits").wait_for()
        visited.open()
        visited.search(text=searcher.index.document(ID).text)  # a query without an address
        visited.page.locator(f'.hit[data-id="{hit.id}"] .pair').last.click()
        expect(visited.page.locator(".number.current")).to_have_count(2)


def current_pair(visited: Visit, pair: Pair) -> None:
    expect(visited.page.locator(".number.current")).to_have_count(2)
    for name in ("query", "document"):
        text = "".join(visited.page.locator(f".aligned-side.{name} .segment.current").all_text_contents())
        assert "".join(text.split()) == "".join(getattr(pair, name).split())


@pytest.mark.slow
def test_more_like_this_and_read_alone(chrome: Browser, server: Server, searcher: Searcher) -> None:
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        ids = visited.ids()
        page.locator(".hit .alone").nth(1).click()
        expect(page.locator("#reader-title")).to_have_text(searcher.index.document(ids[1]).title)
        text = page.locator(".reader-text").inner_text()
        assert text.split() == searcher.index.document(ids[1]).text.split()
        page.reload()
        expect(page.locator("#reader-title")).to_be_visible()
        page.go_back()
        page.locator("#hits").wait_for()
        page.locator(".hit .alone").nth(1).click()
        page.locator("#reader-title").wait_for()
        page.keyboard.press("Escape")
        page.locator("#hits").wait_for()
        page.locator(".hit .similar").nth(1).click()
        similar = searcher.search(searcher.index.document(ids[1]))
        assert visited.shows([hit.id for hit in similar])
        assert page.url.endswith(f"/?id={ids[1]}&k=10")
        page.go_back()
        assert visited.shows(ids)
        visited.open("/?read=nobody")
        expect(page.locator("#error .notice")).to_contain_text("nobody")
        visited.expect_error("404")


@pytest.mark.slow
def test_an_unknown_address_is_a_page(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        visited.page.goto(f"{server.url}/nowhere")
        expect(visited.page.locator("h1")).to_have_text("Page not found")
        visited.expect_error("404")
        visited.page.get_by_role("link", name="Back to the search").click()
        visited.page.locator("#search-form:not([inert])").wait_for()


@pytest.mark.slow
def test_one_worked_example_explains_the_results(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        page.get_by_text("How to read this").click()
        expect(page.locator("#example svg[role=img]")).to_be_visible()
        expect(page.locator("#example")).to_contain_text("6% identical, 12% reworded, 23% same idea")
        expect(page.locator(".foot")).to_have_text("Scores help you prioritise; they are not legal conclusions.")


@pytest.mark.slow
def test_no_results_are_explained(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        listed(visited, f"{LIST}&where=date+<+1900")
        expect(visited.page.locator(".no-results")).to_contain_text("No similar document matches the filters")
        visited.open()
        visited.fill_form(text="Xylophones zigzag.")
        visited.page.locator("#submit").click()
        expect(visited.page.locator(".no-results")).to_contain_text("No document here shares any words with yours.")


# ---------------------------------------------------------------------------- hiding and export


@pytest.mark.slow
def test_hidden_results_are_counted_omitted_and_restored_one_by_one(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        before = visited.ids()
        for _ in range(2):
            page.locator(".hit .hide").nth(1).click()
        hidden = page.locator("#hidden-results")
        expect(hidden.locator("summary")).to_have_text("2 hidden · Show")
        assert visited.ids() == [before[0], *before[3:]]
        assert page.evaluate("document.activeElement.closest('.hit').dataset.id") == before[3]
        assert [row["id"] for row in rows(exported(visited, "csv"))] == visited.ids()
        visited.compare(before[0])
        page.keyboard.press("Escape")
        assert visited.ids() == [before[0], *before[3:]]
        hidden.locator("summary").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # restores the first of them
        assert visited.shows([*before[:2], *before[3:]])
        expect(hidden.locator("summary")).to_contain_text("1 hidden")
        expect(hidden.locator("li")).to_have_attribute("data-id", before[2])
        hidden.locator(".restore").click()
        assert visited.ids() == before
        expect(hidden).to_have_count(0)
        for _ in range(2):
            page.locator(".hit .hide").first.click()
        hidden.locator("summary").click()
        page.locator("#restore-all").click()
        assert visited.ids() == before


@pytest.mark.slow
def test_results_can_be_sorted_by_date(chrome: Browser, server: Server, searcher: Searcher) -> None:
    hits = list(searcher.search(searcher.index.document(ID)))
    dated = [hit for hit in hits if "date" in hit.metadata]
    undated = [hit.id for hit in hits if "date" not in hit.metadata]
    oldest = [hit.id for hit in sorted(dated, key=lambda hit: str(hit.metadata["date"]))]
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        requests = len(visited.api_requests)
        page.locator("#sort").select_option("oldest")
        assert visited.shows([*oldest, *undated])
        expect(page.locator("#sort")).to_be_focused()
        page.locator("#sort").select_option("newest")
        assert visited.shows([*oldest[::-1], *undated])
        assert len(visited.api_requests) == requests
        assert "sort=newest" in page.url
        page.reload()
        assert visited.shows([*oldest[::-1], *undated])
        ranks = page.locator("#hits .rank").all_inner_texts()
        assert sorted(map(int, ranks)) == list(range(1, len(hits) + 1)) != list(map(int, ranks))


def exported(visited: Visit, format: str) -> Path:
    visited.page.locator("#export").click()
    return visited.saved(lambda: visited.page.locator(f"#results [data-format={format}]").click())


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8-sig") as lines:
        assert next(lines).startswith('"# rprs: ')
        return list(csv.DictReader(lines))


@pytest.mark.slow
def test_results_are_exported_in_every_format(chrome: Browser, server: Server, searcher: Searcher) -> None:
    """Each file has the ids in order, and everything needed to reproduce it."""
    where = "date >= 1998"
    expected = searcher.search(searcher.index.document(ID), where=where)
    ids = [hit.id for hit in expected]
    with visit(chrome, server.url) as visited:
        listed(visited, f"{LIST}&where={where}")
        files = {format: exported(visited, format) for format in ("csv", "jsonl", "trec", "ris", "bibtex")}
    assert [file.suffix for file in files.values()] == [".csv", ".jsonl", ".trec", ".ris", ".bib"]
    assert all("Similar to Heron v. Otter" in file.name for file in files.values())
    for file in files.values():
        text = file.read_text(encoding="utf-8")
        for part in (searcher.index.fingerprint, __version__, "blend", "fuse", "rprs"):
            assert part in text, file.name
        if file.suffix != ".trec":  # whose tag has no filter
            assert where in text.replace("$>$", ">"), file.name
    sheet = rows(files["csv"])
    assert [(row["id"], float(row["score"])) for row in sheet] == [(hit.id, hit.score) for hit in expected]
    about, *objects = map(json.loads, files["jsonl"].read_text().splitlines())
    assert (about["about"]["where"], about["about"]["query"]) == (where, ID)
    assert [object["id"] for object in objects] == ids
    assert list(read_run(files["trec"])[ID].ids) == ids
    assert [entry["id"] for entry in rispy.loads(files["ris"].read_text())] == ids
    titles: list[Any] = [entry["title"] for entry in parse_string(files["bibtex"].read_text()).entries]
    assert titles == [hit.title for hit in expected]


# ---------------------------------------------------------------------------- addresses and history


@pytest.mark.slow
def test_a_link_shows_the_same_results_to_others(chrome: Browser, server: Server, searcher: Searcher) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    with visit(chrome, server.url, permissions=allowed) as visited:
        page = visited.search(words=["heron", "moss"])
        page.locator("#filter-date-from").fill("2001-12-05")
        expect(page.locator(".badge")).to_have_text("1")
        ids = visited.ids()
        page.locator("#copy-link").click()
        expect(page.locator("#copy-link")).to_contain_text("copied")
        link = page.evaluate("navigator.clipboard.readText()")
        assert link == page.url
        visited.compare(ids[0])
        side_by_side = page.url
    with visit(chrome, server.url) as other:
        other.page.goto(link)
        other.page.locator("#hits").wait_for()
        assert other.ids() == ids
        expect(other.page.locator("#filter-date-from")).to_have_value("2001-12-05")
        expect(other.page.locator("#results-title")).to_have_text("Heron v. Otter and Moss v. Reed")
        other.page.goto(side_by_side)
        title = searcher.index.document(ids[0]).title or ids[0]
        expect(other.page.locator(".aligned-side.document h2")).to_have_text(title)
        other.page.keyboard.press("Escape")
        other.page.locator("#hits").wait_for()
        assert other.ids() == ids


def test_back_forward_and_reload(chrome: Browser, server: Server) -> None:
    """Including for a pasted text, which has no address."""
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY)
        view = page.locator("body")
        ids = visited.ids()
        last = page.locator("#hits > .hit").last
        last.scroll_into_view_if_needed()
        scrolled = page.evaluate("scrollY")
        assert scrolled > 0
        visited.compare(ids[-1])
        requests = len(visited.api_requests)
        page.go_back()
        expect(view).to_have_attribute("data-view", "results")
        assert visited.ids() == ids
        expect(last).to_be_in_viewport()
        assert page.evaluate("document.activeElement.closest('.hit')?.dataset.id") == ids[-1]
        page.go_back()
        expect(view).to_have_attribute("data-view", "search")
        expect(page.locator("#text")).to_have_value(QUERY)
        page.go_forward()
        expect(view).to_have_attribute("data-view", "results")
        assert len(visited.api_requests) == requests  # the list was still there
        page.go_forward()
        page.locator(".aligned").wait_for()
        page.reload()
        page.locator(".aligned").wait_for()
        page.keyboard.press("Escape")
        page.locator("#hits").wait_for()
        assert visited.ids() == ids


@pytest.mark.slow
def test_an_address_of_a_missing_document(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        visited.open("/?id=nobody")
        expect(visited.page.locator("#results-error .notice")).to_contain_text("nobody")
        visited.open(f"{LIST}&open=nobody")
        expect(visited.page.locator("#aligned .notice")).to_contain_text("nobody")
        visited.page.get_by_role("button", name="Back to results").click()
        visited.page.locator("#hits").wait_for()
