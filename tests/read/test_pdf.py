"""PDFs as programs and scanners write them: columns, line numbers, running heads, hyphens, and scanned pages."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from textwrap import wrap

import pytest
from reportlab.pdfgen.canvas import Canvas

from rprs.document import Document
from rprs.errors import UsageError
from rprs.read import Skipped, read, read_one
from rprs.read.ocr import engine, use_ocr
from tests.support.read_samples import PROSE, Picture, scanned_pages

WORDS = (
    "The tenant shall pay the rent on the first day of every month and shall keep the rooms in good repair. The "
    "landlord shall insure the house against fire and shall let the tenant enjoy it quietly. Neither of them may "
    "assign this agreement without the consent of the other one, which must not be withheld without a good reason."
)


class Drawing:
    """Lines of text at places of a page."""

    def __init__(self) -> None:
        self.out = io.BytesIO()
        self.canvas = Canvas(self.out, (595, 842), invariant=True)

    def line(self, x: float, y: float, text: str, size: float = 10) -> None:
        self.canvas.setFont("Helvetica", size)
        self.canvas.drawString(x, y, text)

    def save(self, folder: Path, name: str = "a.pdf") -> Path:
        self.canvas.save()
        (folder / name).write_bytes(self.out.getvalue())
        return folder / name


def skipped_of(path: Path) -> tuple[list[Document], list[Skipped]]:
    skipped: list[Skipped] = []
    return list(read(path, skipped=skipped.append)), skipped


@pytest.mark.parametrize("row_by_row", [False, True])
def test_two_columns_are_read_one_after_the_other(tmp_path: Path, row_by_row: bool) -> None:
    left, right = wrap(f"Left. {WORDS} {WORDS}", 48), wrap(f"Right. {WORDS} {WORDS}", 48)
    page = Drawing()
    page.line(60, 790, "A heading that goes across both of the columns of the page", 14)
    places = [(x, number, line) for x, lines in ((50, left), (310, right)) for number, line in enumerate(lines)]
    for x, number, line in sorted(places, key=lambda place: place[1]) if row_by_row else places:
        page.line(x, 760 - 13 * number, line)
    text = read_one(page.save(tmp_path)).text
    assert " ".join(text.split()) == (
        f"A heading that goes across both of the columns of the page Left. {WORDS} {WORDS} Right. {WORDS} {WORDS}"
    )


@pytest.mark.parametrize(("step", "x"), [(1, 40), (5, 300)])
def test_line_numbers_are_removed(tmp_path: Path, step: int, x: int) -> None:
    page = Drawing()
    for number, line in enumerate(wrap(f"{WORDS} In 1999 there were 28 rooms. " * 4, 80 if x == 40 else 40)[:28], 1):
        if number % step == 0:
            page.line(x, 780 - 24 * number, str(number))
        page.line(80, 780 - 24 * number, line)
    text = read_one(page.save(tmp_path)).text
    assert "1999" in text
    assert "28 rooms" in text
    assert not {"1", "7", "10", "15", "20", "25"} & set(text.split())


def test_of_the_heads_of_left_and_right_pages_the_first_ones_stay(tmp_path: Path) -> None:
    page = Drawing()
    for number in range(1, 9):
        page.line(60, 810, f"Lease {number}" if number % 2 else f"{number} Moss v. Reed")
        for row, line in enumerate(wrap(f"Page {'abcdefgh'[number - 1]} begins. {WORDS}", 80)):
            page.line(60, 760 - 14 * row, line)
        page.canvas.showPage()
    text = read_one(page.save(tmp_path)).text
    assert text.count("Moss v. Reed") == 1
    assert text.startswith("Lease 1\n\nPage a begins.")
    assert text.count("Lease") == 1
    assert text.count("begins.") == 8


def test_hyphens_at_line_ends(tmp_path: Path) -> None:
    page = Drawing()
    lines = ["A set-off is allowed. The ten-", "ant may use the right of set-", "off at any time he likes to"]
    for row, line in enumerate(lines):
        page.line(60, 760 - 14 * row, line)
    assert read_one(page.save(tmp_path)).text == (
        "A set-off is allowed. The tenant may use the right of set-off at any time he likes to"
    )


def test_the_title_is_the_heading_if_the_properties_have_none(tmp_path: Path) -> None:
    page = Drawing()
    page.line(60, 790, "Lease of a House", 18)
    for row, line in enumerate(wrap(WORDS, 80)):
        page.line(60, 740 - 14 * row, line)
    page.canvas.setTitle("untitled")
    path = page.save(tmp_path)
    document = read_one(path)
    assert document.title == "Lease of a House"
    assert "author" not in document.metadata  # it is "(anonymous)"


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(scanned_pages([PROSE, *[None] * 9]))
    (document,), (partly,) = skipped_of(path)
    assert (document.metadata["pages"], document.metadata["pages_without_text"]) == (10, 9)
    assert partly == Skipped(str(path), "pages without readable text: 9 of 10 (2–10); run OCR", partly=True)
    assert list(read(path, strict=True)) == [document]
    path.write_bytes(scanned_pages([PROSE, []]))  # a blank page is not a scan
    assert skipped_of(path)[1] == []
    path.write_bytes(scanned_pages([None, None]))
    assert [str(item) for item in skipped_of(path)[1]] == [
        f"{path}: No readable text: it looks like a scan. Run OCR first."
    ]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="needs Tesseract")
def test_scans_are_recognised_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "a.pdf"
    path.write_bytes(scanned_pages([["Typed text."], Picture(PROSE)], dpi=200))
    with use_ocr("auto"):
        (document,), skipped = skipped_of(path)
    assert skipped == []
    assert " ".join(document.text.split()) == " ".join(["Typed text.", *PROSE])
    assert document.metadata["ocr_pages"] == 1
    assert float(str(document.metadata["ocr_confidence"])) > 0.8
    assert document.metadata["ocr_engine"] == engine()
    monkeypatch.setenv("PATH", str(tmp_path))  # without Tesseract, what is stored is used
    with use_ocr("auto"):
        assert read_one(path) == document
    assert len([file for file in (tmp_path / "cache").rglob("*.json") if os.path.getsize(file)]) == 1  # noqa: PTH202


def test_ocr_has_three_modes() -> None:
    with pytest.raises(UsageError, match=r"OCR must be auto, never or always\. Got 'sometimes'"), use_ocr("sometimes"):
        pass
