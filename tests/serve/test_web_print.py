"""The side-by-side view on paper, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pypdfium2
import pytest

from rprs import Document
from tests.support.browser import visit
from tests.support.server import Server, served
from tests.support.web_samples import HARBOUR, ORCHARD, invent_sentences, paragraphs, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SHARED = invent_sentences(ORCHARD, 60)
LAST = {"mine": "Nobody may keep llamas.", "theirs": "Canoes are welcome."}
MINE = Document("mine", paragraphs([*SHARED, LAST["mine"]]), "My lease")
THEIRS = Document("theirs", paragraphs([*SHARED[::-1], LAST["theirs"]]), "Their lease")
OTHERS = [Document(f"other-{n}", paragraphs(invent_sentences(HARBOUR, 9, 20 + n)), f"Other {n}") for n in range(5)]
MARGIN = dict.fromkeys(("top", "right", "bottom", "left"), "1cm")


@pytest.fixture(scope="module")
def server(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(write_index(tmp_path_factory.mktemp("print") / "made.rprs", [MINE, THEIRS, *OTHERS])) as running:
        yield running


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("width", [1280, 390])
def test_both_texts_are_on_paper(chrome: Browser, server: Server, tmp_path: Path, paper: str, width: int) -> None:
    with visit(chrome, server.url, viewport={"width": width, "height": 800}) as visited:
        page = visited.open(f"/?id={MINE.id}&open={THEIRS.id}")
        page.locator(".aligned").wait_for()
        printed = on_paper(page, tmp_path / "both.pdf", paper)
        assert all(last in printed for last in LAST.values())


def on_paper(page: Page, file: Path, paper: str) -> str:
    page.pdf(path=file, format=paper, margin=MARGIN, print_background=True)  # type: ignore[arg-type]  # a plain dict
    with pypdfium2.PdfDocument(file) as sheets:
        return " ".join(" ".join(sheet.get_textpage().get_text_range() for sheet in sheets).split())
