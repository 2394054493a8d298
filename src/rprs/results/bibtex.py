"""Hits as entries in BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from rprs.results.citation import Citation, citation_of
from rprs.results.hits import Hit
from rprs.results.one_line import describe_rank, provenance
from rprs.results.serialize import About

__all__ = ["write"]

_TYPE = {"article": "article", "paper": "inproceedings", "case": "misc", "patent": "patent", "other": "misc"}
# BibTeX counts braces even after a backslash, so braces are written as commands
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "→": r"$\rightarrow$",
        **{mark: f"\\{mark}" for mark in "$&#_%"},
    }
)


def write(hits: Sequence[Hit], about: About) -> str:
    """One entry per hit, with its rank and provenance in a note; a comment at the start has the provenance, too."""
    origin = provenance(about)
    comment = re.sub(r"[{}@%]", lambda mark: quote(mark[0]), origin)  # BibTeX looks for an @ even in a comment
    citations = [citation_of(hit) for hit in hits]
    entries = [
        _entry(key, citation, f"{describe_rank(hit)}; rprs: {origin}")
        for key, citation, hit in zip(_keys(citations), citations, hits, strict=True)
    ]
    return "\n".join([f"@comment{{rprs: {comment}}}\n", *entries])


def _entry(key: str, citation: Citation, note: str) -> str:
    fields = [f"  {name} = {{{value}}},\n" for name, value in _fields(citation, note) if value]
    return f"@{_TYPE[citation.kind]}{{{key},\n{''.join(fields)}}}\n"


def _fields(citation: Citation, note: str) -> Iterator[tuple[str, str]]:
    """The fields of an entry; empty ones are not written. DOI and URL are verbatim, as BibTeX styles expect."""
    yield "title", _latex(citation.title)
    yield "author", " and ".join(map(_author, citation.authors))
    yield "year", citation.year
    yield "date", citation.date if citation.date != citation.year else ""
    yield {"article": "journal", "paper": "booktitle"}.get(citation.kind, "series"), _latex(citation.within)
    yield "volume", _latex(citation.volume)
    yield "number", _latex(citation.number or citation.issue)
    yield "pages", _latex(re.sub(r"(?<=\w)\s*[-–]\s*(?=\w)", "--", citation.pages))
    yield {"case": "howpublished", "patent": "holder"}.get(citation.kind, "publisher"), _latex(citation.publisher)
    yield "doi", _verbatim(citation.doi)
    yield "url", _verbatim(citation.url)
    yield "language", _latex(citation.language)
    yield "note", _latex(note)


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _verbatim(address: str) -> str:
    return re.sub(r"[{}\\]", lambda mark: quote(mark[0]), address)


def _author(name: str) -> str:
    """A name; braces keep the name of an organisation together if it contains "and" or many commas."""
    organisation = re.search(r"\sand\s", name, re.IGNORECASE) or name.count(",") > 2
    return f"{{{_latex(name)}}}" if organisation else _latex(name)


def _keys(citations: Sequence[Citation]) -> Iterator[str]:
    """Unique keys: the letters and digits of each id, numbered where they differ in case only or not at all."""
    used: set[str] = set()
    for citation in citations:
        ascii_ = unicodedata.normalize("NFKD", citation.id).encode("ascii", "ignore").decode()
        base = re.sub(r"[^A-Za-z0-9._:-]+", "-", ascii_).strip("-") or "document"
        options = (base if turn == 1 else f"{base}-{turn}" for turn in range(1, len(citations) + 2))
        key = next(key for key in options if key.lower() not in used)
        used.add(key.lower())
        yield key
