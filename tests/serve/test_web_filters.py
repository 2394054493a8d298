"""Filters of the results in a real browser: conditions, dates, counts and errors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from rprs import Document, Index, Searcher
from tests.serve.test_web_results import ID, expected_ids, listed
from tests.support.browser import visit
from tests.support.cli import QUERY, sample_index
from tests.support.server import Server, served
from tests.support.web_samples import HARBOUR, invent_sentences, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("results"))


# ---------------------------------------------------------------------------- filters


def test_filters_narrow_the_results(chrome: Browser, server: Server, searcher: Searcher) -> None:
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        dated = "date >= 2001-12-05 and date < 2014-05-31"
        steps: list[tuple[Callable[[], object], str]] = [
            (partial(page.locator("#filter-date-from").fill, "2001-12-05"), "date >= 2001-12-05"),
            (partial(page.locator("#filter-date-to").fill, "2014-05-30"), dated),
            (page.locator('input[name="filter-court"]').first.check, f'{dated} and court in ("harbour")'),
        ]
        lists = [expected_ids(searcher, where) for _, where in steps]
        assert len({len(ids) for ids in lists}) == len(steps)
        for (step, _), ids in zip(steps, lists, strict=True):
            step()
            assert visited.shows(ids)
        expect(page.locator(".badge")).to_have_text("2")
        page.get_by_role("button", name="Clear filters").click()
        assert visited.shows(expected_ids(searcher))
        page.locator("#filter-k").select_option("5")
        assert visited.shows(expected_ids(searcher, k=5))
        page.go_back()
        assert visited.shows(expected_ids(searcher))
        expect(page.locator("#filter-k")).to_have_value("10")


@pytest.mark.slow
def test_the_advanced_filter_and_its_errors(chrome: Browser, server: Server, searcher: Searcher) -> None:
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        page.locator("#results-filters").get_by_text("Advanced filter").click()
        field = page.locator("#filter-advanced")
        field.fill("court in (hill")
        field.press("Enter")
        expect(page.locator("#filter-error")).to_contain_text("court in (hill")
        expect(field).to_have_attribute("aria-invalid", "true")
        assert visited.shows(expected_ids(searcher))
        where = "not (court in (hill)) and title ~ v."
        field.fill(where)
        field.press("Enter")
        assert visited.shows(expected_ids(searcher, where))
        expect(page.locator("#filter-error")).to_be_empty()


@pytest.mark.slow
def test_newer_documents_can_be_left_out(chrome: Browser, server: Server, searcher: Searcher) -> None:
    finch = searcher.index.document("finch-v-crane")
    limited = [hit.id for hit in searcher.search(finch, before="date")]
    only_dated = [hit.id for hit in searcher.search(finch, before="date", undated="drop")]
    everything = [hit.id for hit in searcher.search(finch)]
    assert len(only_dated) < len(limited) < len(everything)
    with visit(chrome, server.url) as visited:
        listed(visited, "/?id=finch-v-crane&k=10")
        page = visited.page
        page.locator("#results-filters").get_by_text("Advanced filter").click()
        panel = page.locator("#results-filters")
        panel.get_by_label("Only documents not newer than mine").select_option("date")
        assert visited.shows(limited)
        expect(page.locator(".notes")).to_contain_text("nothing newer than 2011-09-14")
        expect(page.locator(".badge")).to_have_text("1")
        assert "before=date" in page.url
        panel.get_by_label("Leave out documents without a date").check()
        expect(page.locator(".notes")).to_contain_text("without a date left out")
        page.reload()
        assert visited.shows(only_dated)
        expect(page.locator("#filter-before")).to_have_value("date")
        expect(page.locator("#filter-undated")).to_be_checked()
        page.locator("#technical-details > summary").click()
        expect(page.locator("#technical-details")).to_contain_text("date=2011-09-14")
        page.get_by_role("button", name="Clear filters").click()
        assert visited.shows(everything)


@pytest.mark.slow
def test_a_date_limit_needs_a_date(chrome: Browser, server: Server, tmp_path: Path) -> None:
    stated = tmp_path / "stated.html"
    stated.write_text(f"<html><head><meta name='date' content='2008-11-20'></head><body><p>{QUERY}</p></body></html>")
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(text=QUERY)
        page.locator("#search-options > summary").click()
        page.locator("#search-filters").get_by_text("Advanced filter").click()
        page.locator("#search-filter-before").select_option("date")
        page.locator("#submit").click()
        expect(page.locator("#search-filter-error")).to_contain_text("The date limit needs a date of the query")
        expect(page.locator("#search-filter-before")).to_have_attribute("aria-invalid", "true")
        page.locator("#text").fill("")
        visited.search(files=[stated])  # an upload with a date in it
        expect(page.locator(".notes")).to_contain_text("nothing newer than 2008-11-20")
        page.locator("#filter-k").select_option("5")  # the text is sent again, with its metadata
        expect(page.locator(".notes")).to_contain_text("nothing newer than 2008-11-20")
        expect(page.locator("#filter-before")).to_have_value("date")
        assert "HTTP status" not in " ".join(visited.console_errors)


@pytest.mark.slow
def test_a_date_limit_is_offered_only_for_a_query_with_a_date(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY)
        page.locator("#results-filters").get_by_text("Advanced filter").click()
        expect(page.locator("#filter-advanced")).to_be_visible()
        expect(page.locator("#filter-before")).to_have_count(0)


@pytest.mark.slow
def test_filters_can_be_set_in_the_form(chrome: Browser, server: Server, searcher: Searcher) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(words=["heron"])
        page.locator("#search-options > summary").click()
        page.locator("#search-filter-k").select_option("5")
        page.locator("#search-filter-date-from").fill("2005-01-01")
        visited.search()
        assert visited.ids() == expected_ids(searcher, "date >= 2005", k=5)
        expect(page.locator("#filter-date-from")).to_have_value("2005-01-01")


@pytest.mark.slow
def test_the_histogram_of_dates_filters_with_the_keyboard(chrome: Browser, server: Server, searcher: Searcher) -> None:
    hits = list(searcher.search(searcher.index.document(ID)))
    years = [int(str(hit.metadata["date"])[:4]) for hit in hits if "date" in hit.metadata]
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        bars = page.locator("#results-filters .histogram button")
        labels = [bar.get_attribute("aria-label") or "" for bar in bars.all()]
        counts = [re.fullmatch(r"(\d{4})(?:–(\d{4}))?: (\d+) results?", label) for label in labels]
        assert all(counts)
        for match in filter(None, counts):
            least, greatest, count = int(match[1]), int(match[2] or match[1]), int(match[3])
            assert sum(least <= year <= greatest for year in years) == count
        bar = page.locator("#results-filters .histogram button:enabled").first
        first = labels[0][:4]
        bar.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#filter-date-from")).to_have_value(f"{first}-01-01")
        end = page.locator("#filter-date-to").input_value()
        where = f"date >= {first} and date < {int(end[:4]) + 1}"
        assert visited.shows(expected_ids(searcher, where))
        page.get_by_role("button", name="Clear filters").click()
        assert visited.shows([hit.id for hit in hits])


@pytest.mark.slow
def test_counts_beside_filters_follow_the_list(chrome: Browser, server: Server, searcher: Searcher) -> None:
    hits = list(searcher.search(searcher.index.document(ID)))
    courts = [str(hit.metadata["court"]) for hit in hits if "court" in hit.metadata]
    with visit(chrome, server.url) as visited:
        listed(visited)
        page = visited.page
        box = page.locator('.tick:has(input[name="filter-court"][value="harbour"])')
        expect(box.locator(".times")).to_have_text(str(courts.count("harbour")))
        gone = next(hit.id for hit in hits if hit.metadata.get("court") == "harbour")
        page.locator(f'.hit[data-id="{gone}"] .hide').click()
        expect(box.locator(".times")).to_have_text(str(courts.count("harbour") - 1))
        box.locator("input").check()
        expect(page.locator('.tick:has(input[name="filter-court"][value="hill"]) .times')).to_have_text("0")
        expect(box.locator("input")).to_be_focused()  # the form is not drawn again


# ---------------------------------------------------------------------------- a field with many values

JUDGES = 45  # more than an index lists
RULINGS = [
    Document(
        f"ruling-{number:03}",
        " ".join(invent_sentences(HARBOUR, 6, number % JUDGES)),
        f"Ruling {number}",
        {"judge": f"Judge {number % JUDGES:02}", "bench": ["north", "south", "east"][number % 3]},
    )
    for number in range(2 * JUDGES)
]


def test_values_beyond_the_most_frequent_ones_are_listed_with_the_results(chrome: Browser, tmp_path: Path) -> None:
    index = write_index(tmp_path / "made.rprs", RULINGS)
    with served(index) as server, visit(chrome, server.url) as visited:
        page = visited.search(text=RULINGS[-1].text)
        with Index(index) as opened:
            hits = Searcher(opened).search(RULINGS[-1].text)
            frequent = {value for field in opened.fields if field.name == "judge" for value, _ in field.values}
        metadata = [each for hit in hits for each in (hit.metadata, *(twin.metadata for twin in hit.duplicates))]
        for field in ("judge", "bench"):
            times = Counter(str(each[field]) for each in metadata)
            shown = [(value, count) for value, count in listed_values(page, field) if count]
            assert shown == sorted(times.items(), key=lambda item: (-item[1], item[0]))
        last = max(str(each["judge"]) for each in metadata)
        assert frequent
        assert last not in frequent
        box = page.locator(f'input[name="filter-judge"][value="{last}"]')
        box.check()
        expect(page.locator("#summary")).to_contain_text("Top 1 of")
        expect(box).to_be_checked()
        expect(box).to_be_focused()
        assert listed_values(page, "judge") == [(last, 2)]
        page.reload()
        expect(page.locator("#summary")).to_contain_text("Top 1 of")
        expect(box).to_be_checked()
        box.uncheck()
        expect(page.locator('input[name="filter-judge"]').nth(1)).to_be_visible()


def listed_values(page: Page, field: str) -> list[tuple[str, int]]:
    """The values beside the boxes of a field, with their counts, in order."""
    ticks = page.locator(f'.tick:has(input[name="filter-{field}"])').all()
    return [(tick.locator("input").input_value(), int(tick.locator(".times").inner_text())) for tick in ticks]
