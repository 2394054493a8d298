"""What reference managers want to know of a document, as far as its metadata say it; nothing is made up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from rprs.document import Metadata
from rprs.read.dates import iso_date
from rprs.results.hits import Hit
from rprs.results.prose import flat

__all__ = ["Citation", "cited", "web_address"]

Kind = Literal["article", "paper", "case", "patent", "other"]

# what a field of metadata may be called, the likeliest first; case, blanks and hyphens do not matter
_AUTHORS = ("authors", "author", "inventors", "inventor", "creators", "creator")
_DATES = ("decision_date", "date_filed", "publication_date", "date_published", "published", "issued", "date")
_ADDRESSES = ("url", "uri", "link", "source_url", "homepage_url", "homepage")
_JOURNALS = ("journal", "journal_title", "journal_name")
_PROCEEDINGS = ("booktitle", "proceedings", "conference")
_DOCKETS = ("docket_number", "docket", "case_number", "citation")
_PATENTS = ("patent_number", "publication_number", "patent")
_OWNERS = ("assignee", "assignees", "applicant", "applicants", "holder")

_MONTH = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2]))?")
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference; what is not known is empty."""

    kind: Kind
    id: str
    title: str
    authors: tuple[str, ...]
    date: str  # 2016, 2016-03 or 2016-03-31
    doi: str
    url: str
    within: str  # the journal, or the proceedings
    publisher: str  # of a case the court, of a patent its owner
    number: str  # of the docket, or of the patent
    volume: str
    issue: str
    pages: str
    language: str

    @property
    def year(self) -> str:
        """The year of the date."""
        return self.date[:4]


def cited(hit: Hit) -> Citation:
    """The reference to a document: a case if it has a court, a patent or an article if it has what those have."""
    fields = _Fields(hit.metadata)
    journal, proceedings = fields.first(*_JOURNALS), fields.first(*_PROCEEDINGS)
    court, patent = fields.first("court"), fields.first(*_PATENTS)
    kind: Kind = (
        "case" if court else "patent" if patent else "article" if journal else "paper" if proceedings else "other"
    )
    owner = {"case": court, "patent": fields.first(*_OWNERS)}.get(kind, "")
    return Citation(
        kind=kind,
        id=flat(hit.id),
        title=flat(hit.title),
        authors=_authors(fields.first(*_AUTHORS)),
        date=_of_year(_date(fields.first("year")), [_date(text) for text in fields.all(*_DATES)]),
        doi=_doi(fields.first("doi")),
        url=next((url for url in map(web_address, fields.all(*_ADDRESSES)) if url), ""),
        within=journal or proceedings,
        publisher=owner or fields.first("publisher"),
        number={"case": fields.first(*_DOCKETS), "patent": patent}.get(kind, ""),
        volume=fields.first("volume"),
        issue=fields.first("issue", "number"),
        pages=fields.first("pages"),
        language=fields.first("language", "lang"),
    )


class _Fields:
    """Metadata by names whose case, blanks and hyphens do not matter; only texts and numbers count."""

    def __init__(self, metadata: Metadata) -> None:
        self.found = {
            re.sub(r"[\s-]+", "_", name.strip().casefold()): flat(str(value))
            for name, value in metadata.items()
            if isinstance(value, str | int | float) and not isinstance(value, bool)
        }

    def all(self, *names: str) -> list[str]:
        return [self.found[name] for name in names if self.found.get(name)]

    def first(self, *names: str) -> str:
        return next(iter(self.all(*names)), "")


def web_address(text: str) -> str:
    """The text if it is the address of something on the web, else nothing: no other scheme is ever a link."""
    address = text.strip()
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return ""
    return address if sound and not re.search(r"[\s\x00-\x1f\x7f<>\"]", address) else ""


def _date(text: str) -> str:
    month = _MONTH.fullmatch(text)
    return month[0] if month else iso_date(text)


def _of_year(year: str, dates: Sequence[str]) -> str:
    """The first date; where the year is known, the first of that year: the date may be that of a file."""
    return next((date for date in dates if date and date.startswith(year[:4])), year)


def _doi(text: str) -> str:
    found = _DOI.fullmatch(text)
    return found[1] if found else ""


# ---------------------------------------------------------------------------- names


def _authors(text: str) -> tuple[str, ...]:
    """Names out of a list in JSON, or between semicolons or the word "and"; a comma may be within a name."""
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = [text]
        names = [_name(author) for author in listed]
    else:
        names = re.split(r"\s*;\s*|\s+and\s+", text)
    return tuple(flat(name) for name in names if name.strip())


def _name(author: Any) -> str:
    if not isinstance(author, Mapping):
        return author if isinstance(author, str) else ""
    parts = [author.get(key) for key in ("family", "given")]
    whole = author.get("name") or ", ".join(part for part in parts if isinstance(part, str) and part)
    return whole if isinstance(whole, str) else ""
