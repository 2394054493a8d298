"""XML files → documents: patents (ST.36, ST.96, red book), articles (JATS) and XHTML, told apart by the root element.

Offices publish many patents in one file, one XML document after the other: each becomes a document of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from rprs.document import Document
from rprs.errors import ReadError
from rprs.progress import counted
from rprs.read import source as limits
from rprs.read.articles import is_article, read_article
from rprs.read.encoding import decode
from rprs.read.html import read_html
from rprs.read.patents import is_patent, read_patent
from rprs.read.source import Skipped, Source, buffered
from rprs.read.xml_tree import local, parse

__all__ = ["read_xml"]

_KNOWN = "patents in ST.36, ST.96 or the red book format, articles in JATS, and XHTML"
_DECLARATION = re.compile(rb"[ \t]*<\?xml\s")


def read_xml(source: Source) -> Iterator[Document | Skipped]:
    """The documents of an XML file of a supported vocabulary."""
    pieces = _pieces(source)
    first = next(pieces, b"")
    second = next(pieces, None)
    if second is None:
        yield from _read(source, first)
        return
    for number, piece in enumerate(counted(chain((first, second), pieces), source.path, "patents"), 1):
        try:
            for item in _read(source, piece):
                key = isinstance(item, Document) and (item.metadata.get("number") or number)
                yield replace(item, id=f"{source.id}#{key}") if isinstance(item, Document) else item
        except ReadError as error:
            yield Skipped(f"{source.path}#{number}", str(error))


def _pieces(source: Source) -> Iterator[bytes]:
    """The XML documents in a file, one after the other: each begins with a line `<?xml …`."""
    lines: list[bytes] = []
    size = 0
    for line in iter(lambda: source.stream.readline(limits.LIMIT + 1), b""):
        if _DECLARATION.match(line) and any(one.strip() for one in lines):
            yield b"".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
        if size > limits.LIMIT:
            raise ReadError(f"larger than {limits.LIMIT / 2**20:.0f} MB: split it into several documents")
    yield b"".join(lines)


def _read(source: Source, data: bytes) -> Iterator[Document | Skipped]:
    root = parse(data.lstrip() if not data.startswith((b"\xff\xfe", b"\xfe\xff")) else decode(data).encode())
    if is_patent(root):
        yield read_patent(source, root)
    elif is_article(root):
        yield read_article(source, root)
    elif local(root) == "html":
        yield from read_html(replace(source, stream=buffered(data)))
    else:
        raise ReadError(f"XML of an unknown kind, with the root element <{local(root)}>: supported are {_KNOWN}")
