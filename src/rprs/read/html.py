"""HTML → one document: the text of its blocks, without scripts and navigation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rprs.document import Document, Value
from rprs.read.dates import iso_date
from rprs.read.encoding import decode
from rprs.read.paragraphs import Paragraphs, walk
from rprs.read.source import Skipped, Source
from rprs.read.titles import embedded_title

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

__all__ = ["html_text", "read_html"]

_DROPPED = frozenset(
    "head script style noscript template nav svg iframe object canvas button select input textarea".split()
)
_DROPPED_ROLES = frozenset("navigation banner contentinfo search".split())
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main ol p pre section summary table tbody tfoot "
    "thead tr ul".split()
)
_DATES = (
    *("article:published_time", "citation_publication_date", "dcterms.issued", "dcterms.date", "dcterms.created"),
    *("dc.date.issued", "dc.date", "datepublished", "date"),
)
_AUTHORS = ("author", "citation_author", "dc.creator", "dcterms.creator", "article:author")
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)


def read_html(source: Source) -> Iterator[Document | Skipped]:
    """A page is one document. Its title is the page title if it suits the page, or else the first heading."""
    tree = _parse(source.data())
    text = _text(tree)
    title = embedded_title(_line(tree.css_first("title")), source, text) or _line(tree.css_first("h1"))
    yield Document(source.id, text, title, _metadata(tree))


def html_text(data: bytes | str) -> str:
    """The text of a page: the chapter of a book, or the body of a message."""
    return _text(_parse(data))


def _parse(data: bytes | str) -> LexborHTMLParser:
    from selectolax.lexbor import LexborHTMLParser

    if isinstance(data, str):
        return LexborHTMLParser(_bounded(data))
    charset = _CHARSET.search(data[:4096])
    return LexborHTMLParser(_bounded(decode(data, charset[1].decode("ascii") if charset else "")))


_DEPTH = 1_000  # of elements inside of each other: the time of the parser grows with the square of the depth
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)[^<>]*>")
_NOT_NESTED = frozenset(  # elements that have no content, or that the next one of their kind closes
    "p li td th tr tbody thead tfoot option optgroup dd dt br hr img input meta link base area col embed source track "
    "wbr param html head body title script style".split()
)


def _bounded(page: str) -> str:
    """The page without the tags of elements that are nested too deeply; their text stays."""
    if page.count("<") <= _DEPTH:
        return page
    depth = 0

    def kept(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag[2].lower() in _NOT_NESTED:
            return tag[0]
        depth = max(0, depth + (-1 if tag[1] else 1))
        return tag[0] if depth + bool(tag[1]) <= _DEPTH else " "

    return _TAG.sub(kept, page)


def _line(node: LexborNode | None) -> str:
    return "" if node is None else " ".join(node.text().split())


def _metadata(tree: LexborHTMLParser) -> dict[str, Value]:
    properties: dict[str, str] = {}
    for meta in tree.css("meta[content]"):
        name = meta.attributes.get("name") or meta.attributes.get("property") or meta.attributes.get("itemprop") or ""
        properties.setdefault(name.lower(), (meta.attributes.get("content") or "").strip())
    date = next(filter(None, (iso_date(properties.get(name, "")) for name in _DATES)), "")
    author = next(filter(None, (properties.get(name) for name in _AUTHORS)), "")
    return {key: value for key, value in (("date", date), ("author", author)) if value}


def _children(node: LexborNode) -> Iterable[LexborNode]:
    if node.tag == "-text":
        return ()
    if node.tag in _DROPPED or node.attributes.get("role") in _DROPPED_ROLES or "hidden" in node.attributes:
        return ()
    if node.tag == "footer" and node.parent is not None and node.parent.tag == "body":
        return ()  # the footer of the page; the footer of an article contains its footnotes
    return node.iter(include_text=True)


def _text(tree: LexborHTMLParser) -> str:
    if tree.body is None:
        return ""
    text, verbatim = Paragraphs(), 0
    for node, entering in walk(tree.body, _children):
        tag = node.tag
        if tag == "-text":
            if entering:
                (text.verbatim if verbatim else text.write)(node.text_content or "")
        elif tag in _BLOCKS:
            text.end()
            verbatim += (1 if entering else -1) if tag == "pre" else 0
        elif tag == "br" and entering:
            text.line()
        elif tag in ("td", "th") and not entering:
            text.cell()
    return str(text)
