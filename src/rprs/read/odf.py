"""OpenDocument texts, spreadsheets and presentations → one document.

Footnotes follow the text, as in Word documents. Deleted text of tracked changes and comments are not read.
"""

from __future__ import annotations

from collections.abc import Iterable

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.progress import Advance, no_op
from rprs.read.dates import iso_date
from rprs.read.package import Package
from rprs.read.paragraphs import Paragraphs, walk
from rprs.read.source import Source
from rprs.read.titles import embedded_title, slide_heading, styled_heading
from rprs.read.xml_tree import Element, inline, local

__all__ = ["read_odf"]

_DROPPED = frozenset("tracked-changes annotation note-citation forms scripts date-time page-number".split())
_MARKS = {"tab": " ", "s": " "}
_CLASS = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}class"
_NAME = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}name"


def read_odf(source: Source, package: Package) -> Document:
    """An OpenDocument file is one document; title, author and date come from its properties."""
    if b"encryption-data" in package.part("META-INF/manifest.xml"):
        raise ReadError("an encrypted file: save a copy that opens without a password")
    root = package.require("content.xml")
    body = next((element for element in root if local(element) == "body"), root)
    notes: list[Element] = []
    main = _text(body, notes, source.advance)
    text = "\n\n".join(filter(None, (main, *(_text(note, []) for note in notes))))
    properties = _properties(package)
    author = properties.get("initial-creator") or properties.get("creator", "")
    date = iso_date(properties.get("creation-date", ""))  # `date` is when it was last changed
    metadata: dict[str, Value] = {key: value for key, value in (("author", author), ("date", date)) if value}
    heading = _first_heading(body) or (slide_heading(text) if _is_talk(body) else "")
    title = embedded_title(properties.get("title", ""), source, text) or heading
    return Document(source.id, text, title, metadata)


def _properties(package: Package) -> dict[str, str]:
    root = package.xml("meta.xml")
    return {} if root is None else {local(one): (one.text or "").strip() for group in root for one in group}


def _first_heading(body: Element) -> str:
    headings = (element for element in body.iter() if local(element) == "h" or element.get(_CLASS) == "title")
    return next(filter(None, (styled_heading(_text(heading, [])) for heading in headings)), "")


def _is_talk(body: Element) -> bool:
    return any(local(element) == "presentation" for element in body)


def _text(root: Element, notes: list[Element], advance: Advance = no_op) -> str:
    """The text of an element; the bodies of its notes are added to `notes` instead."""

    def children(element: Element) -> Iterable[Element]:
        name = local(element)
        if name == "note-body" and element is not root:
            notes.append(element)
            return ()
        return () if name in _DROPPED else element

    text, depth, cells = Paragraphs(advance), 0, 0  # text outside of paragraphs is markup of the format
    for element, entering in walk(root, children):
        name = local(element)
        if name in ("p", "h"):
            depth += 1 if entering else -1
            if cells and not entering:
                text.write(" ")
            elif not cells:
                text.end()
        elif name == "table" and entering and element.get(_NAME) and _is_sheet(element):
            text.end()
            text.write(element.get(_NAME))
            text.end()
        elif name == "table-row":
            text.end()
        elif name in ("table-cell", "covered-table-cell"):
            cells += 1 if entering else -1
            if not entering:
                text.cell()
        elif name == "line-break" and entering:
            text.line()
        elif name in _MARKS and entering:
            text.write(_MARKS[name])
        opened = entering and name not in _DROPPED and not (name == "note-body" and element is not root)
        if depth and element is not root and (opened or not entering):
            for piece in inline(element, entering):
                text.write(piece)
        elif depth and entering and opened:
            text.write(element.text or "")
    return str(text)


def _is_sheet(table: Element) -> bool:
    parent = table.getparent()
    return parent is not None and local(parent) == "spreadsheet"
