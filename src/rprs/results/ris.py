"""Hits as references in RIS, which EndNote, Zotero, Mendeley and Citavi read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rprs.results.citation import Citation, cited
from rprs.results.hits import Hit
from rprs.results.prose import provenance, standing
from rprs.results.serialize import About

__all__ = ["write"]

_TYPE = {"article": "JOUR", "paper": "CPAPER", "case": "CASE", "patent": "PAT", "other": "GEN"}


def write(hits: Sequence[Hit], about: About) -> str:
    """A reference a hit; the first note says where the hit stands, the second what that depends on."""
    records = [[*_tags(cited(hit)), ("N1", standing(hit)), ("N1", f"rprs: {provenance(about)}")] for hit in hits]
    return "\r\n".join(_record(tags) for tags in records)


def _record(tags: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{tag}  - {value}\r\n" for tag, value in (*tags, ("ER", "")) if value or tag == "ER")


def _tags(found: Citation) -> Iterator[tuple[str, str]]:
    """The tags of a reference; those without a value are not written."""
    yield "TY", _TYPE[found.kind]
    yield "ID", found.id
    yield "TI", found.title
    for author in found.authors:
        yield "AU", author
    yield "PY", found.year
    yield "DA", _day(found.date)
    yield "T2", found.within
    yield "JO", found.within if found.kind == "article" else ""
    yield "VL", found.volume
    yield "IS", found.issue
    first, _, last = found.pages.replace("–", "-").partition("-")
    yield "SP", first.strip()
    yield "EP", last.strip("- ")
    yield "PB", found.publisher
    yield {"case": "SV", "patent": "SN"}.get(found.kind, "M1"), found.number
    yield "DO", found.doi
    yield "UR", found.url
    yield "LA", found.language


def _day(date: str) -> str:
    """`2016/03/31/`; a day or a month that is not known is left empty, and a year alone is PY's."""
    year, month, day = [*date.split("-"), "", ""][:3]
    return f"{year}/{month}/{day}/" if month else ""
