"""XML → trees, without opening anything that the XML refers to and without expanding entities that it declares."""

from __future__ import annotations

from collections.abc import Iterator
from html.entities import html5
from typing import Any

from rprs.errors import ReadError

__all__ = ["Element", "inline", "local", "parse"]

Element = Any  # lxml has no types


def parse(data: bytes) -> Element:
    """The root element; XML that is not well-formed is a `ReadError`."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ReadError(f"not readable XML: {' '.join(str(error.msg).split())}") from error  # libxml2 breaks some lines


def local(element: Element) -> str:
    """The name of an element without its namespace; nothing for comments and processing instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def inline(element: Element, entering: bool) -> Iterator[str]:
    """The text directly after the start of an element, or directly after its end, as `walk` visits it."""
    if not entering:
        yield element.tail or ""
    elif isinstance(element.tag, str):
        yield element.text or ""
    elif (name := getattr(element, "name", None)) is not None:  # an entity of a DTD that is not loaded
        yield html5.get(f"{name};", " ")
