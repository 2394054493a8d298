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
    from playwright.sync_api import Browser, Page

SECRET = f"The needle is under the third stone. {QUERY}"
NO_DATABASE = (
    "Object.defineProperty(window, 'indexedDB', {get() { throw new DOMException('denied', 'SecurityError'); }});"
)
OPEN = """async (names, mode, act) => {
    const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const database = await done(indexedDB.open("rprs"));
    if (!database.objectStoreNames.length) return (database.close(), indexedDB.deleteDatabase("rprs"), 0);
    const answer = await act(database.transaction(names, mode), done);
    database.close();
    return answer;
}"""
PARTS = f"() => ({OPEN})(['parts'], 'readonly', (transaction, done) => done(transaction.objectStore('parts').count()))"
# Whether a word is in any stored part as it is.
PLAIN = f"""(word) => ({OPEN})(['parts'], 'readonly', async (transaction, done) =>
    (await done(transaction.objectStore('parts').getAll()))
        .some(({{data}}) => new TextDecoder().decode(data).includes(word)))"""
# All tabs were last seen two days ago.
A_DAY_LATER = f"""() => ({OPEN})(['tabs'], 'readwrite', async (transaction, done) => {{
    const tabs = transaction.objectStore('tabs');
    for (const tab of await done(tabs.getAllKeys())) await done(tabs.put(Date.now() - 2 * 86_400_000, tab));
}})"""
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


def test_files_that_were_not_read_yet_survive_a_reload(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(files=[upload("dispute.pdf"), upload("reply.pdf")], text=QUERY)
        page.get_by_role("button", name="Remove reply.pdf").click()
        wait_for_parts(page, 1)
        page.reload()
        expect(page.locator("#chips .chip-name")).to_have_text(["dispute.pdf", "Pasted text"])
        expect(page.locator("#error .notice")).to_have_count(0)
        visited.search()
        expect(page.locator("#results-title")).to_contain_text("dispute")


@pytest.mark.parametrize(
    ("words", "script", "parts"),
    [
        pytest.param(10, LITTLE_STORAGE, 2, id="little storage"),
        pytest.param(500_000, "", 3, id="5.5 million characters", marks=pytest.mark.slow),
    ],
)
def test_queries_larger_than_the_storage_of_a_tab_survive_a_reload(
    chrome: Browser, server: Server, words: int, script: str, parts: int
) -> None:
    """Two files, one after the other in the history; what is in the form is kept, too, if it is long."""
    with visit(chrome, server.url) as visited:
        visited.context.add_init_script(script)
        page = visited.search(files=[long_text("first.txt", words)])
        first = visited.ids()
        page.locator("#edit").click()
        page.get_by_role("button", name="Remove first").click()
        visited.search(files=[long_text("second.txt", words)], text=QUERY)
        second, title = visited.ids(), page.locator("#results-title").inner_text()
        wait_for_parts(page, parts)
        expect(page.locator("#not-kept")).to_be_hidden()
        page.reload()
        assert visited.shows(second)
        expect(page.locator("#results-title")).to_have_text(title)
        page.locator("#edit").click()
        expect(page.locator("#chips .chip-name")).to_have_text(["second", "Pasted text"])
        page.go_back()
        assert visited.shows(second)
        page.go_back()
        expect(page.locator("#search-form")).to_be_visible()
        page.go_back()
        expect(page.locator("#results-title")).to_have_text("first")
        page.reload()
        assert visited.shows(first)


def test_stored_files_are_encrypted_and_deleted_when_their_tab_is_gone(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(files=[{"name": "secret.txt", "mimeType": "text/plain", "buffer": SECRET.encode()}])
        wait_for_parts(page, 1)
        assert page.evaluate(PLAIN, "needle") is False
        assert page.evaluate("Object.values(sessionStorage).join().includes('needle')") is False
        other = visited.context.new_page()
        other.goto(server.url)
        other.evaluate(A_DAY_LATER)
        other.reload()  # the tab of the file is still there
        other.locator("#search-form:not([inert])").wait_for()
        assert other.evaluate(PARTS) == 1
        page.close()
        other.evaluate(A_DAY_LATER)
        other.reload()
        wait_for_parts(other, 0)


@pytest.mark.slow
def test_without_a_database_files_are_named_after_a_reload(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        visited.context.add_init_script(NO_DATABASE)
        page = visited.fill_form(files=[upload("dispute.pdf")], text=QUERY)
        page.reload()
        expect(page.locator("#error .notice")).to_have_text("dispute.pdf isn't stored. Please add it again.")
        expect(page.locator("#text")).to_have_value(QUERY)


@pytest.mark.slow
def test_a_query_that_is_too_large_to_keep_says_so(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        visited.context.add_init_script(NO_DATABASE + LITTLE_STORAGE)
        page = visited.search(text=QUERY)
        expect(page.locator("#not-kept")).to_contain_text("this size")
        page.reload()
        expect(page.locator("#error .notice")).to_have_text("Your file isn't stored. Please add it again.")
        expect(page.locator("#search-form")).to_be_visible()


def long_text(name: str, words: int) -> dict[str, Any]:
    text = f"{QUERY}\n{' '.join(['lighthouse'] * words)}"
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def wait_for_parts(page: Page, number: int) -> None:
    page.wait_for_function(f"async () => await ({PARTS})() === {number}")
