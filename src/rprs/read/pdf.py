"""PDF → one document. A PDF has positions of glyphs but no paragraphs, which are inferred from the lines.

- A first or last line that occurs, digits aside, on more than half of the pages, and on at least three, is a running
  head, a footer or a page number, and is removed.
- A word hyphenated at the end of a line and continued in lower case is joined.
- A paragraph ends at a blank line, before a bullet, after a line that ends like a sentence and is clearly shorter
  than most lines of the page, and after a much shorter line if the next one does not begin in lower case.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.dates import iso_date
from rprs.read.source import Skipped, Source
from rprs.read.titles import embedded_title

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["paragraphs", "read_pdf"]


@contextmanager
def _silenced() -> Iterator[None]:
    """Suppress the log messages of pypdf about each irregularity in a file."""
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def read_pdf(source: Source) -> Iterator[Document | Skipped]:
    """A PDF is one document; title, author and date come from its properties."""
    with _silenced():
        document = _document(source)
    yield document


def _document(source: Source) -> Document:
    from pypdf import PdfReader

    pdf = PdfReader(io.BytesIO(source.data()))
    if pdf.is_encrypted and not pdf.decrypt(""):
        raise ReadError("an encrypted PDF: save a copy that opens without a password")
    pages = [page.extract_text().splitlines() for page in pdf.pages]
    text = paragraphs(pages)
    if not text:
        raise ReadError("No readable text: it looks like a scan. Run OCR first.")
    title, metadata = _properties(pdf)
    return Document(source.id, text, embedded_title(title, source, text), metadata)


def _properties(pdf: PdfReader) -> tuple[str, dict[str, Value]]:
    properties = pdf.metadata
    if properties is None:
        return "", {}
    values = {"author": (properties.author or "").strip(), "date": iso_date(str(properties.creation_date_raw or ""))}
    return (properties.title or "").strip(), {key: value for key, value in values.items() if value}


# ---------------------------------------------------------------------------- lines → paragraphs

_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’)\]]*$")
_BULLET = re.compile(r"[•▪●◦‣]\s")
_SHORT, _VERY_SHORT = 0.8, 0.6  # of the 90th percentile of the line lengths of a page


def paragraphs(pages: Sequence[Sequence[str]]) -> str:
    """The text of the pages, with a blank line between paragraphs."""
    done: list[str] = []
    current = ""
    for page in _without_running_lines([[line.strip() for line in page] for page in pages]):
        lengths = sorted(len(line) for line in page if line)
        usual = lengths[len(lengths) * 9 // 10] if lengths else 0
        for line, following in pairwise([*page, ""]):
            current = _joined(current, line) if line else current
            if _ends(line, following, usual):
                done.append(current)
                current = ""
    return "\n\n".join(part for part in (*done, current) if part)


def _ends(line: str, following: str, usual: int) -> bool:
    if not line or _BULLET.match(following):
        return True
    if len(line) < _SHORT * usual and _SENTENCE_END.search(line):
        return True
    return len(line) < _VERY_SHORT * usual and bool(following) and not following[0].islower()


def _joined(before: str, line: str) -> str:
    if re.search(r"[^\W\d_]-$", before) and line[0].islower():
        return before[:-1] + line
    return f"{before} {line}" if before else line


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    pages = [_trimmed(page) for page in pages]
    for edge in (0, 0, -1, -1):  # a header and a footer of up to two lines
        shapes = Counter(_shape(page[edge]) for page in pages if page)
        running = {shape for shape, times in shapes.items() if times >= 3 and times > len(pages) / 2}
        for page in pages:
            if page and _shape(page[edge]) in running:
                page.pop(edge)
        pages = [_trimmed(page) for page in pages]
    return pages


def _trimmed(page: list[str]) -> list[str]:
    """A page without blank lines at its ends, since a paragraph may continue on the next page."""
    full = [number for number, line in enumerate(page) if line]
    return page[full[0] : full[-1] + 1] if full else []


def _shape(line: str) -> str:
    return re.sub(r"\d+", "#", line)
