"""Word documents (.docx) → one document: paragraphs, tables, text boxes, footnotes and endnotes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read import source as limits
from rprs.read.paragraphs import Paragraphs, walk
from rprs.read.source import Skipped, Source
from rprs.read.titles import embedded_title

__all__ = ["read_docx"]

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DROPPED = {  # duplicates: a text box for old programs, and text at the place from which it was moved
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    _WORD + "moveFrom",
}
_TEXT, _PARAGRAPH, _ROW, _CELL = (_WORD + tag for tag in ("t", "p", "tr", "tc"))
_MARKS = {_WORD + "tab": " ", _WORD + "noBreakHyphen": "-"}
_LINES = {_WORD + "br", _WORD + "cr"}


def read_docx(source: Source) -> Iterator[Document | Skipped]:
    """A Word file is one document; title, author and date come from its properties."""
    import docx
    from docx.oxml import parse_xml

    data = source.data()
    _check_size(data)
    word = docx.Document(io.BytesIO(data))
    notes = [
        parse_xml(relation.target_part.blob)
        for relation in word.part.rels.values()
        if relation.reltype.endswith(("/footnotes", "/endnotes"))
    ]
    text = "\n\n".join(filter(None, (_text(root) for root in (word.element.body, *notes))))
    properties = word.core_properties
    metadata: dict[str, Value] = {}
    if properties.author:
        metadata["author"] = properties.author
    if properties.created is not None:
        metadata["date"] = properties.created.date().isoformat()
    yield Document(source.id, text, embedded_title(properties.title or "", source, text), metadata)


def _check_size(data: bytes) -> None:
    """Reject an archive whose parts are too large; zipfile never extracts more than the declared sizes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(part.file_size for part in archive.infolist()) > limits.LIMIT:
            raise ReadError(
                f"larger than {limits.LIMIT / 2**20:.0f} MB after unpacking: split it into several documents"
            )


def _children(element: Any) -> Iterable[Any]:
    return () if element.tag in _DROPPED else element


def _text(root: Any) -> str:
    """The text of the XML tree itself, since python-docx omits content controls, text boxes and notes."""
    text, cells, first = Paragraphs(), 0, False
    for element, entering in walk(root, _children):
        tag = element.tag
        if tag == _TEXT and entering:
            text.write(element.text or "")
        elif tag == _PARAGRAPH:
            if not cells or (entering and not first):  # the first paragraph of a cell stays on the line of its row
                text.end()
            first = first and entering
        elif tag == _ROW:
            text.end()
        elif tag == _CELL:
            cells += 1 if entering else -1
            first = entering
            if not entering:
                text.cell()
        elif tag in _LINES and entering:
            text.line()
        elif tag in _MARKS and entering:
            text.write(_MARKS[tag])
    return str(text)
