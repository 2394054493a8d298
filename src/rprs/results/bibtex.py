"""Hits as entries in BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from rprs.results.citation import Citation, cited
from rprs.results.hits import Hit
from rprs.results.prose import provenance, standing
from rprs.results.serialize import About

__all__ = ["write"]

_TYPE = {"article": "article", "paper": "inproceedings", "case": "misc", "patent": "patent", "other": "misc"}
# BibTeX counts braces even after a backslash, so that a brace must be written without one
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
    """An entry a hit, whose note says where the hit stands and what that depends on; a comment says so at the start."""
    known = provenance(about)
    comment = re.sub(r"[{}@%]", lambda mark: quote(mark[0]), known)  # BibTeX looks for an @ even in a comment
    citations = [cited(hit) for hit in hits]
    entries = [
        _entry(key, found, f"{standing(hit)}; rprs: {known}")
        for key, found, hit in zip(_keys(citations), citations, hits, strict=True)
    ]
    return "\n".join([f"@comment{{rprs: {comment}}}\n", *entries])


def _entry(key: str, found: Citation, note: str) -> str:
    written = [f"  {name} = {{{value}}},\n" for name, value in _fields(found, note) if value]
    return f"@{_TYPE[found.kind]}{{{key},\n{''.join(written)}}}\n"


def _fields(found: Citation, note: str) -> Iterator[tuple[str, str]]:
    """The fields of an entry; those without a value are not written. DOI and URL are verbatim, as styles want them."""
    yield "title", _latex(found.title)
    yield "author", " and ".join(map(_author, found.authors))
    yield "year", found.year
    yield "date", found.date if found.date != found.year else ""
    yield {"article": "journal", "paper": "booktitle"}.get(found.kind, "series"), _latex(found.within)
    yield "volume", _latex(found.volume)
    yield "number", _latex(found.number or found.issue)
    yield "pages", _latex(re.sub(r"(?<=\w)\s*[-–]\s*(?=\w)", "--", found.pages))
    yield {"case": "howpublished", "patent": "holder"}.get(found.kind, "publisher"), _latex(found.publisher)
    yield "doi", _verbatim(found.doi)
    yield "url", _verbatim(found.url)
    yield "language", _latex(found.language)
    yield "note", _latex(note)


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _verbatim(address: str) -> str:
    return re.sub(r"[{}\\]", lambda mark: quote(mark[0]), address)


def _author(name: str) -> str:
    """A name; that of a body which has an "and" or more commas than a person's is kept together by braces."""
    whole = re.search(r"\sand\s", name, re.IGNORECASE) or name.count(",") > 2
    return f"{{{_latex(name)}}}" if whole else _latex(name)


def _keys(found: Sequence[Citation]) -> Iterator[str]:
    """A key for each: the letters and digits of the id, numbered where they are the same but for their case."""
    seen: set[str] = set()
    for each in found:
        ascii_ = unicodedata.normalize("NFKD", each.id).encode("ascii", "ignore").decode()
        base = re.sub(r"[^A-Za-z0-9._:-]+", "-", ascii_).strip("-") or "document"
        tried = (base if turn == 1 else f"{base}-{turn}" for turn in range(1, len(found) + 2))
        key = next(key for key in tried if key.lower() not in seen)
        seen.add(key.lower())
        yield key
