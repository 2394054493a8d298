"""Articles in JATS (PubMed Central and many publishers) → documents: title, abstract, body and notes."""

from __future__ import annotations

from collections.abc import Iterator

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.patents import markup_text
from rprs.read.source import Source
from rprs.read.xml_tree import Element, local

__all__ = ["is_article", "read_article"]


def is_article(root: Element) -> bool:
    """Whether an XML document is a JATS article."""
    return local(root) == "article" and any(local(child) in ("front", "front-stub", "body") for child in root)


def read_article(source: Source, root: Element) -> Document:
    """The document of an article; references are not part of its text."""
    front = next((child for child in root if local(child) in ("front", "front-stub")), root)
    title = " ".join(next((markup_text(one) for one in _all(front, "article-title")), "").split())
    abstracts = [markup_text(one) for one in _all(front, "abstract")]
    body = [markup_text(child) for child in root if local(child) == "body"]
    notes = [markup_text(one) for child in root if local(child) == "back" for one in _all(child, "fn", "ack", "app")]
    text = "\n\n".join(filter(None, (title, *abstracts, *body, *notes)))
    if not text:
        raise ReadError("an article without title, abstract and body")
    return Document(source.id, text, title, _metadata(front))


def _all(root: Element, *names: str) -> Iterator[Element]:
    return (element for element in root.iter() if local(element) in names)


def _metadata(front: Element) -> dict[str, Value]:
    dates = sorted(filter(None, map(_date, _all(front, "pub-date"))))
    contributors = (one for one in _all(front, "contrib") if one.get("contrib-type", "author") == "author")
    names = filter(None, map(_person, contributors))
    ids = {one.get("pub-id-type", ""): (one.text or "").strip() for one in _all(front, "article-id")}
    facts = {
        "date": dates[0] if dates else "",
        "author": "; ".join(names),
        "journal": next((" ".join(markup_text(one).split()) for one in _all(front, "journal-title")), ""),
        "doi": ids.get("doi", ""),
        "pmid": ids.get("pmid", ""),
    }
    return {key: value for key, value in facts.items() if value}


def _date(element: Element) -> str:
    """The date as far as it is given: a year, a month or a day."""
    parts = {local(child): (child.text or "").strip() for child in element}
    year, month, day = (parts.get(name, "") for name in ("year", "month", "day"))
    if not (len(year) == 4 and year.isdecimal()):
        return ""
    if not (month.isdecimal() and 1 <= int(month) <= 12):
        return year
    return (
        f"{year}-{int(month):02d}-{int(day):02d}"
        if day.isdecimal() and 1 <= int(day) <= 31
        else f"{year}-{int(month):02d}"
    )


def _person(element: Element) -> str:
    parts = {local(child): "".join(child.itertext()).strip() for child in element.iter()}
    return ", ".join(filter(None, (parts.get("surname"), parts.get("given-names")))) or parts.get("collab", "")
