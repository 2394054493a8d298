"""Word documents (.docx) → one document: paragraphs, tables, text boxes, footnotes and endnotes.

Inserted text of tracked changes is read, deleted text is not.
"""

from __future__ import annotations

from collections.abc import Iterable

from rprs.document import Document
from rprs.progress import Advance, no_op
from rprs.read.package import Package
from rprs.read.paragraphs import Paragraphs, walk
from rprs.read.source import Source
from rprs.read.titles import HEADING_STYLE, embedded_title, styled_heading
from rprs.read.xml_tree import Element, parse

__all__ = ["read_docx"]

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_DROPPED = {  # duplicates: a text box for old programs, and text at the place from which it was moved
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    _WORD + "moveFrom",
}
_TEXT, _PARAGRAPH, _ROW, _CELL = (_WORD + tag for tag in ("t", "p", "tr", "tc"))
_MARKS = {_WORD + "tab": " ", _WORD + "noBreakHyphen": "-"}
_LINES = {_WORD + "br", _WORD + "cr"}
_MAIN = "word/document.xml"


def read_docx(source: Source, package: Package) -> Document:
    """A Word file is one document; title, author and date come from its properties."""
    body = _xml(package, _MAIN)
    notes = [_xml(package, name) for kind in ("footnotes", "endnotes") for name in package.related(_MAIN, kind)]
    text = "\n\n".join(filter(None, (_text(root, source.advance) for root in (body, *notes) if root is not None)))
    title = embedded_title(package.properties.get("title", ""), source, text) or _first_heading(package, body)
    return Document(source.id, text, title, package.metadata())


def _xml(package: Package, name: str) -> Element | None:
    """A part in the usual namespace; files of the strict variant of the format have another."""
    data = package.part(name).replace(_STRICT, _WORD[1:-1].encode())
    return parse(data) if data else None


def _first_heading(package: Package, body: Element) -> str:
    """The text of the first paragraph in a heading style; styles have English names in all languages."""
    names: dict[str, str] | None = None
    for paragraph in body.iter(_PARAGRAPH):
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        if style is None:
            continue
        if names is None:  # only now: the styles are often the largest part of a file
            names = _style_names(package)
        is_heading = HEADING_STYLE.match(names.get(style.get(_WORD + "val"), ""))
        if is_heading and (heading := styled_heading(_text(paragraph))):
            return heading
    return ""


def _style_names(package: Package) -> dict[str, str]:
    """The names of styles by their ids."""
    styles = _xml(package, "word/styles.xml")
    return {} if styles is None else {style.get(_WORD + "styleId"): _style_name(style) for style in styles}


def _style_name(style: Element) -> str:
    name = style.find(_WORD + "name")
    return "" if name is None else name.get(_WORD + "val", "")


def _children(element: Element) -> Iterable[Element]:
    return () if element.tag in _DROPPED else element


def _text(root: Element, advance: Advance = no_op) -> str:
    text, cells, first = Paragraphs(advance), 0, False
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
