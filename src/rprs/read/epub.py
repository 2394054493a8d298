"""EPUB books → one document: the chapters in reading order."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.dates import iso_date
from rprs.read.html import html_text
from rprs.read.package import Package
from rprs.read.source import Source
from rprs.read.titles import embedded_title
from rprs.read.xml_tree import Element, local

__all__ = ["read_epub"]


def read_epub(source: Source, package: Package) -> Document:
    """A book is one document; title, author and date come from its package file."""
    container = package.require("META-INF/container.xml")
    paths = [element.get("full-path", "") for element in container.iter() if local(element) == "rootfile"]
    book = package.xml(paths[0]) if paths else None
    if book is None:
        raise ReadError("an EPUB file without a list of its chapters; it may be damaged")
    files = {element.get("id"): element.get("href", "") for element in book.iter() if local(element) == "item"}
    order = [files.get(element.get("idref"), "") for element in book.iter() if local(element) == "itemref"]
    folder = posixpath.dirname(paths[0])
    names = (posixpath.normpath(posixpath.join(folder, unquote(href))) for href in order if href)
    chapters = [html_text(package.part(name)) for name in dict.fromkeys(names) if name in package.names]
    text = "\n\n".join(filter(None, chapters))
    facts: dict[str, list[str]] = {}
    for element in book.iter():
        if local(element) in ("title", "creator", "date") and (element.text or "").strip() and not _is_change(element):
            facts.setdefault(local(element), []).append(" ".join(element.text.split()))
    values = {"author": "; ".join(facts.get("creator", [])), "date": iso_date(next(iter(facts.get("date", [])), ""))}
    metadata: dict[str, Value] = {key: value for key, value in values.items() if value}
    title = next(iter(facts.get("title", [])), "")
    # The title of a book is on its cover, which may be a picture, so it need not agree with the text.
    return Document(source.id, text, embedded_title(title, source, f"{title}\n{text}"), metadata)


def _is_change(element: Element) -> bool:
    """Whether an element is the date of a change: EPUB 2 says so in `opf:event`."""
    return any(name.rpartition("}")[2] == "event" and value == "modification" for name, value in element.items())
