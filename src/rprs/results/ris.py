"""Hits as references in RIS, which EndNote, Zotero, Mendeley and Citavi read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rprs.results.citation import Citation, citation_of
from rprs.results.hits import Hit
from rprs.results.one_line import describe_rank, provenance
from rprs.results.serialize import About

__all__ = ["write"]

_TYPE = {"article": "JOUR", "paper": "CPAPER", "case": "CASE", "patent": "PAT", "other": "GEN"}


def write(hits: Sequence[Hit], about: About) -> str:
    """One reference per hit; the first note has its rank and scores, the second its provenance."""
    records = [
        [*_tags(citation_of(hit)), ("N1", describe_rank(hit)), ("N1", f"rprs: {provenance(about)}")] for hit in hits
    ]
    return "\r\n".join(_record(tags) for tags in records)


def _record(tags: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{tag}  - {value}\r\n" for tag, value in (*tags, ("ER", "")) if value or tag == "ER")


def _tags(citation: Citation) -> Iterator[tuple[str, str]]:
    """The tags of a reference; empty ones are not written."""
    yield "TY", _TYPE[citation.kind]
    yield "ID", citation.id
    yield "TI", citation.title
    for author in citation.authors:
        yield "AU", author
    yield "PY", citation.year
    yield "DA", _day(citation.date)
    yield "T2", citation.within
    yield "JO", citation.within if citation.kind == "article" else ""
    yield "VL", citation.volume
    yield "IS", citation.issue
    first, _, last = citation.pages.replace("–", "-").partition("-")
    yield "SP", first.strip()
    yield "EP", last.strip("- ")
    yield "PB", citation.publisher
    yield {"case": "SV", "patent": "SN"}.get(citation.kind, "M1"), citation.number
    yield "DO", citation.doi
    yield "UR", citation.url
    yield "LA", citation.language


def _day(date: str) -> str:
    """`2016/03/31/`; an unknown day is left empty, and a year alone is in PY."""
    year, month, day = [*date.split("-"), "", ""][:3]
    return f"{year}/{month}/{day}/" if month else ""
