"""PDF → one document. A PDF has positions of glyphs but no paragraphs, which are inferred from the lines.

- The places of the text give columns, line numbers and indented paragraphs (`pdf_layout`).
- Repeated running heads and feet are removed (`pdf_running`), and lines become paragraphs (`pdf_paragraphs`).
- Pages without text that show a picture are scans: they are read by OCR if it is switched on (`ocr`), or else counted
  and reported.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.progress import reading_progress
from rprs.read.dates import iso_date
from rprs.read.ocr import DPI, MAX_PIXELS, Picture, Recognised, engine, ocr_mode, recognise
from rprs.read.pdf_layout import Piece, heading, reading_order, without_line_numbers
from rprs.read.pdf_paragraphs import paragraphs
from rprs.read.source import Skipped, Source
from rprs.read.titles import embedded_title

__all__ = ["SCAN", "Page", "read_pdf"]

SCAN = "No readable text: it looks like a scan. Run OCR first."
_LOCK = Lock()  # PDFium must not be used by two threads at once
_WIDE = 1.5  # a gap of so many times the size of the font divides a line
_NOBODY = {"", "anonymous", "unknown", "unspecified"}  # what programs write in place of an author
_FEW = 100  # characters on a scan, such as a stamp
_COVERED = 0.4  # of the page by a picture makes it a scan
_HYPHENS = "\x02\ufffe"  # PDFium's marks of a hyphen at the end of a line, in place of that end
_LINE_ENDS = "\n\r" + _HYPHENS
_WORD = re.compile(rf"[^\n\r \t\xa0{_HYPHENS}]+[{_HYPHENS}]?|[{_LINE_ENDS}]")
_UNSURE = re.compile(r"[^\t\n\r -~\xa0-\u058f\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u218f\ufffe]")
_GARBLED = re.compile(r"[\x00-\x1f\ue000-\uf8ff\ufffd]")


@dataclass(frozen=True)
class Page:
    """The text of a page, and whether the page is a scan."""

    pieces: list[Piece]
    lines: list[str]
    is_scan: bool


def read_pdf(source: Source) -> Iterator[Document | Skipped]:
    """A PDF is one document; title, author and date come from its properties."""
    data = source.data()
    with _LOCK:
        yield from list(_items(source, data))


def _items(source: Source, data: bytes) -> Iterator[Document | Skipped]:
    pdf = _opened(data)
    try:
        pages = []
        with reading_progress.get()(f"reading {source.path}", len(pdf), "pages") as advance:
            for number in range(len(pdf)):
                pages.append(_page(pdf[number]))
                advance(1)
        properties = {key: " ".join(str(value).split()) for key, value in pdf.get_metadata_dict().items()}
        recognised = _recognised(source, pdf, pages)
    finally:
        pdf.close()
    lines = [recognised[number].lines if number in recognised else page.lines for number, page in enumerate(pages)]
    with reading_progress.get()(f"reading {source.path}", len(lines), "pages as paragraphs") as advance:
        text = paragraphs(lines, advance)
    scans = [number + 1 for number, page in enumerate(pages) if page.is_scan and not any(lines[number])]
    if not text:
        raise ReadError(SCAN)
    title = embedded_title(properties.get("Title", ""), source, text) or heading(pages[0].pieces)
    yield Document(source.id, text, title, _metadata(properties, len(pages), scans, list(recognised.values())))
    if scans:
        yield Skipped(source.path, f"pages without readable text: {_share(scans, len(pages))}; run OCR", partly=True)


def _metadata(
    properties: dict[str, str], pages: int, scans: Sequence[int], recognised: Sequence[Recognised]
) -> dict[str, Value]:
    author = properties.get("Author", "")
    metadata: dict[str, Value] = {"author": author} if author.strip("()").lower() not in _NOBODY else {}
    if date := iso_date(properties.get("CreationDate", "")):
        metadata["date"] = date
    if scans or recognised:
        metadata["pages"] = pages
    if scans:
        metadata["pages_without_text"] = len(scans)
    if recognised:
        metadata["ocr_pages"] = len(recognised)
        metadata["ocr_confidence"] = round(sum(page.confidence for page in recognised) / len(recognised), 3)
        metadata["ocr_engine"] = engine()
    return metadata


def _recognised(source: Source, pdf: Any, pages: Sequence[Page]) -> dict[int, Recognised]:
    """The text of scanned pages by OCR, by the number of the page, if OCR is wanted and installed."""
    mode = ocr_mode.get()
    wanted = [number for number, page in enumerate(pages) if page.is_scan or mode == "always"]
    if mode == "never" or not wanted or engine() is None:
        return {}
    pictures = (_picture(pdf[number]) for number in wanted)
    with reading_progress.get()(f"OCR of {source.path}", len(wanted), "pages") as advance:
        found = {}
        for number, page in zip(wanted, recognise(pictures), strict=True):
            found[number] = page
            advance(1)
    return {number: page for number, page in found.items() if any(page.lines)}


def _picture(page: Any) -> Picture:
    """A page in grey; PDFium may leave bytes at the ends of rows unused."""
    area = page.get_width() * page.get_height() or 1.0  # in points, of which an inch has 72
    bitmap = page.render(scale=min(DPI / 72, (0.99 * MAX_PIXELS / area) ** 0.5), grayscale=True)
    grey = np.ascontiguousarray(bitmap.to_numpy().reshape(bitmap.height, -1)[:, : bitmap.width])
    page.close()
    return grey


def _share(numbers: Sequence[int], total: int) -> str:
    """Some pages of a document: `9 of 10 (2–10)`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    shown = ", ".join("–".join(map(str, each)) for each in ranges[:10]) + (", …" if len(ranges) > 10 else "")
    return f"{len(numbers):,} of {total:,} ({shown})"


# ---------------------------------------------------------------------------- PDFium


def _opened(data: bytes) -> Any:
    import pypdfium2

    if b"%PDF-" not in data[:1024]:
        raise ReadError("can't be opened; it is not a PDF or is damaged")
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise ReadError("an encrypted PDF: save a copy that opens without a password") from error
        raise ReadError("can't be opened; it may be damaged") from error


def _page(page: Any) -> Page:
    text = page.get_textpage()
    pieces = list(_pieces(text))
    text.close()
    characters = "".join(piece.text for piece in pieces)
    garbled = _is_garbled(characters)
    is_scan = (len(characters) < _FEW or garbled) and _is_covered(page)
    width = page.get_width()
    page.close()
    pieces = [] if garbled else without_line_numbers(pieces)
    return Page(pieces, reading_order(pieces, width), is_scan)


def _is_garbled(text: str) -> bool:
    """Whether most characters have no meaning, as in a font without a table of characters."""
    return len(_GARBLED.findall(text)) > len(text) / 2


def _is_covered(page: Any) -> bool:
    """Whether a picture covers a large part of a page."""
    import pypdfium2.raw as pdfium

    area = page.get_width() * page.get_height() or 1.0
    for picture in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = picture.get_bounds() if hasattr(picture, "get_bounds") else picture.get_pos()
        if (right - left) * (top - bottom) >= _COVERED * area:
            return True
    return False


def _pieces(text: Any) -> Iterator[Piece]:
    """The text of a page in the order of the file, divided at the ends of lines and at wide gaps."""
    import pypdfium2.raw as pdfium

    left, right, bottom, top, base = (ctypes.c_double() for _ in range(5))
    raw = text.raw  # every call takes half as long again with the object around it
    words: list[str] = []
    start = end = line_base = size = 0.0
    for match in _WORD.finditer(_characters(text)):
        word, number = match[0], match.start()
        if word not in "\n\r":
            pdfium.FPDFText_GetCharOrigin(raw, number, left, base)
            here = left.value
            far = here - end > _WIDE * size if words else False
            if far and here - end > _WIDE * (pdfium.FPDFText_GetFontSize(raw, number) or 1.0):
                yield Piece(" ".join(words), start, end, line_base, size)
                words = []
            if not words:
                start, line_base = here, base.value
                size = _scaled(raw, number, pdfium.FPDFText_GetFontSize(raw, number) or 1.0)
            pdfium.FPDFText_GetCharBox(raw, match.end() - 1, left, right, bottom, top)
            end = right.value
            words.append(f"{word[:-1]}-" if word[-1] in _HYPHENS else word)
        if words and word[-1] in _LINE_ENDS:
            yield Piece(" ".join(words), start, end, line_base, size)
            words = []
    if words:
        yield Piece(" ".join(words), start, end, line_base, size)


def _characters(text: Any) -> str:
    """The characters of a page by their numbers, with PDFium's marks of hyphens.

    All of them at once take a hundredth of the time of one by one. The result is the same as long as none is left out
    or replaced, as PDFium does with controls and with writing from right to left.
    """
    import pypdfium2.raw as pdfium

    raw, count, get_code = text.raw, text.count_chars(), pdfium.FPDFText_GetUnicode
    buffer = (ctypes.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(raw, 0, count, buffer) - 1
    characters = bytes(buffer)[: 2 * max(written, 0)].decode("utf-16-le", "replace")
    if len(characters) == written == count and not _UNSURE.search(characters):
        return re.sub("\ufffe", lambda match: chr(get_code(raw, match.start())), characters)
    return "".join([chr(get_code(raw, number)) for number in range(count)])


def _scaled(text: Any, number: int, size: float) -> float:
    """The size of the font on the page: many programs use a font of size 1 and enlarge it by a matrix."""
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    if pdfium.FPDFText_GetMatrix(text, number, matrix):
        return float(size * (matrix.c**2 + matrix.d**2) ** 0.5) or 1.0
    return size
