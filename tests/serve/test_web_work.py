"""Marks, notes and matters in a real browser: ranks change at once, files open again, and tabs do not overwrite."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import expect

from rprs import Document, Searcher
from rprs.matters import read_matter
from tests.support.browser import visit
from tests.support.cli import QUERY, sample_index
from tests.support.server import Server, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

BRIEF = Document("query", QUERY)


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("folder")


@pytest.fixture(scope="module")
def server(index_path: Path, folder: Path) -> Iterator[Server]:
    with served(index_path, "--matters", folder) as running:
        yield running


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]


def test_marks_change_the_ranks_and_a_matter_keeps_them(
    chrome: Browser, server: Server, searcher: Searcher, folder: Path
) -> None:
    spans = [(start, end) for start, end in searcher.index.splitter.split(QUERY).spans.tolist()]
    plain = [hit.id for hit in searcher.search(BRIEF)]
    liked, disliked = plain[0], plain[1]
    with visit(chrome, server.url, bypass_csp=True) as visited:
        page = visited.search(text=QUERY)
        assert visited.shows(plain)
        page.locator(f'.hit[data-id="{liked}"] .mark-like').press("Enter")  # by the keyboard
        assert visited.shows([hit.id for hit in searcher.search(BRIEF, like=[liked])])
        expect(page.locator(f'.marked[data-id="{liked}"] .linklike')).to_be_focused()
        page.locator(f'.hit[data-id="{disliked}"] .mark-unlike').click()
        assert visited.shows([hit.id for hit in searcher.search(BRIEF, like=[liked], unlike=[disliked])])
        page.locator("#mark-sentences").press("Enter")
        rows = page.locator(".sentence-marks li")
        expect(rows).to_have_count(len(spans))
        rows.nth(0).get_by_role("button", name="Key").press("Space")
        rows.nth(3).get_by_role("button", name="Ignore").click()
        assert violations(page) == []
        page.locator("#apply-sentences").click()
        marks = {"like": [liked], "unlike": [disliked], "key": spans[:1], "ignore": spans[3:4]}
        steered = [hit.id for hit in searcher.search(BRIEF, **marks)]  # type: ignore[arg-type]
        assert visited.shows(steered)
        expect(page.locator("#mark-sentences")).to_contain_text("1 key, 1 ignored")
        first = page.locator("#hits > .hit").first
        first.locator(".note-fold summary").click()
        first.locator(".note-fold textarea").fill("Read this first")
        first.locator(".note-fold input").fill("lease, urgent")
        first.locator(".note-fold input").press("Tab")
        assert violations(page) == []
        page.locator("#save-matter").click()
        page.locator("#matter-name").fill("Otter")
        assert violations(page) == []
        page.locator("#save-on-server").click()
        expect(page.locator("#save-matter-dialog")).to_have_count(0)
        stored = read_matter(folder / "Otter.rprs-matter")
        assert stored.searches[0].notes == {steered[0]: "Read this first"}
        assert stored.searches[0].tags == {steered[0]: ("lease", "urgent")}
        assert (stored.revision, stored.searches[0].marks.key) == (1, tuple(spans[:1]))
        first.locator(".note-fold summary").click()
        first.locator(".note-fold textarea").fill("Written after it was saved")
        page.locator("#export-matter").focus()  # by the keyboard
        page.keyboard.press("ArrowDown")
        expect(page.locator("#export-matter-menu [role=menuitem]").first).to_be_focused()
        assert violations(page) == []
        page.keyboard.press("End")
        table = visited.saved(lambda: page.keyboard.press("Enter"))
        assert table.name.endswith("-Otter.csv")
        lines = io.StringIO(table.read_text(encoding="utf-8-sig"))
        assert next(lines).startswith("# rprs: matter=Otter; ")
        exported = list(csv.DictReader(lines))
        assert [row["id"] for row in exported] == [liked, *steered, disliked]
        assert exported[1]["note"] == "Written after it was saved"
        expect(page.locator("#export-matter")).to_be_focused()

        other = visited.context.new_page()  # another tab opens the same matter and saves it
        other.goto(server.url)
        other.locator("#open-matter").click()
        other.get_by_role("button", name="Otter").click()
        expect(other.locator("#hits > .hit").first).to_have_attribute("data-id", steered[0])
        expect(other.locator(".note-shown").first).to_have_text("Read this first#lease#urgent")
        expect(other.locator("#matter-head")).to_contain_text("Otter")
        other.locator("#save-matter").click()
        other.locator("#matter-notes").fill("From the other tab")
        other.locator("#save-on-server").click()
        expect(other.locator("#save-matter-dialog")).to_have_count(0)
        page.locator("#save-matter").click()  # the first tab is behind now
        page.locator("#matter-notes").fill("From the first tab")
        page.locator("#save-on-server").click()
        expect(page.locator("#matter-error")).to_contain_text("was saved elsewhere since you opened it")
        visited.expect_error("409")
    assert read_matter(folder / "Otter.rprs-matter").notes == "From the other tab"


@pytest.mark.slow
def test_a_matter_is_downloaded_and_opened_as_a_file(
    chrome: Browser, server: Server, searcher: Searcher, tmp_path: Path
) -> None:
    plain = [hit.id for hit in searcher.search(BRIEF)]
    with visit(chrome, server.url, bypass_csp=True) as visited:
        page = visited.search(text=QUERY)
        page.locator(f'.hit[data-id="{plain[2]}"] .mark-like').click()
        steered = [hit.id for hit in searcher.search(BRIEF, like=[plain[2]])]
        assert visited.shows(steered)
        page.locator("#save-matter").click()
        with page.expect_download() as downloading:
            page.locator("#save-as-file").click()
        path = tmp_path / "saved.rprs-matter"
        downloading.value.save_as(path)
        assert read_matter(path).searches[0].marks.like == (plain[2],)
        visited.open()
        page.locator("#open-matter").click()
        broken = tmp_path / "broken.rprs-matter"
        broken.write_text("{")
        page.locator("#matter-file").set_input_files(broken)
        expect(page.locator("#matter-error")).to_contain_text("broken.rprs-matter is damaged or not a matter")
        newer = tmp_path / "newer.rprs-matter"
        newer.write_text(json.dumps({**json.loads(path.read_text()), "version": 2}))
        page.locator("#matter-file").set_input_files(newer)
        expect(page.locator("#matter-error")).to_contain_text("was saved by a newer rprs (version 2)")
        visited.expect_error("422")
        page.locator("#matter-file").set_input_files(path)
        assert visited.shows(steered)
        page.locator(".remove-mark").click()
        assert visited.shows(plain)


def test_a_note_that_is_written_while_a_search_runs_is_kept(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(text=QUERY)
        waiting: list[Route] = []
        page.route("**/search*", lambda route: waiting.append(route))  # the next search waits until it may go on
        liked, *noted = (page.locator("#hits > .hit").nth(place) for place in (0, 1, 2))
        ids = [str(hit.get_attribute("data-id")) for hit in noted]
        liked.locator(".mark-like").click()
        for hit, words in zip(noted, ("Done", "Half a sent"), strict=True):  # the second is still being written
            hit.locator(".note-fold summary").click()
            hit.locator(".note-fold textarea").fill(words)
        assert len(waiting) == 1
        waiting[0].continue_()
        page.locator("#clear-marks").wait_for()
        for id, words in zip(ids, ("Done", "Half a sent"), strict=True):
            expect(page.locator(f'.hit[data-id="{id}"] .note-text')).to_have_text(words)
