"""PDF → one document. A PDF has places of glyphs, no paragraphs: these are guessed from the lines.

- A first or last line that, digits aside, stands on more than half of at least three pages is a running head,
  a foot or a page number, and goes.
- A word cut by a hyphen at the end of a line, and going on in lower case, is joined.
- A paragraph ends at a blank line, before a bullet, after a line that ends like a sentence and is clearly shorter
  than the lines of its page are, and after one that is much shorter if the next does not begin in lower case.
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

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["paragraphs", "read_pdf"]


@contextmanager
def _hushed() -> Iterator[None]:
    """pypdf tells the log of each oddity of a file; a user wants the text, or the reason why not."""
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
    """A PDF is one document; title, author and date are those of its properties."""
    with _hushed():
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
        raise ReadError(f"a PDF without text on its {len(pages)} page(s): a scan? run OCR first")
    return Document(source.id, text, *_properties(pdf))


def _properties(pdf: PdfReader) -> tuple[str, dict[str, Value]]:
    said = pdf.metadata
    if said is None:
        return "", {}
    found = {"author": (said.author or "").strip(), "date": iso_date(str(said.creation_date_raw or ""))}
    return (said.title or "").strip(), {key: value for key, value in found.items() if value}


# ---------------------------------------------------------------------------- lines → paragraphs

_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’)\]]*$")
_BULLET = re.compile(r"[•▪●◦‣]\s")
_SHORT, _VERY_SHORT = 0.8, 0.6  # of the length that nine in ten lines of a page do not pass


def paragraphs(pages: Sequence[Sequence[str]]) -> str:
    """The lines of the pages as text, with a blank line after each paragraph."""
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
    for edge in (0, 0, -1, -1):  # a head and a foot of up to two lines
        seen = Counter(_shape(page[edge]) for page in pages if page)
        running = {shape for shape, times in seen.items() if times >= 3 and times > len(pages) / 2}
        for page in pages:
            if page and _shape(page[edge]) in running:
                page.pop(edge)
        pages = [_trimmed(page) for page in pages]
    return pages


def _trimmed(page: list[str]) -> list[str]:
    """A page without the blank lines at its ends: a paragraph may go on over the page's end."""
    full = [number for number, line in enumerate(page) if line]
    return page[full[0] : full[-1] + 1] if full else []


def _shape(line: str) -> str:
    return re.sub(r"\d+", "#", line)
