"""The search form in a real browser: files, text, documents from the index, progress and errors."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from rprs import Document, Searcher, read_one
from tests.support.browser import visit
from tests.support.cli import QUERY, TEXTS, sample_index
from tests.support.read_samples import pdf, word
from tests.support.server import TOKEN, Server, served
from tests.support.web_samples import scan

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LINES = QUERY.splitlines()
HTML = "<!doctype html><title>A dispute</title><body>" + "".join(f"<p>{line}</p>" for line in LINES)
RTF = r"{\rtf1\ansi\deff0 " + "".join(rf"{line}\par " for line in LINES) + "}"
FILES = {
    "dispute.pdf": pdf([LINES[:3], LINES[3:]]),
    "dispute.docx": word(*LINES, title="A dispute"),
    "dispute.html": HTML.encode(),
    "dispute.rtf": RTF.encode(),
    "dispute.txt": QUERY.encode(),
}
# Some seconds of work, to be cancelled or interrupted.
LONG = "\n\n".join(f"The {number}th tenant did not pay the rent to the owner." for number in range(20_000))
UNDER_WAY = re.compile(r"\d of [\d,]+ sentences")


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("ask"))


def attached(name: str, data: bytes) -> dict[str, Any]:
    """A file in memory."""
    return {"name": name, "mimeType": "", "buffer": data}


def expected_ids(searcher: Searcher, *seeds: Document) -> list[str]:
    return [hit.id for hit in searcher.search(seeds)]


# ---------------------------------------------------------------------------- queries


def test_files_of_every_type(chrome: Browser, server: Server, searcher: Searcher, tmp_path: Path) -> None:
    files = [tmp_path / name for name in FILES]
    for file in files:
        file.write_bytes(FILES[file.name])
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(files=files)
        expect(page.locator("#chips .chip-name")).to_have_text(list(FILES))
        visited.search()
        assert visited.ids() == expected_ids(searcher, *map(read_one, files))
        expect(page.locator("#summary")).to_contain_text(f"your documents: {len(files) * len(LINES)} sentences")


@pytest.mark.slow
def test_a_pasted_text_with_the_keyboard(chrome: Browser, server: Server, searcher: Searcher) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(text=QUERY)
        expect(page.locator("#text-note")).to_have_text(re.compile(r"^\d+ words$"))
        page.locator("#text").press("Control+Enter")
        page.locator("#hits").wait_for()
        assert visited.ids() == expected_ids(searcher, Document("query", QUERY))
        assert "rent" not in page.url  # what was pasted is not in the address
        expect(page.locator("#no-link")).to_be_visible()


@pytest.mark.slow
def test_a_document_from_the_index(chrome: Browser, server: Server, searcher: Searcher) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.open()
        field = page.locator("#find")
        field.fill("V.")
        expect(page.locator("#options [role=option]")).to_have_count(4)
        field.fill("otter HERON")
        expect(page.locator("#options [role=option]")).to_have_count(1)
        field.press("ArrowDown")
        field.press("Enter")
        expect(page.locator("#chips .chip-name")).to_have_text(["Heron v. Otter"])
        field.fill("dragon")
        expect(page.locator("#options-note")).to_contain_text("No document")
        page.locator("#submit").click()
        page.locator("#hits").wait_for()
        assert visited.ids() == expected_ids(searcher, searcher.index.document("heron-v-otter"))
        assert "id=heron-v-otter" in page.url


@pytest.mark.slow
def test_several_documents_are_combined(chrome: Browser, server: Server, searcher: Searcher, tmp_path: Path) -> None:
    file = tmp_path / "lease of a boat.txt"
    file.write_text(TEXTS["loan.txt"])
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(files=[file], text=QUERY, words=["finch", "moss"])
        chips = page.locator("#chips .chip-name")
        expect(chips).to_have_text([file.name, "Pasted text", "Finch v. Crane", "Moss v. Reed"])
        page.get_by_role("button", name="Remove Finch v. Crane").click()
        visited.search()
        seeds = [read_one(file), Document("query", QUERY), searcher.index.document("moss-v-reed")]
        assert visited.ids() == expected_ids(searcher, *seeds)
        assert "moss-v-reed" not in visited.ids()
        page.locator("#edit").click()
        expect(chips).to_have_count(3)
        page.locator("#clear").click()
        expect(chips).to_have_count(0)
        expect(page.locator("#text")).to_have_value("")


@pytest.mark.slow
def test_a_file_can_be_dropped_anywhere(chrome: Browser, server: Server) -> None:
    """Including on the results, which are replaced by a new query."""
    drop = """name => {
        const data = new DataTransfer();
        data.items.add(new File(["The roof leaks."], name));
        for (const kind of ["dragenter", "dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
    }"""
    with visit(chrome, server.url) as visited:
        page = visited.open()
        page.evaluate(drop, "roof.txt")
        expect(page.locator("#chips .chip-name")).to_have_text(["roof.txt"])
        visited.search()
        page.evaluate(drop, "another.txt")
        expect(page.locator("body")).to_have_attribute("data-view", "search")
        expect(page.locator("#chips .chip-name")).to_have_text(["another.txt"])


# ---------------------------------------------------------------------------- progress


@pytest.mark.slow
def test_progress_shows_counts(chrome: Browser, server: Server, searcher: Searcher) -> None:
    text = LONG[:200_000]
    with visit(chrome, server.url) as visited:
        page = visited.search(files=[attached("long.txt", text.encode())])
        messages = " | ".join(page.evaluate("window.progressMessages"))
    expected = searcher.search(Document("long.txt", text))
    stages = [
        r"Reading: 195 kB of 195 kB",
        rf"{expected.query_sentences:,} sentences",
        rf"{expected.candidates} candidates of 12 documents",
        r"(\d+) of \1 sentences compared( \| Finding matching passages: .*)?$",
    ]
    assert re.search(r" \| .*".join(stages), messages), messages


def test_cancel_stops_the_job_and_keeps_the_query(chrome: Browser, server: Server) -> None:
    with visit(chrome, server.url) as visited:
        page = visited.fill_form(files=[attached("long.txt", LONG.encode())], words=["moss"])
        page.locator("#submit").click()
        expect(page.locator(".progress [role=status]")).to_have_text(UNDER_WAY)
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".progress")).to_have_count(0)
        expect(page.locator("#chips .chip")).to_have_count(2)
        time.sleep(0.3)
        before = server.seconds()
        time.sleep(0.7)
        assert server.seconds() - before < 0.3
        page.get_by_role("button", name="Remove long.txt").click()
        visited.search()
        assert "moss-v-reed" not in visited.ids()


# ---------------------------------------------------------------------------- errors


@pytest.mark.slow
def test_invalid_input_is_reported_at_once(chrome: Browser, server: Server) -> None:
    """An empty file, an unsupported type, no input: without a request."""
    with visit(chrome, server.url) as visited:
        page = visited.open()
        files = {"empty.pdf": b"", "photo.heic": b"x", "good.txt": b"The roof leaks."}
        visited.fill_form(files=[attached(name, data) for name, data in files.items()])
        expect(page.locator("#problems li")).to_have_text(
            [re.compile("empty.pdf is empty"), re.compile("photo.heic .*PDF")]
        )
        expect(page.locator("#chips .chip-name")).to_have_text(["good.txt"])
        page.locator("#clear").click()
        expect(page.locator("#problems li")).to_have_count(0)
        page.locator("#submit").click()
        expect(page.locator("#problems li")).to_contain_text("Choose a document first")
        assert visited.api_requests == ["GET /info"]


@pytest.mark.slow
def test_errors_name_a_file_without_text(chrome: Browser, server: Server) -> None:
    files = {
        "scan.pdf": (scan(), "OCR"),
        "blank.txt": (b" \n ", "no text"),
        "torn.docx": (word("It leaks.")[:500], "torn"),
    }
    with visit(chrome, server.url) as visited:
        page = visited.open()
        for name, (data, words) in files.items():
            visited.fill_form(files=[attached(name, data)])
            page.locator("#submit").click()
            notice = page.locator("#search-error .notice")
            expect(notice).to_contain_text(name)
            expect(notice).to_contain_text(words)
            expect(page.locator("#chips .chip-name")).to_have_text([name])
            page.get_by_role("button", name=f"Remove {name}").click()
        visited.search(text=QUERY)


@pytest.mark.slow
def test_input_is_kept_when_the_server_stops(chrome: Browser, index_path: Path) -> None:
    with served(index_path) as first, visit(chrome, first.url) as visited:
        page = visited.fill_form(files=[attached("long.txt", LONG[:300_000].encode())], text=QUERY)
        page.locator("#submit").click()
        expect(page.locator(".progress [role=status]")).to_have_text(UNDER_WAY)
        first.process.send_signal(signal.SIGKILL)
        notice = page.locator("#search-error .notice")
        expect(notice).to_contain_text("stopped")
        expect(notice).to_contain_text("rprs serve made.rprs")
        expect(page.locator(".progress")).to_have_count(0)
        expect(page.locator("#text")).to_have_value(QUERY)
        visited.expect_error("ERR_|Failed to load")
        first.process.wait()
        with served(index_path, "--port", first.port):
            notice.get_by_role("button", name="Try again").click()
            page.locator("#hits").wait_for()
            expect(page.locator("#results-title")).to_contain_text("long")
            assert len(visited.ids()) == 10


@pytest.mark.slow
def test_a_token_is_requested_and_kept_for_the_tab(chrome: Browser, index_path: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(TOKEN)
    with served(index_path, "--token-file", token) as guarded, visit(chrome, guarded.url) as visited:
        page = visited.page
        page.goto(guarded.url)
        dialog = page.locator("#token-dialog[open]")
        for value in ("wrong", TOKEN):
            expect(dialog).to_be_visible()
            page.locator("#token").fill(value)
            page.locator("#token").press("Enter")
            expect(page.locator("#token-note")).to_contain_text("" if value == TOKEN else "not correct")
        expect(dialog).to_have_count(0)
        visited.search(words=["moss"])
        visited.expect_error("401")
        page.reload()
        page.locator("#hits").wait_for()
        expect(dialog).to_have_count(0)
        assert TOKEN not in page.url
        with visit(chrome, guarded.url) as other:
            other.page.goto(page.url)
            expect(other.page.locator("#token-dialog[open]")).to_be_visible()
            other.expect_error("401")
