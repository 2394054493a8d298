"""A reload keeps the query of a tab, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import visit
from tests.support.cli import QUERY, sample_index
from tests.support.read_samples import pdf
from tests.support.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A browser whose tabs can store fewer characters than the query has.
LITTLE_STORAGE = """const setItem = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, value) {
    if (value.length > 400) throw new DOMException("full", "QuotaExceededError");
    setItem.call(this, key, value);
};"""


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("reload"))


def upload(name: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "", "buffer": pdf([QUERY.splitlines()])}


@pytest.mark.slow
def test_pasted_text_in_the_form_survives_a_reload(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(text=QUERY, words=["moss"])
        page.locator("#search-options > summary").click()
        page.locator("#search-filter-k").select_option("5")
        expect(page.locator("#search-options-title")).to_contain_text("5 results")
        page.reload()
        expect(page.locator("#text")).to_have_value(QUERY)
        expect(page.locator("#chips .chip-name")).to_have_text(["Pasted text", "Moss v. Reed"])
        expect(page.locator("#search-options-title")).to_contain_text("5 results")
        page.locator("#clear").click()
        page.reload()
        page.locator("#search-form:not([inert])").wait_for()
        expect(page.locator("#text")).to_have_value("")


def test_the_text_of_an_upload_survives_a_reload(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.search(files=[upload("dispute.pdf")], text="The roof leaks.")
        ids, title = visited.ids(), page.locator("#results-title").inner_text()
        page.reload()
        assert visited.shows(ids)
        expect(page.locator("#results-title")).to_have_text(title)
        page.locator("#filter-k").select_option("5")
        assert visited.shows(ids[:5])
        page.reload()
        assert visited.shows(ids[:5])
        page.go_back()
        assert visited.shows(ids)
        page.locator("#edit").click()
        expect(page.locator("#chips .chip")).to_have_count(2)
        page.reload()
        expect(page.locator("#chips .chip")).to_have_count(2)
        visited.search()
        assert visited.ids() == ids


@pytest.mark.slow
def test_files_that_were_not_read_yet_are_named_after_a_reload(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(files=[upload("dispute.pdf")], text=QUERY)
        page.reload()
        expect(page.locator("#error .notice")).to_have_text("dispute.pdf isn't stored. Please add it again.")
        expect(page.locator("#text")).to_have_value(QUERY)


@pytest.mark.slow
def test_a_query_that_is_too_large_to_keep_says_so(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        visited.context.add_init_script(LITTLE_STORAGE)
        page = visited.search(text=QUERY)
        expect(page.locator("#not-kept")).to_contain_text("too large")
        page.reload()
        expect(page.locator("#error .notice")).to_have_text("Your file isn't stored. Please add it again.")
        expect(page.locator("#search-form")).to_be_visible()
