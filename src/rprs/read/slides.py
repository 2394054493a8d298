"""PowerPoint presentations (.pptx) → one document: the text of the slides in their order, each with its notes."""

from __future__ import annotations

from collections.abc import Iterable

from rprs.document import Document
from rprs.read.package import Package
from rprs.read.paragraphs import Paragraphs, walk
from rprs.read.source import Source
from rprs.read.titles import embedded_title, slide_heading, styled_heading
from rprs.read.xml_tree import Element, local

__all__ = ["read_pptx"]

_MAIN = "ppt/presentation.xml"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DROPPED = frozenset(["fld", "Fallback"])  # numbers of slides and dates; a copy for old programs
_FURNITURE = frozenset(["sldNum", "dt", "ftr", "hdr", "sldImg"])  # placeholders that are the same on each slide


def read_pptx(source: Source, package: Package) -> Document:
    """A presentation is one document; its title is that of its properties or of the first slide that has one."""
    slides = [name for name in _slides(package) if name in package.names]
    parts, titles = [], []
    for name in slides:
        slide = package.require(name)
        parts.append(_text(slide))
        titles += [_text(shape) for shape in slide.iter() if _placeholder(shape) in ("title", "ctrTitle")]
        parts += [_text(package.xml(note)) for note in package.related(name, "notesSlide") if note in package.names]
    text = "\n\n".join(filter(None, parts))
    heading = next(filter(None, map(styled_heading, titles)), "") or slide_heading(text)
    title = embedded_title(package.properties.get("title", ""), source, text) or heading
    return Document(source.id, text, title, package.metadata())


def _slides(package: Package) -> list[str]:
    """The parts of the slides in the order of the presentation."""
    relations = package.relations(_MAIN)
    ids = [element.get(_RELATION) for element in package.require(_MAIN).iter() if local(element) == "sldId"]
    return list(dict.fromkeys(relations[id][1] for id in ids if id in relations))


def _placeholder(shape: Element) -> str:
    """The kind of placeholder of a shape; nothing for other elements."""
    if local(shape) != "sp":
        return ""
    kinds = (element.get("type", "body") for element in shape.iter() if local(element) == "ph")
    return str(next(kinds, ""))


def _children(element: Element) -> Iterable[Element]:
    return () if local(element) in _DROPPED or _placeholder(element) in _FURNITURE else element


def _text(root: Element) -> str:
    text, cells = Paragraphs(), 0
    for element, entering in walk(root, _children):
        name = local(element)
        if name == "t" and entering:
            text.write(element.text or "")
        elif name == "br" and entering:
            text.line()
        elif name == "p":
            if cells and not entering:
                text.write(" ")
            elif not cells:
                text.end()
        elif name == "tr":
            text.end()
        elif name == "tc":
            cells += 1 if entering else -1
            if not entering:
                text.cell()
    return str(text)
