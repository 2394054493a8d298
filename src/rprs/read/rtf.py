r"""RTF → one document, by striprtf, after paragraphs and cells have been marked in the source.

striprtf turns both `\par` and `\line` into one newline, and the end of a cell into a bar as in the text itself.
Therefore the source is changed first, so that a paragraph ends with two newlines and a cell with a tab.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.dates import iso_date
from rprs.read.encoding import STRAY, detect
from rprs.read.source import Skipped, Source
from rprs.read.titles import embedded_title

__all__ = ["read_rtf"]

_WORD = re.compile(r"\\(?:\\|(par|sect|page|row|cell|nestcell|fldinst)(?![a-zA-Z])-?\d* ?)")
_MARKED = {
    "cell": r"\tab ",
    "nestcell": r"\tab ",
    "fldinst": r"\fldtype ",  # avoids striprtf's slow search for links; the text of the link is elsewhere
}
_PAGE = re.compile(rb"\\ansicpg(\d{3,5})")
_INFO = re.compile(r"\{\\(title|author) ?([^{}]*)\}")
_CREATED = re.compile(r"\\creatim\\yr(\d{4})\\mo(\d\d?)\\dy(\d\d?)")


def read_rtf(source: Source) -> Iterator[Document | Skipped]:
    """An RTF file is one document; title, author and date come from its information group."""
    data = source.data()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ReadError(r"not an RTF file, or damaged: it does not begin with {\rtf")
    page = _PAGE.search(data[:4096])
    rtf = data.decode(detect(data.replace(b"\0", b""), f"cp{page[1].decode()}" if page else "cp1252"), STRAY)
    info = {match[1]: _plain(match[2]) for match in _INFO.finditer(rtf[: 2**16])}
    metadata: dict[str, Value] = {"author": info["author"]} if info.get("author") else {}
    if created := _CREATED.search(rtf[: 2**16]):
        year, month, day = created.groups()
        if date := iso_date(f"{year}-{month:0>2}-{day:0>2}"):
            metadata["date"] = date
    marked = _WORD.sub(lambda word: _MARKED.get(word[1], r"\par\par ") if word[1] else word[0], rtf)
    text = re.sub(r"[ \t]*\n\s*\n\s*", "\n\n", _to_text(marked)).strip()
    yield Document(source.id, text, embedded_title(info.get("title", ""), source, text), metadata)


def _to_text(rtf: str) -> str:
    from striprtf.striprtf import rtf_to_text

    text: str = rtf_to_text(rtf, errors="replace")  # type: ignore[no-untyped-call]  # striprtf has no types
    return text


def _plain(escaped: str) -> str:
    return _to_text(r"{\rtf1 " + escaped + "}").strip()
